// The iteration space of a kernel: the dimensions of its values that form the same loop, and the
// strides of tensors in memory along these loops.
//
// Elementwise ops, broadcasts, kept dimensions of a reduction and unit-dimension reshapes make
// dimensions of the body's values equal. The classes of equal dimensions are the axes of the space,
// ordered outer to inner as in the values. Adjacent axes that every value has both or neither of
// are then merged. Code loops over the resulting groups.
#pragma once

#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace mlir::st {

/// A set of groups, bit g for group g.
using GroupSet = uint32_t;

class IterationSpace {
public:
  /// The strides of an access, in elements, along each axis; 0 along axes on which it does not
  /// depend. For accesses that are not values of the body (the operands of a product).
  using AxisStrides = SmallVector<int64_t>;

  /// The axes of a kernel's body, without those of values in `ignored`. Fails with a diagnostic on
  /// an op that loops cannot contain.
  static FailureOr<IterationSpace> analyze(Block &body, const DenseSet<Value> &ignored = {});

  size_t getNumAxes() const { return axisSizes.size(); }
  /// Axis of a dimension of a value; std::nullopt for a dimension of size 1, and for an argument
  /// that is only read through slices.
  std::optional<unsigned> getAxis(Value value, int64_t dim) const;
  int64_t getAxisSize(unsigned axis) const { return axisSizes[axis]; }

  /// Returns true if one value varies along all axes. Otherwise loops over the space would repeat
  /// all work for each element of the missing axes.
  bool isSpanned() const;

  /// Merges axes into groups. `others`: accesses that must stay affine along the groups too.
  void formGroups(ArrayRef<AxisStrides> others = {});

  size_t getNumGroups() const { return groupSizes.size(); }
  int64_t getSize(unsigned group) const { return groupSizes[group]; }
  /// Number of elements of the groups in a set.
  int64_t getVolume(GroupSet groups) const;
  unsigned getGroupOfAxis(unsigned axis) const { return groupOfAxis[axis]; }
  /// The groups that a value's type spans.
  GroupSet getGroups(Value value) const;
  /// The strides, in elements, along each group of a value that is dense in memory or, for a slice
  /// of an argument, in the argument.
  SmallVector<int64_t> getStrides(Value value) const;
  SmallVector<int64_t> getStrides(const AxisStrides &strides) const;
  /// The group of iota's dimension; std::nullopt if its size is 1.
  std::optional<unsigned> getIotaGroup(Operation *iota) const;

private:
  DenseMap<Value, SmallVector<int>> axesOf; // -1: a dimension of size 1
  SmallVector<int64_t> axisSizes;
  SmallVector<bool> isIotaAxis;
  SmallVector<unsigned> groupOfAxis;
  SmallVector<int64_t> groupSizes;
  SmallVector<unsigned> innermostAxis; // of each group

  AxisStrides axisStrides(Value value) const;
};

/// The strides, in elements, of a dense row-major tensor.
SmallVector<int64_t> denseStrides(ArrayRef<int64_t> shape);

/// Returns true if an op computes each element of its result from the operands' elements at the
/// same position.
bool isElementwise(Operation *op);

/// Returns true if an op slices a block argument: such a slice is an access, not a computation.
bool isArgumentSlice(Operation *op);

} // namespace mlir::st
