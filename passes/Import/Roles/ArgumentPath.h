// The names that JAX gives arguments and results: paths through Python containers.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace mlir::st {

/// The parts of a path: `p['layer_0'].w[1]` is p, layer_0, w, 1. Quoted text is a single part.
using ArgumentPath = SmallVector<std::string, 4>;
ArgumentPath parseArgumentPath(StringRef text);

/// The path of an argument: from `jax.arg_info`, else from its location; empty if neither has one.
ArgumentPath pathOfArgument(func::FuncOp function, unsigned argument);

/// The path in `jax.result_info`, without the leading `result`.
ArgumentPath pathOfResult(func::FuncOp function, unsigned result);

/// Parts joined with dots.
std::string joinPath(ArrayRef<std::string> parts);

} // namespace mlir::st
