// Seeds within the step: what a parallel config says of values that are no arguments.
#pragma once

#include "passes/Partition/GradientBoundary.h"
#include "passes/Partition/Stages/LayerFlow.h"

namespace mlir::st {

/// Sequence parallelism: partial sums of the forward pass are scattered along their rows, and what
/// is computed of them up to the next product is so, too. Returns how many there are.
size_t scatterSums(const LayerFlow::Sums &sums, const MeshAxes &axes, Axis axis);

/// ZeRO's third stage: a parameter is gathered over the axes of `gathered` that it is stored split
/// over where the forward pass first uses it, and again where the backward pass does; its update
/// uses the parts. With several micro-batches there is one gather for all of them and both passes.
void gatherParameters(func::FuncOp function, const Updates &updates, const MeshAxes &axes,
                      function_ref<SmallVector<Axis>(BlockArgument)> gathered);

/// ZeRO's second stage: a gradient whose update is split over some of the replicas' axes is
/// scattered over them in each micro-batch, and accumulated in parts. `updateOf` is the sharding of
/// the update of a state.
void scatterGradients(func::FuncOp function, const Updates &updates, const MeshAxes &axes,
                      ArrayRef<Axis> replicas,
                      function_ref<TensorSharding(BlockArgument)> updateOf);

/// The first optimizer state of each parameter that has the parameter's shape.
DenseMap<StringAttr, BlockArgument>
findStatesInShape(func::FuncOp function, const DenseMap<StringAttr, RankedTensorType> &parameters);

/// Splits the first dimension that the axes `free` together divide by them; false where none is.
bool splitFurther(TensorSharding &sharding, ArrayRef<int64_t> shape, ArrayRef<Axis> free,
                  const MeshAxes &axes);

/// The seed of a parameter of type `parameter`, for state of it that may have other sizes, such as
/// a number for each block of a row: axes that do not divide these split another dimension, if one
/// divides.
ShardingAttr fitSeed(BlockArgument state, ShardingAttr seed, RankedTensorType parameter,
                     const MeshAxes &axes);

} // namespace mlir::st
