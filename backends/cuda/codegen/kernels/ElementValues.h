// Values of a kernel's body at elements of its iteration space, and the results of reductions.
#pragma once

#include "backends/cuda/codegen/kernels/KernelEmitter.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"

namespace mlir::cuda {

/// A generator sets the coordinates of an element and gets values there. Values that do not vary
/// along the reduced groups are cached for a row, all others for a chunk of it: an element, or
/// `width` neighbours of the innermost group.
class ElementValues {
public:
  using Known = DenseMap<Value, Value>;
  /// One reduction under way.
  struct Sum {
    stablehlo::ReduceOp op;
    Combiner combiner;
  };

  /// `body` is the kernel's, or one whose arguments begin with the kernel's.
  ElementValues(KernelEmitter &emitter, Block &body, st::IterationSpace space)
      : emitter(emitter), body(body), space(std::move(space)),
        coordinates(this->space.getNumGroups()) {}

  KernelEmitter &emitter;
  Block &body;
  st::IterationSpace space;
  st::GroupSet reduced = 0; ///< groups that reductions run over
  int64_t width = 1;
  SmallVector<Value> coordinates; ///< of the current point, by group
  Known ofRow, ofChunk;
  SmallVector<SmallVector<Sum>> levels; ///< reductions by how many others each depends on

  /// Fills `levels` and `reduced`. Fails with a diagnostic where reductions run over different
  /// groups.
  LogicalResult findReductions();

  SmallVector<unsigned> groupsIn(st::GroupSet set) const;
  void setPosition(ArrayRef<unsigned> groups, Value position);
  bool isOfRow(Value value) const { return (space.getGroups(value) & reduced) == 0; }

  /// Fails with a diagnostic.
  FailureOr<Number> get(Value value);
  /// Computes what a value needs of its row, so that loops over chunks find it.
  LogicalResult prepare(Value value, DenseSet<Value> &seen);

  Number identityOf(const Sum &sum);
  /// The total with the chunk's term, where `valid` (null: always).
  FailureOr<Number> accumulate(const Sum &sum, Number total, Value valid);
  /// Makes the reduction's result known from what all terms give.
  LogicalResult finishSum(Sum &sum, Number total);
  /// Puts a value into a dense buffer. Along those of the `looped` groups that it does not vary
  /// along, the first point does.
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
