//===- DataMovementFolders.cpp - Folding of ops that move data ------------===//

#include "dialects/StableHLO/Folding/ConstantFolding.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::stablehlo;

static bool isIdentity(ArrayRef<int64_t> dims) {
  return llvm::equal(dims, llvm::seq<int64_t>(0, dims.size()));
}

static bool isAll(ArrayRef<int64_t> values, int64_t value) {
  return llvm::all_of(values, [&](int64_t each) { return each == value; });
}

/// A splat constant is a splat in any shape.
static Attribute foldSplat(Attribute operand, ShapedType type) {
  auto splat = dyn_cast_or_null<SplatElementsAttr>(operand);
  return splat ? splat.resizeSplat(type) : Attribute();
}

/// Element `i` of each dimension's stride in row-major order.
static SmallVector<int64_t> getElementStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

/// Reads a small constant at `offset + sum(index[i] * steps[i])` for each index
/// of the result.
static Attribute foldStrided(Attribute operand, ShapedType type, int64_t offset,
                             ArrayRef<int64_t> steps) {
  if (Attribute splat = foldSplat(operand, type))
    return splat;
  auto elements = dyn_cast_or_null<DenseElementsAttr>(operand);
  if (!elements || elements.getNumElements() > kMaxFoldedElements ||
      type.getNumElements() > kMaxFoldedElements)
    return {};
  auto values = elements.getValues<Attribute>();
  SmallVector<int64_t> shapeStrides = getElementStrides(type.getShape());
  SmallVector<Attribute> result;
  for (int64_t i = 0, end = type.getNumElements(); i != end; ++i) {
    int64_t at = offset;
    for (auto [dim, size] : llvm::enumerate(type.getShape()))
      at += i / shapeStrides[dim] % size * steps[dim];
    result.push_back(values[at]);
  }
  return DenseElementsAttr::get(type, result);
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

OpFoldResult BroadcastInDimOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType() && isIdentity(getBroadcastDimensions()))
    return getOperand();
  return foldSplat(adaptor.getOperand(), getType());
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType())
    return getOperand();
  if (auto elements = dyn_cast_or_null<DenseElementsAttr>(adaptor.getOperand()))
    return elements.reshape(getType());
  return {};
}

OpFoldResult ReverseOp::fold(FoldAdaptor adaptor) {
  ArrayRef<int64_t> shape = getType().getShape();
  if (llvm::all_of(getDimensions(), [&](int64_t dim) { return shape[dim] == 1; }))
    return getOperand();
  SmallVector<int64_t> steps = getElementStrides(shape);
  int64_t offset = 0;
  for (int64_t dim : getDimensions()) {
    offset += (shape[dim] - 1) * steps[dim];
    steps[dim] = -steps[dim];
  }
  return foldStrided(adaptor.getOperand(), getType(), offset, steps);
}

OpFoldResult TransposeOp::fold(FoldAdaptor adaptor) {
  if (isIdentity(getPermutation()))
    return getOperand();
  SmallVector<int64_t> strides = getElementStrides(getOperand().getType().getShape());
  SmallVector<int64_t> steps =
      llvm::map_to_vector(getPermutation(), [&](int64_t dim) { return strides[dim]; });
  return foldStrided(adaptor.getOperand(), getType(), 0, steps);
}

//===----------------------------------------------------------------------===//
// Pieces of tensors
//===----------------------------------------------------------------------===//

OpFoldResult ConcatenateOp::fold(FoldAdaptor) {
  const auto isKept = [&](Value input) {
    return cast<RankedTensorType>(input.getType()).getDimSize(getDimension()) != 0;
  };
  SmallVector<Value> kept = llvm::filter_to_vector(getInputs(), isKept);
  if (kept.size() == 1)
    return kept.front();
  if (getInputs().size() == 1)
    return getInputs().front();
  if (kept.empty() || kept.size() == getInputs().size())
    return {};
  getInputsMutable().assign(kept);
  return getResult();
}

OpFoldResult SliceOp::fold(FoldAdaptor adaptor) {
  if (getOperand().getType() == getType() && isAll(getStrides(), 1))
    return getOperand();
  SmallVector<int64_t> strides = getElementStrides(getOperand().getType().getShape()), steps;
  int64_t offset = 0;
  for (auto [size, start, step] : llvm::zip(strides, getStartIndices(), getStrides())) {
    offset += size * start;
    steps.push_back(size * step);
  }
  return foldStrided(adaptor.getOperand(), getType(), offset, steps);
}

OpFoldResult DynamicUpdateSliceOp::fold(FoldAdaptor) {
  // An index is clamped so that the update fits: an update as large as the operand replaces
  // it.
  if (getUpdate().getType() == getOperand().getType())
    return getUpdate();
  return {};
}

OpFoldResult PadOp::fold(FoldAdaptor) {
  if (getOperand().getType() == getType() && isAll(getEdgePaddingLow(), 0) &&
      isAll(getInteriorPadding(), 0))
    return getOperand();
  return {};
}

//===----------------------------------------------------------------------===//
// Canonicalization
//===----------------------------------------------------------------------===//

namespace {

/// broadcast(broadcast(x)) is one broadcast.
struct MergeBroadcasts : public OpRewritePattern<BroadcastInDimOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(BroadcastInDimOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<BroadcastInDimOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> dims =
        llvm::map_to_vector(inner.getBroadcastDimensions(),
                            [&](int64_t dim) { return op.getBroadcastDimensions()[dim]; });
    rewriter.replaceOpWithNewOp<BroadcastInDimOp>(op, op.getType(), inner.getOperand(), dims);
    return success();
  }
};

/// reshape(reshape(x)) is one reshape.
struct MergeReshapes : public OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<ReshapeOp>();
    if (!inner)
      return failure();
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, op.getType(), inner.getOperand());
    return success();
  }
};

/// transpose(transpose(x)) is one transpose.
struct MergeTransposes : public OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op, PatternRewriter &rewriter) const override {
    auto inner = op.getOperand().getDefiningOp<TransposeOp>();
    if (!inner)
      return failure();
    SmallVector<int64_t> permutation = llvm::map_to_vector(
        op.getPermutation(), [&](int64_t dim) { return inner.getPermutation()[dim]; });
    rewriter.replaceOpWithNewOp<TransposeOp>(op, op.getType(), inner.getOperand(), permutation);
    return success();
  }
};

/// A dynamic_slice at constant places is a slice, at the clamped places.
struct DynamicSliceToSlice : public OpRewritePattern<DynamicSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DynamicSliceOp op, PatternRewriter &rewriter) const override {
    SmallVector<int64_t> starts, limits;
    ArrayRef<int64_t> shape = op.getOperand().getType().getShape();
    for (auto [index, dim, size] : llvm::zip(op.getStartIndices(), shape, op.getSliceSizes())) {
      DenseIntElementsAttr value;
      if (!matchPattern(index, m_Constant(&value)))
        return failure();
      APInt start = value.getSplatValue<APInt>();
      bool isUint = isUnsigned(value.getElementType());
      int64_t place = isUint ? start.getLimitedValue(dim) : start.getSExtValue();
      starts.push_back(std::clamp<int64_t>(place, 0, dim - size));
      limits.push_back(starts.back() + size);
    }
    SmallVector<int64_t> strides(starts.size(), 1);
    rewriter.replaceOpWithNewOp<SliceOp>(op, op.getOperand(), starts, limits, strides);
    return success();
  }
};

/// A slice of one of the parts that are joined is a slice of that part.
struct SliceOfConcatenate : public OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(SliceOp op, PatternRewriter &rewriter) const override {
    auto joined = op.getOperand().getDefiningOp<ConcatenateOp>();
    if (!joined)
      return failure();
    uint64_t dim = joined.getDimension();
    SmallVector<int64_t> starts(op.getStartIndices()), limits(op.getLimitIndices());
    int64_t end = 0;
    for (Value part : joined.getInputs()) {
      int64_t begin = end;
      end += cast<RankedTensorType>(part.getType()).getDimSize(dim);
      if (starts[dim] < begin || limits[dim] > end || starts[dim] >= end)
        continue;
      starts[dim] -= begin;
      limits[dim] -= begin;
      rewriter.replaceOpWithNewOp<SliceOp>(op, part, starts, limits, op.getStrides());
      return success();
    }
    return failure();
  }
};

} // namespace

void SliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SliceOfConcatenate>(context);
}

void BroadcastInDimOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                   MLIRContext *context) {
  patterns.add<MergeBroadcasts>(context);
}

void ReshapeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeReshapes>(context);
}

void TransposeOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<MergeTransposes>(context);
}

void DynamicSliceOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                 MLIRContext *context) {
  patterns.add<DynamicSliceToSlice>(context);
}
