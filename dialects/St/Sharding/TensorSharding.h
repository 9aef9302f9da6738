// Shardings of tensors by axis number, for the arithmetic of passes.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Sharding/Splits.h"
#include "lib/Timing/GroupPlacement.h"

namespace st {
class Costs;
}

namespace mlir::st {

/// The content of a #st.sharding. Axes of size 1 are omitted.
struct TensorSharding {
  SmallVector<Splits, 4> dims;
  ReduceKind kind = ReduceKind::Sum; ///< Sum if nothing is unreduced
  SmallVector<Axis, 2> unreduced;    ///< in the order of their reduction

  TensorSharding() = default;
  /// Replicated.
  explicit TensorSharding(int64_t rank) : dims(rank) {}

  bool operator==(const TensorSharding &other) const {
    return dims == other.dims && kind == other.kind && unreduced == other.unreduced;
  }
  bool operator!=(const TensorSharding &other) const { return !(*this == other); }

  bool isUnreducedOver(Axis axis) const { return llvm::is_contained(unreduced, axis); }
  /// The dimension that the axis splits.
  std::optional<int64_t> dimOf(Axis axis) const;
  bool isSplitOver(Axis axis) const { return dimOf(axis).has_value(); }
  bool isReplicated() const;
  /// Adds an axis at its canonical position: micro first, then in mesh order.
  void addUnreduced(Axis axis);
  void dropUnreduced(Axis axis);
  void dropAllUnreduced();
  /// Drops spatial axes after an unsplit part: each device then holds one contiguous part of every
  /// dimension (and micro-batch).
  void makeContiguous();
};

class ReshardPlans;

/// The axes of a mesh by number, the costs of the mesh's target, and the reshards planned over
/// them.
class MeshAxes {
public:
  explicit MeshAxes(MeshOp mesh);
  ~MeshAxes();

  int64_t count() const { return sizes.size(); }
  int64_t size(Axis axis) const { return sizes[axis]; }
  StringAttr name(Axis axis) const { return names[axis]; }
  std::optional<Axis> lookup(StringAttr name) const;
  /// Axes of more than one position, `micro` first.
  ArrayRef<Axis> used() const { return usedAxes; }
  FlatSymbolRefAttr mesh() const { return symbol; }
  StringRef meshName() const { return symbol.getValue(); }
  /// Product of the axes' sizes.
  int64_t size(ArrayRef<Axis> axes) const;
  ArrayAttr namesOf(ArrayRef<Axis> axes) const;

  /// Costs on a device of the target (OpWork.h).
  const ::st::Costs &costs() const { return *targetCosts; }
  /// The placement of devices along these axes for `costs`: the slowest links count.
  ::st::GroupPlacement placeGroup(ArrayRef<Axis> axes) const;

  /// The plans of planReshard.
  ReshardPlans &plans() const { return *planned; }

  TensorSharding read(ShardingAttr sharding) const;
  ShardingAttr write(const TensorSharding &sharding) const;
  /// The recorded sharding of a value; replicated if there is none.
  TensorSharding read(Value value) const;

private:
  FlatSymbolRefAttr symbol;
  SmallVector<StringAttr> names;
  SmallVector<int64_t> sizes;
  SmallVector<Axis> usedAxes;
  SmallVector<int64_t> linkRates; ///< of each spatial axis, bytes per microsecond; empty if unknown
  std::unique_ptr<::st::Costs> targetCosts;
  std::unique_ptr<ReshardPlans> planned;
};

/// The per-device shape of a tensor; every dimension must divide.
SmallVector<int64_t> localShape(ArrayRef<int64_t> shape, const TensorSharding &sharding);

/// Returns true if every dimension divides.
bool divides(ArrayRef<int64_t> shape, const TensorSharding &sharding);

/// Returns true if every dimension has at least one element per part; dimensions that do not divide
/// are padded.
bool fits(ArrayRef<int64_t> shape, const TensorSharding &sharding);

/// Like `fits`, but an unsplit part between the axes may be empty: in a batch that is padded to a
/// multiple of its micro-batches, only the devices need elements.
bool fitsDevices(ArrayRef<int64_t> shape, const TensorSharding &sharding);

} // namespace mlir::st
