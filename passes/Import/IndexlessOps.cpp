#include "passes/Import/IndexlessOps.h"

#include "dialects/StableHLO/Utils/ApplyToElements.h"

using namespace mlir;
using namespace mlir::st;

/// Returns true if vectors along a dimension of the indices have no component.
static bool hasNoComponent(Value indices, int64_t vectorDim) {
  auto type = cast<RankedTensorType>(indices.getType());
  return vectorDim < type.getRank() && type.getDimSize(vectorDim) == 0;
}

/// Indices of one component, 0.
static Value zeroIndices(Emitter &emit, Value indices, int64_t vectorDim) {
  auto type = cast<RankedTensorType>(indices.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[vectorDim] = 1;
  return emit.splat(RankedTensorType::get(shape, type.getElementType()), 0.0);
}

/// The first dimension that is not batched; none of a scalar.
static std::optional<int64_t> freeDim(int64_t rank, ArrayRef<int64_t> batching) {
  for (int64_t dim = 0; dim < rank; ++dim)
    if (!llvm::is_contained(batching, dim))
      return dim;
  return std::nullopt;
}

Value mlir::st::expandIndexless(Emitter &emit, stablehlo::GatherOp op) {
  auto numbers = op.getDimensionNumbers();
  const int64_t vectorDim = numbers.getIndexVectorDim();
  if (!hasNoComponent(op.getStartIndices(), vectorDim))
    return nullptr;
  std::optional<int64_t> dim =
      freeDim(Emitter::typeOf(op.getOperand()).getRank(), numbers.getOperandBatchingDims());
  if (!dim)
    return nullptr;
  auto created = cast<stablehlo::GatherOp>(emit.builder.clone(*op));
  created.getStartIndicesMutable().assign(zeroIndices(emit, op.getStartIndices(), vectorDim));
  created.setDimensionNumbersAttr(stablehlo::GatherDimensionNumbersAttr::get(
      op.getContext(), numbers.getOffsetDims(), numbers.getCollapsedSliceDims(),
      numbers.getOperandBatchingDims(), numbers.getStartIndicesBatchingDims(), {*dim}, vectorDim));
  return created;
}

/// Returns true if there is one update, whose dimensions are the input's, possibly smaller: each
/// dimension of the indices is batched with the input dimension at its position in the update.
static bool hasOneUpdate(stablehlo::ScatterOp op) {
  auto numbers = op.getScatterDimensionNumbers();
  auto update = Emitter::typeOf(op.getUpdates().front());
  if (Emitter::typeOf(op.getInputs().front()).getRank() != update.getRank())
    return false;
  SmallVector<int64_t> places; // in the update, of the dimensions of the indices
  for (int64_t dim = 0; dim < update.getRank(); ++dim)
    if (!llvm::is_contained(numbers.getUpdateWindowDims(), dim))
      places.push_back(dim);
  ArrayRef<int64_t> batching = numbers.getScatterIndicesBatchingDims();
  if (places.size() != batching.size())
    return false;
  for (auto [dim, input] : llvm::zip_equal(batching, numbers.getInputBatchingDims())) {
    const int64_t place = dim - (dim > numbers.getIndexVectorDim());
    if (places[place] != input)
      return false;
  }
  return true;
}

/// `input` with the first elements of each dimension replaced by `update`.
static Value replaceFirst(Emitter &emit, Value input, Value update) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(input), part = Emitter::shapeOf(update);
  SmallVector<int64_t> none(shape.size()), high(shape.size());
  Value inside;
  for (auto [dim, size] : llvm::enumerate(part)) {
    high[dim] = shape[dim] - size;
    if (high[dim] == 0)
      continue;
    Value position = emit.iota(shape, IntegerType::get(input.getContext(), 32), dim);
    Value before = emit.compare(stablehlo::ComparisonDirection::LT, position,
                                emit.splatLike(position, static_cast<double>(size)));
    inside = inside ? emit.bitAnd(inside, before) : before;
  }
  if (!inside)
    return update;
  auto scalar = RankedTensorType::get({}, Emitter::typeOf(input).getElementType());
  return emit.select(inside, emit.pad(update, emit.splat(scalar, 0.0), none, high, none), input);
}

Value mlir::st::expandIndexless(Emitter &emit, stablehlo::ScatterOp op) {
  auto numbers = op.getScatterDimensionNumbers();
  const int64_t vectorDim = numbers.getIndexVectorDim();
  if (!hasNoComponent(op.getScatterIndices(), vectorDim) || op.getNumResults() != 1)
    return nullptr;
  Value input = op.getInputs().front(), update = op.getUpdates().front();
  const bool isComplex = isa<ComplexType>(Emitter::typeOf(input).getElementType());
  const bool isFullUpdate = Emitter::typeOf(input) == Emitter::typeOf(update);
  if (hasOneUpdate(op) && (isFullUpdate || !isComplex)) {
    SmallVector<int64_t> none(Emitter::shapeOf(input).size());
    Value part = isFullUpdate ? input : emit.slice(input, none, Emitter::shapeOf(update));
    if (auto created = applyToElements(emit, op.getUpdateComputation(), {part, update}))
      return replaceFirst(emit, input, created->front());
  }
  std::optional<int64_t> dim =
      freeDim(Emitter::typeOf(input).getRank(), numbers.getInputBatchingDims());
  if (!dim)
    return nullptr;
  auto created = cast<stablehlo::ScatterOp>(emit.builder.clone(*op));
  created.getScatterIndicesMutable().assign(zeroIndices(emit, op.getScatterIndices(), vectorDim));
  created.setScatterDimensionNumbersAttr(stablehlo::ScatterDimensionNumbersAttr::get(
      op.getContext(), numbers.getUpdateWindowDims(), numbers.getInsertedWindowDims(),
      numbers.getInputBatchingDims(), numbers.getScatterIndicesBatchingDims(), {*dim}, vectorDim));
  return created->getResult(0);
}
