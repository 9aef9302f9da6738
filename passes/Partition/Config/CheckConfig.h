// Checks that a parallel config fits a step.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Partition/Config/ParallelConfig.h"

namespace mlir::st {

/// Prints a remark if attention gathers heads, because shards do not divide them.
void remarkHeads(ModuleOp module, const ParallelConfig &config);

/// Returns true if a batch argument has a second dimension, that of tokens. A float matrix, such as
/// the probabilities of a row's labels, has no token dimension if the integer matrices of the batch
/// have another number of columns.
bool hasTokenDim(BlockArgument argument);

/// Fails, with a diagnostic, if the batch is too small for the config, if its sequences cannot be
/// split evenly, or if the program's own mesh contradicts it.
LogicalResult checkConfig(func::FuncOp function, const ParallelConfig &config);

} // namespace mlir::st
