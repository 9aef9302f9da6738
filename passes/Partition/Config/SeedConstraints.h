// Seeds inside the step: shardings that a parallel config implies for values that are not
// arguments.
#pragma once

#include "passes/Partition/GradientBoundary.h"
#include "passes/Partition/Stages/LayerFlow.h"

namespace mlir::st {

/// Sequence parallelism: partial sums of the forward pass are scattered along their rows, and
/// values computed from them stay scattered up to the next product. Returns their number.
size_t scatterSums(const LayerFlow::Sums &sums, const MeshAxes &axes, Axis axis);

/// ZeRO stage 3: a parameter is gathered over those axes of `gathered` over which it is stored
/// sharded, at its first use in the forward pass and again in the backward pass; its update uses
/// the shards. With several micro-batches, one gather serves all of them and both passes.
void gatherParameters(func::FuncOp function, const Updates &updates, const MeshAxes &axes,
                      function_ref<SmallVector<Axis>(BlockArgument)> gathered);

/// ZeRO stage 2: a gradient whose update is sharded over some of the replicas' axes is scattered
/// over them in each micro-batch and accumulated in shards. `updateOf` is the sharding of a state's
/// update.
void scatterGradients(func::FuncOp function, const Updates &updates, const MeshAxes &axes,
                      ArrayRef<Axis> replicas,
                      function_ref<TensorSharding(BlockArgument)> updateOf);

/// The first optimizer state of each parameter that has the parameter's shape.
DenseMap<StringAttr, BlockArgument>
findStatesInShape(func::FuncOp function, const DenseMap<StringAttr, RankedTensorType> &parameters);

/// Splits the first dimension that the axes `free` together divide; returns false if there is none.
bool splitFurther(TensorSharding &sharding, ArrayRef<int64_t> shape, ArrayRef<Axis> free,
                  const MeshAxes &axes);

/// The seed of a parameter of type `parameter`, adapted to a state that may have other sizes, such
/// as one number per block of a row: axes that do not divide a dimension split another one, if
/// possible.
ShardingAttr fitSeed(BlockArgument state, ShardingAttr seed, RankedTensorType parameter,
                     const MeshAxes &axes);

} // namespace mlir::st
