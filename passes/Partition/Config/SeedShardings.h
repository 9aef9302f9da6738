// Which dimension of each parameter the parallel config cuts.
#pragma once

#include "dialects/St/Interfaces/ShardingRule.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::st {

/// Follows a parameter through ops that only reorder it to its first use, and
/// returns the dimension that is cut there:
///
/// - `shardingDim` -1: the output dimension. Of a weight in a dot_general the one it
///   does not contract; of a table that a gather looks rows up in the row; of a
///   vector its only one; of anything else the last.
/// - `shardingDim` 0: the contracted dimension. Of a weight in a dot_general the one
///   it contracts; of a table the one that indices point into; of anything else of
///   two dimensions or more the first; none of a vector.
std::optional<int64_t> cutDimension(BlockArgument parameter, int64_t shardingDim);

/// Whether an op leaves its one operand's elements as they are.
bool onlyReorders(Operation *op, const ShardingRule &rule);

/// The dimension of the result that a dimension of the operand of such an op becomes; -1 for none,
/// and of -1.
int64_t followDimension(int64_t dim, const ShardingRule &rule);

} // namespace mlir::st
