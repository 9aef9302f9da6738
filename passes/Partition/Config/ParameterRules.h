// The user's rules for single parameters: name patterns and the shardings of what they match.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace mlir::st {

struct ParameterRule {
  /// A glob, in which `*` matches any characters, dots too. It is well formed.
  std::string pattern;
  /// For each dimension the axes that split it, major to minor; dimensions that are not listed are
  /// whole.
  std::vector<std::vector<std::string>> dims;
};

/// One entry of the key "parameters": `"*.query.weight": ["tensor", null]`. The error says what was
/// expected of the value, or what is wrong with the pattern.
llvm::Expected<ParameterRule> parseParameterRule(llvm::StringRef pattern,
                                                 const llvm::json::Value &value);

/// A glob of names, with a bound on what braces expand to; it lives no longer than its text.
llvm::Expected<llvm::GlobPattern> createNamePattern(llvm::StringRef pattern);

/// The pattern, ready to match; it lives no longer than the rule.
llvm::GlobPattern compilePattern(const ParameterRule &rule);

/// As the file has it: ["tensor", null, ["tensor", "data"]].
std::string printDims(const ParameterRule &rule);

} // namespace mlir::st
