// Global tensors in pieces on ranks.
#ifndef ST_REFERENCE_SHARDED_H
#define ST_REFERENCE_SHARDED_H

#include "lib/Reference/Evaluation/Evaluator.h"

namespace mlir::st::ref {

/// Reduces tensors of one type in their order. Sums of floats are accumulated
/// in f64 and rounded once.
Tensor reduceAcross(ReduceKind kind, ArrayRef<Tensor> tensors);

/// The piece of a global tensor on each rank: ranks with the same piece share
/// it. An axis that the grid lacks splits nothing. Without a sharding every
/// rank has the whole. A rank has room for a `room`; none: for an equal part,
/// and a dimension that does not divide is an error. What is left of the room at
/// the ends of dimensions is poisoned, NaN or large numbers; zero where it is
/// state, of which a step may count on that.
LogicalResult shard(const Tensor &global, ShardingAttr sharding, const RankGrid &grid,
                    Operation *op, RankValues &pieces, Type room = {}, bool isState = false);

/// The global tensor whose pieces these are, of type `whole` if the pieces may
/// have padding. What is unreduced is reduced; `what` names the value in the error
/// that replicas differ.
LogicalResult unshard(const RankValues &pieces, ShardingAttr sharding, const RankGrid &grid,
                      Operation *op, const Twine &what, Tensor &global, Type whole = {});

/// Whether the pieces of a state have zeros as padding, which the next step counts on; `global` is
/// what they are pieces of.
LogicalResult checkStatePadding(const RankValues &pieces, ShardingAttr sharding,
                                const RankGrid &grid, Operation *op, const Twine &what,
                                const Tensor &global);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_SHARDED_H
