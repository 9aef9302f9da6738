// Checks the text of a program before MLIR parses it: the parser recurses, so deeply nested text
// would exhaust the stack.
#ifndef ST_SUPPORT_PROGRAMTEXT_H
#define ST_SUPPORT_PROGRAMTEXT_H

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace st {

/// Above the depth of any program: a step printed by JAX stays below 20.
constexpr int kMaxProgramDepth = 256;
/// Operators in one affine expression, which becomes a tree of that depth.
constexpr int kMaxProgramOperators = 1000;
/// Uses of other aliases in an alias, including those in the aliases that it uses.
constexpr size_t kMaxAliasUses = 1 << 20;

struct TextFault {
  size_t offset; ///< in the text
  std::string message;
};

/// The first position where `text` nests deeper than kMaxProgramDepth, including nesting through
/// aliases, or exceeds one of the other limits. Brackets within strings and comments do not count.
/// The text need not be well-formed.
std::optional<TextFault> findDeepNesting(std::string_view text);

/// Returns true if the bytes begin like MLIR bytecode.
bool isBytecode(std::string_view bytes);

} // namespace st

#endif // ST_SUPPORT_PROGRAMTEXT_H
