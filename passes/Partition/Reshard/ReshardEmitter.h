// Emits reshard plans as collectives on per-device tensors.
#pragma once

#include "dialects/St/Sharding/ReshardPlan.h"
#include "mlir/IR/Builders.h"

namespace mlir::st {

class ReshardEmitter {
public:
  ReshardEmitter(OpBuilder &builder, const MeshAxes &axes) : builder(builder), axes(axes) {}

  /// The value after the steps; `kind` is the kind of the reductions. Devices reduce in
  /// `reduceType` if it is set; micro-batches accumulate in the value's type or in f32.
  Value emit(Location loc, Value value, ArrayRef<ReshardStep> steps, ReduceKind kind,
             Type reduceType = {});

  /// A part of a dimension with the given contiguous split, extended by elements of its neighbours;
  /// see LocalizeContext::withNeighbours.
  Value withNeighbours(Location loc, Value value, int64_t dim, ArrayRef<Split> splits, int64_t low,
                       int64_t high, Value fill);

  /// Sends complete parts of a dimension with the given split; see LocalizeContext::permuteParts.
  Value permuteParts(Location loc, Value value, ArrayRef<Split> splits, ArrayRef<int64_t> sources);

  /// Converts positions (an integer tensor) in this device's part of a dimension with the given
  /// split to positions in the full dimension of `size`.
  Value toGlobal(Value positions, ArrayRef<Split> splits, int64_t size);
  /// The inverse; positions in other devices' parts become -1 or fall outside the part.
  Value toLocal(Value positions, ArrayRef<Split> splits, int64_t size);

private:
  Value emitStep(Location loc, Value value, const ReshardStep &step, ReduceKind kind);
  Value isAt(Location loc, ArrayRef<Split> splits, bool last);
  Value microSlice(Location loc, Value value, const ReshardStep &step);
  Value mask(Location loc, Value value, const ReshardStep &step);
  /// The coordinate along an axis, as a tensor of the type of `like`.
  Value coordinate(Location loc, Axis axis, RankedTensorType like);
  Value convert(Location loc, Value value, Type elementType);
  Value splat(Location loc, RankedTensorType type, int64_t value);
  Value reshape(Location loc, Value value, ArrayRef<int64_t> shape);

  OpBuilder &builder;
  const MeshAxes &axes;
};

} // namespace mlir::st
