// Values of a kernel's body at elements of its space, and their reductions.
#pragma once

#include "backends/cuda/codegen/kernels/KernelEmitter.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"

namespace mlir::cuda {

/// A generator sets the coordinates of an element and gets values there. Values that do not vary
/// along reduced groups are cached per row, all others per chunk: one element or `width` adjacent
/// elements of the innermost group.
class ElementValues {
public:
  using Known = DenseMap<Value, Value>;
  /// A reduction in progress.
  struct Sum {
    stablehlo::ReduceOp op;
    Combiner combiner;
  };

  /// `body` is the kernel's, or one whose first arguments are the kernel's.
  ElementValues(KernelEmitter &emitter, Block &body, st::IterationSpace space)
      : emitter(emitter), body(body), space(std::move(space)),
        coordinates(this->space.getNumGroups()) {}

  KernelEmitter &emitter;
  Block &body;
  st::IterationSpace space;
  st::GroupSet reduced = 0; ///< groups that reductions run over
  int64_t width = 1;
  SmallVector<Value> coordinates; ///< of the current element, by group
  Known ofRow, ofChunk;
  SmallVector<SmallVector<Sum>> levels; ///< reductions by depth of dependence

  /// Fills `levels` and `reduced`. Fails with a diagnostic if reductions run over different groups.
  LogicalResult findReductions();

  SmallVector<unsigned> groupsIn(st::GroupSet set) const;
  void setPosition(ArrayRef<unsigned> groups, Value position);
  bool isOfRow(Value value) const { return (space.getGroups(value) & reduced) == 0; }

  /// Fails with a diagnostic.
  FailureOr<Number> get(Value value);
  /// Computes the per-row values that a value needs, so that loops over chunks find them.
  LogicalResult prepare(Value value, DenseSet<Value> &seen);

  Number identityOf(const Sum &sum);
  /// Returns the total plus the chunk's term where `valid` holds (null: always).
  FailureOr<Number> accumulate(const Sum &sum, Number total, Value valid);
  /// Sets the reduction's result from the total of all terms.
  LogicalResult finishSum(Sum &sum, Number total);
  /// Stores a value into a dense buffer. The first element of a `looped` group along which the
  /// value does not vary stores it.
  LogicalResult store(Value value, unsigned buffer, st::GroupSet looped, Value condition);

private:
  SmallVector<int64_t> sizesOf(ArrayRef<unsigned> groups) const;
  FailureOr<Number> compute(Value value);
  stablehlo::MulOp findFusedProduct(Operation *op) const;
  FailureOr<Number> computeFused(Operation *op, stablehlo::MulOp product);
  FailureOr<Number> computeIota(stablehlo::IotaOp iota);
  Number loadAccess(BlockArgument argument, Value seenAs, int64_t offset);
};

} // namespace mlir::cuda
