// The dimension of each parameter that the parallel config shards.
#pragma once

#include "dialects/St/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Follows a parameter through ops that only reorder it to its first use, and returns the dimension
/// that is sharded there:
///
/// - `shardingDim` -1: the output dimension. For a weight in a dot_general, the dimension it
///   does not contract; for a table read by a gather, the row elements; for a vector, its only
///   dimension; otherwise the last.
/// - `shardingDim` 0: the contracted dimension. For a weight in a dot_general, the dimension it
///   contracts; for a table, the indexed one; for anything else of two dimensions or more, the
///   first; for a vector, none.
std::optional<int64_t> shardedDimension(BlockArgument parameter, int64_t shardingDim);

/// Returns true for a parameter whose rows are equal parts of the model, such as experts.
bool hasNamedRows(BlockArgument parameter);

/// The dimensions of a parameter that can be sharded, at the start of a trace: all of them, with -1
/// for a first dimension that numbers parts of the model, and for every dimension of an unsharded
/// parameter.
SmallVector<int64_t> tracedDims(BlockArgument parameter);

/// Returns true if a use reads complete rows of a parameter whose rows are parts of the model: the
/// op that reads these rows is the first use.
bool readsParts(OpOperand &use, BlockArgument parameter);

/// Returns true if an op leaves its operand's elements unchanged.
bool onlyReorders(Operation *op, const ShardingRule &rule);

/// The result dimension that corresponds to an operand dimension of such an op; -1 if there is
/// none, or for -1.
int64_t followDimension(int64_t dim, const ShardingRule &rule);

} // namespace mlir::st
