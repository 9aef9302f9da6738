// Shardings of tensors by axis number, as passes compute with them.
#pragma once

#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Sharding/Splits.h"
#include "lib/Timing/GroupPlacement.h"

namespace st {
class Costs;
}

namespace mlir::st {

/// What #st.sharding says. Axes of size 1 split nothing and are left out.
struct TensorSharding {
  SmallVector<Splits, 4> dims;
  ReduceKind kind = ReduceKind::Sum; ///< Sum where nothing is unreduced
  SmallVector<Axis, 2> unreduced;    ///< in the order in which they will be reduced

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
  /// Adds an axis in its canonical place: micro first, then as in the mesh.
  void addUnreduced(Axis axis);
  void dropUnreduced(Axis axis);
  void dropAllUnreduced();
  /// Drops spatial axes that lie behind an unsplit part: each device then holds one
  /// contiguous part of every dimension (and micro-batch).
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

  /// On a device of the target: OpWork.h says which.
  const ::st::Costs &costs() const { return *targetCosts; }
  /// The devices along these axes, as `costs` take them: the slowest links count.
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
  SmallVector<int64_t> linkRates; ///< of each spatial axis, bytes a microsecond; empty if unknown
  std::unique_ptr<::st::Costs> targetCosts;
  std::unique_ptr<ReshardPlans> planned;
};

/// The per-device shape of a tensor; every dimension has to divide.
SmallVector<int64_t> localShape(ArrayRef<int64_t> shape, const TensorSharding &sharding);

/// Whether every dimension divides.
bool divides(ArrayRef<int64_t> shape, const TensorSharding &sharding);

/// Whether every dimension has an element for each of its parts: what does not divide gets padding.
bool fits(ArrayRef<int64_t> shape, const TensorSharding &sharding);

} // namespace mlir::st
