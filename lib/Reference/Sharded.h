// Global tensors in shards on ranks.
#ifndef ST_REFERENCE_SHARDED_H
#define ST_REFERENCE_SHARDED_H

#include "lib/Reference/Evaluation/Evaluator.h"

namespace mlir::st::ref {

/// Reduces tensors of one type in order. Sums of floats accumulate in f64 and round once.
Tensor reduceAcross(ReduceKind kind, ArrayRef<Tensor> tensors);

/// The shard of a global tensor on each rank; ranks with the same shard share it. An axis that the
/// grid lacks splits nothing. Without a sharding every rank has the full tensor. `room` is the size
/// of a rank's shard. Without it, shards are equal and every dimension must divide. Padding at the
/// ends of dimensions is poisoned with NaN or large numbers. Padding of state is zero, because
/// steps may rely on that.
LogicalResult shard(const Tensor &global, ShardingAttr sharding, const RankGrid &grid,
                    Operation *op, RankValues &pieces, Type room = {}, bool isState = false);

/// The global tensor of these shards, of type `globalType` if the shards may have padding.
/// Unreduced values are reduced; `what` names the value in the error for replicas that differ.
LogicalResult unshard(const RankValues &pieces, ShardingAttr sharding, const RankGrid &grid,
                      Operation *op, const Twine &what, Tensor &global, Type globalType = {});

/// Checks that the padding of a state's shards is zero, on which the next step relies. `global` is
/// the tensor of the shards. Fails with a diagnostic.
LogicalResult checkStatePadding(const RankValues &pieces, ShardingAttr sharding,
                                const RankGrid &grid, Operation *op, const Twine &what,
                                const Tensor &global);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_SHARDED_H
