//===- ShapeRules.cpp - Gradients of ops that move data -------------------===//

#include "passes/Autodiff/Rules/GradientRules.h"
#include "passes/Autodiff/Rules/RuleUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

/// Sums a cotangent over broadcast dimensions.
static Value sumRepeated(Emitter &emit, BroadcastInDimOp op, Value ct) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(op.getOperand());
  // The result's dimensions that correspond to operand dimensions and are not repetitions.
  SmallVector<int64_t> kept, keptOperandDims;
  for (auto [operandDim, dim] : llvm::enumerate(op.getBroadcastDimensions())) {
    if (shape[operandDim] == Emitter::shapeOf(ct)[dim]) {
      kept.push_back(dim);
      keptOperandDims.push_back(operandDim);
    }
  }
  Value sum = emit.reduceAdd(ct, remainingDims(Emitter::typeOf(ct).getRank(), kept));
  // The sum has ascending dimensions; the operand may have another order.
  SmallVector<int64_t> sorted(kept);
  llvm::sort(sorted);
  SmallVector<int64_t> permutation;
  for (int64_t dim : kept)
    permutation.push_back(llvm::find(sorted, dim) - sorted.begin());
  return emit.reshape(emit.transpose(sum, permutation), shape);
}

static void broadcastRule(BroadcastInDimOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(), [&] {
    // Moves a negation after the sum, where the tensor is smaller.
    if (auto negated = ct.getDefiningOp<NegOp>())
      return g.emit.neg(sumRepeated(g.emit, op, negated.getOperand()));
    return sumRepeated(g.emit, op, ct);
  });
}

static void reshapeRule(ReshapeOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(), [&] { return g.emit.reshape(ct, Emitter::shapeOf(op.getOperand())); });
}

static void transposeRule(TransposeOp op, Value ct, Gradients &g) {
  SmallVector<int64_t> inverse(op.getPermutation().size());
  for (auto [i, dim] : llvm::enumerate(op.getPermutation()))
    inverse[dim] = i;
  g.add(op.getOperand(), [&] { return g.emit.transpose(ct, inverse); });
}

static void reverseRule(ReverseOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(), [&] { return g.emit.reverse(ct, op.getDimensions()); });
}

static void sliceRule(SliceOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(), [&] {
    SmallVector<int64_t> high, interior;
    for (auto [size, start, stride, count] :
         llvm::zip_equal(Emitter::shapeOf(op.getOperand()), op.getStartIndices(), op.getStrides(),
                         Emitter::shapeOf(ct))) {
      interior.push_back(stride - 1);
      high.push_back(size - start - (count > 0 ? (count - 1) * stride + 1 : 0));
    }
    return g.emit.pad(ct, scalarZero(g.emit, ct), op.getStartIndices(), high, interior);
  });
}

static void padRule(PadOp op, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  bool wantsValue = g.isNeeded(op.getPaddingValue());
  if (!wantsValue && !g.isNeeded(op.getOperand()))
    return;
  Value inner = unpadded(emit, op, ct);
  g.add(op.getOperand(), inner);
  g.add(op.getPaddingValue(), [&] { return emit.sub(sumAll(emit, ct), sumAll(emit, inner)); });
}

static void concatenateRule(ConcatenateOp op, Value ct, Gradients &g) {
  int64_t dim = op.getDimension(), start = 0;
  for (Value input : op.getInputs()) {
    int64_t size = Emitter::shapeOf(input)[dim];
    g.add(input, [&] { return g.emit.sliceDim(ct, dim, start, start + size); });
    start += size;
  }
}

static void dynamicSliceRule(DynamicSliceOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(), [&] {
    return g.emit.dynamicUpdateSlice(g.emit.zerosLike(op.getOperand()), ct, op.getStartIndices());
  });
}

static void dynamicUpdateSliceRule(DynamicUpdateSliceOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(), [&] {
    return g.emit.dynamicUpdateSlice(ct, g.emit.zerosLike(op.getUpdate()), op.getStartIndices());
  });
  g.add(op.getUpdate(), [&] {
    return g.emit.dynamicSlice(ct, op.getStartIndices(), Emitter::shapeOf(op.getUpdate()));
  });
}

void st::populateShapeRules(GradientRules &rules) {
  rules.add<BroadcastInDimOp>(broadcastRule);
  rules.add<ReshapeOp>(reshapeRule);
  rules.add<TransposeOp>(transposeRule);
  rules.add<ReverseOp>(reverseRule);
  rules.add<SliceOp>(sliceRule);
  rules.add<PadOp>(padRule);
  rules.add<ConcatenateOp>(concatenateRule);
  rules.add<DynamicSliceOp>(dynamicSliceRule);
  rules.add<DynamicUpdateSliceOp>(dynamicUpdateSliceRule);
  rules.allowComplex<BroadcastInDimOp, ConcatenateOp, DynamicSliceOp, DynamicUpdateSliceOp, PadOp,
                     ReshapeOp, ReverseOp, SliceOp, TransposeOp>();
}
