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

/// The name of an optimizer state without that of its parameter: the last part of its path, before
/// the end that both paths share, that is not a number. For `opt_state[0].mu['w']` and
/// `params['w']` it is mu. Empty if there is none.
std::string stateSuffix(const ArgumentPath &state, const ArgumentPath &parameter);

} // namespace mlir::st
