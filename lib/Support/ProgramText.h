// A look at the text of a program before MLIR parses it: its parser recurses, so that text that
// nests deeply enough would exhaust the stack instead of being refused.
#ifndef ST_SUPPORT_PROGRAMTEXT_H
#define ST_SUPPORT_PROGRAMTEXT_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace st {

/// More than any program nests: a step printed by JAX stays below 20.
constexpr int kMaxProgramDepth = 256;
/// Operators in one affine expression, which becomes a tree as deep as it is long.
constexpr int kMaxProgramOperators = 1000;
/// Uses of other aliases in an alias, with those in the aliases that it uses.
constexpr size_t kMaxAliasUses = 1 << 20;

struct TextFault {
  size_t offset; ///< in the text
  std::string message;
};

/// The first place where `text` nests more deeply than kMaxProgramDepth, counting what aliases
/// bring along, or breaks one of the other limits. Brackets within strings and comments do not
/// count. The text need not be well-formed.
std::optional<TextFault> findDeepNesting(std::string_view text);

/// Whether the bytes begin as MLIR's bytecode does.
bool isBytecode(std::string_view bytes);

} // namespace st

#endif // ST_SUPPORT_PROGRAMTEXT_H
