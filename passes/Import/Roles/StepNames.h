// Names of a step's arguments and results.
#pragma once

#include "passes/Import/Roles/ArgumentPath.h"
#include "llvm/ADT/StringSet.h"

namespace mlir::st {

/// Hands out unique names.
class NamePool {
public:
  /// The name itself, or with a number if it is taken.
  std::string unique(StringRef name);

private:
  llvm::StringSet<> taken;
};

/// Names of parameters from their paths, without leading parts that all share and that carry no
/// information (the Python argument, numbers, "params").
SmallVector<std::string> nameParameters(ArrayRef<ArgumentPath> paths);

/// The part of an optimizer state's path that its parameter's path lacks: the last part before the
/// common end that is not a number (`opt_state[0].mu['w']` with `params['w']`: mu). Empty if there
/// is none.
std::string stateSuffix(const ArgumentPath &state, const ArgumentPath &parameter);

} // namespace mlir::st
