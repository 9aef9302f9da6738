// The user's rules for single parameters: name patterns and the shardings of matching parameters.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/GlobPattern.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace mlir::st {

struct ParameterRule {
  /// A valid glob, in which `*` matches any characters including dots.
  std::string pattern;
  /// For each dimension, the axes that split it, major to minor; unlisted dimensions are not split.
  std::vector<std::vector<std::string>> dims;
};

/// One entry of the key "parameters": `"*.query.weight": ["tensor", null]`. The error says what
/// value was expected, or what is wrong with the pattern.
llvm::Expected<ParameterRule> parseParameterRule(llvm::StringRef pattern,
                                                 const llvm::json::Value &value);

/// The compiled pattern; it must not outlive the rule.
llvm::GlobPattern compilePattern(const ParameterRule &rule);

/// In the file's form: ["tensor", null, ["tensor", "data"]].
std::string printDims(const ParameterRule &rule);

} // namespace mlir::st
