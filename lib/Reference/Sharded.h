// Global tensors in pieces on ranks.
#ifndef ST_REFERENCE_SHARDED_H
#define ST_REFERENCE_SHARDED_H

#include "lib/Reference/Evaluator.h"

namespace mlir::st::ref {

/// Reduces tensors of one type in their order. Sums of floats are accumulated
/// in f64 and rounded once.
Tensor reduceAcross(ReduceKind kind, ArrayRef<Tensor> tensors);

/// The piece of a global tensor on each rank: ranks with the same piece share
/// it. An axis that the grid lacks splits nothing. Without a sharding every
/// rank has the whole. Fails when a dimension does not divide.
LogicalResult shard(const Tensor &global, ShardingAttr sharding, const RankGrid &grid,
                    Operation *op, RankValues &pieces);

/// The global tensor whose pieces these are. What is unreduced is reduced;
/// `what` names the value in the error that replicas differ.
LogicalResult unshard(const RankValues &pieces, ShardingAttr sharding, const RankGrid &grid,
                      Operation *op, const Twine &what, Tensor &global);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_SHARDED_H
