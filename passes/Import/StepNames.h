// Names of a step's arguments and results.
#pragma once

#include "passes/Import/ArgumentPath.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::st {

/// Hands out unique names.
class NamePool {
public:
  /// The name itself, or with a number where it is taken.
  std::string unique(StringRef name);

private:
  llvm::StringSet<> taken;
};

/// Names of parameters from their paths: without the leading parts that all of them
/// share and that say nothing (the Python argument, numbers, "params").
SmallVector<std::string> nameParameters(ArrayRef<ArgumentPath> paths);

/// What a path of optimizer state says beyond the path of its parameter: the last part
/// before the common end that is no number (`opt_state[0].mu['w']` beside
/// `params['w']`: mu). Empty where there is no such part.
std::string stateSuffix(const ArgumentPath &state, const ArgumentPath &parameter);

} // namespace mlir::st
