// Dynamic slices as gathers and scatters, and gathers and scatters in the forms that kernels
// support.

#include "passes/Kernels/Lowering/LowerTensorOps.h"

using namespace mlir;
using namespace mlir::st;

// ---- slices -------------------------------------------------------------------------------------

/// Converts indices to 32 or 64 bits, which gathers and scatters require.
static Value widenIndices(Emitter &emit, Value indices) {
  auto type = cast<IntegerType>(Emitter::typeOf(indices).getElementType());
  MLIRContext *context = type.getContext();
  if (type.getWidth() < 32)
    return emit.convert(indices, IntegerType::get(context, 32));
  if (type.getWidth() == 64 && type.isUnsigned()) {
    // An index that does not fit is out of bounds, and is replaced by one that is out of bounds
    // too.
    Value largest = emit.constant(
        DenseElementsAttr::get(Emitter::typeOf(indices), APInt::getSignedMaxValue(64)));
    return emit.convert(emit.min(indices, largest), IntegerType::get(context, 64));
  }
  return indices;
}

namespace {
/// The start of a slice: the dimensions that it does not span and the index in each.
struct SlicePlace {
  SmallVector<int64_t> dims;
  Value indices; ///< clamped, one for each of `dims`

  SlicePlace(Emitter &emit, ArrayRef<int64_t> full, ArrayRef<int64_t> part, ValueRange starts) {
    SmallVector<Value> places;
    for (auto [dim, start] : llvm::enumerate(starts)) {
      if (full[dim] == part[dim])
        continue;
      dims.push_back(static_cast<int64_t>(dim));
      Value wide = emit.convert(widenIndices(emit, start), emit.builder.getI64Type());
      Value place = emit.clamp(emit.splatLike(wide, 0), wide,
                               emit.splatLike(wide, static_cast<double>(full[dim] - part[dim])));
      places.push_back(emit.reshape(place, {1}));
    }
    if (!places.empty())
      indices = places.size() == 1 ? places[0] : emit.concatenate(places, 0);
  }
};
} // namespace

Replacement mlir::st::lowerDynamicSlice(Emitter &emit, stablehlo::DynamicSliceOp op) {
  Value operand = op.getOperand();
  ArrayRef<int64_t> part = Emitter::shapeOf(op.getResult());
  if (isa<ComplexType>(Emitter::typeOf(operand).getElementType()))
    return std::nullopt;
  SlicePlace place(emit, Emitter::shapeOf(operand), part, op.getStartIndices());
  if (!place.indices)
    return SmallVector<Value>{operand};
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, part.size()));
  auto numbers =
      stablehlo::GatherDimensionNumbersAttr::get(op.getContext(), all, {}, {}, {}, place.dims, 0);
  return SmallVector<Value>{stablehlo::GatherOp::create(emit.builder, emit.loc, op.getType(),
                                                        operand, place.indices, numbers, part,
                                                        /*indices_are_sorted=*/true)};
}

Replacement mlir::st::lowerDynamicUpdateSlice(Emitter &emit, stablehlo::DynamicUpdateSliceOp op) {
  Value operand = op.getOperand(), update = op.getUpdate();
  RankedTensorType type = Emitter::typeOf(operand);
  if (isa<ComplexType>(type.getElementType()))
    return std::nullopt;
  SlicePlace place(emit, type.getShape(), Emitter::shapeOf(update), op.getStartIndices());
  if (!place.indices)
    return SmallVector<Value>{update};
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  auto numbers =
      stablehlo::ScatterDimensionNumbersAttr::get(op.getContext(), all, {}, {}, {}, place.dims, 0);
  OpBuilder &builder = emit.builder;
  auto scatter = stablehlo::ScatterOp::create(builder, emit.loc, ValueRange{operand}, place.indices,
                                              ValueRange{update}, numbers, true, true);
  OpBuilder::InsertionGuard guard(builder);
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Block *body = builder.createBlock(&scatter.getUpdateComputation(), {}, {scalar, scalar},
                                    {emit.loc, emit.loc});
  stablehlo::ReturnOp::create(builder, emit.loc, ValueRange{body->getArgument(1)});
  return SmallVector<Value>{scatter.getResult(0)};
}

// ---- forms of gather and scatter ----------------------------------------------------------------

/// The index tensor with its components last.
static Value moveComponentsBack(Emitter &emit, Value indices, int64_t componentDim) {
  int64_t rank = Emitter::typeOf(indices).getRank();
  if (componentDim >= rank - 1)
    return indices;
  SmallVector<int64_t> order = remainingDims(rank, {componentDim});
  order.push_back(componentDim);
  return emit.transpose(indices, order);
}

/// The dimension of the moved index tensor that `dims` name.
static SmallVector<int64_t> withoutComponents(ArrayRef<int64_t> dims, int64_t componentDim) {
  return llvm::map_to_vector(dims, [&](int64_t dim) { return dim > componentDim ? dim - 1 : dim; });
}

/// Returns true if the batch dimensions (those outside windows) are all before, or all after, the
/// window's.
static bool areBatchDimsTogether(ArrayRef<int64_t> shape, ArrayRef<int64_t> windowDims) {
  bool seen = false, ended = false;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (size == 1)
      continue;
    bool isBatch = !llvm::is_contained(windowDims, static_cast<int64_t>(dim));
    if (isBatch && ended)
      return false;
    ended |= seen && !isBatch;
    seen |= isBatch;
  }
  return true;
}

Replacement mlir::st::lowerGather(Emitter &emit, stablehlo::GatherOp op) {
  if (isa<ComplexType>(op.getType().getElementType()) || op.getType().getNumElements() == 0)
    return std::nullopt;
  auto numbers = op.getDimensionNumbers();
  ArrayRef<int64_t> shape = op.getType().getShape(), window = numbers.getOffsetDims();
  Value wide = widenIndices(emit, op.getStartIndices());
  Value indices = moveComponentsBack(emit, wide, numbers.getIndexVectorDim());
  bool isTogether = areBatchDimsTogether(shape, window);
  if (indices == op.getStartIndices() && isTogether)
    return std::nullopt;
  int64_t rank = shape.size(), batchRank = rank - static_cast<int64_t>(window.size());
  SmallVector<int64_t> order = remainingDims(rank, window), newShape, newWindow(window), back(rank);
  llvm::append_range(order, window);
  if (!isTogether)
    for (size_t i = 0; i < window.size(); ++i)
      newWindow[i] = batchRank + static_cast<int64_t>(i);
  for (int64_t dim = 0; dim < rank; ++dim) {
    newShape.push_back(shape[isTogether ? dim : order[dim]]);
    back[isTogether ? dim : order[dim]] = dim;
  }
  int64_t components =
      indices == wide ? numbers.getIndexVectorDim() : Emitter::typeOf(indices).getRank() - 1;
  auto newNumbers = stablehlo::GatherDimensionNumbersAttr::get(
      op.getContext(), newWindow, numbers.getCollapsedSliceDims(), numbers.getOperandBatchingDims(),
      indices == wide
          ? SmallVector<int64_t>(numbers.getStartIndicesBatchingDims())
          : withoutComponents(numbers.getStartIndicesBatchingDims(), numbers.getIndexVectorDim()),
      numbers.getStartIndexMap(), components);
  Value gathered = stablehlo::GatherOp::create(emit.builder, emit.loc, op.getType().clone(newShape),
                                               op.getOperand(), indices, newNumbers,
                                               op.getSliceSizes(), op.getIndicesAreSorted());
  return SmallVector<Value>{emit.transpose(gathered, back)};
}

Replacement mlir::st::lowerScatter(Emitter &emit, stablehlo::ScatterOp op) {
  if (op.getInputs().size() != 1 ||
      isa<ComplexType>(Emitter::typeOf(op.getInputs()[0]).getElementType()))
    return std::nullopt;
  auto numbers = op.getScatterDimensionNumbers();
  Value updates = op.getUpdates()[0];
  if (Emitter::typeOf(updates).getNumElements() == 0)
    return SmallVector<Value>{op.getInputs()[0]};
  ArrayRef<int64_t> shape = Emitter::shapeOf(updates), window = numbers.getUpdateWindowDims();
  Value wide = widenIndices(emit, op.getScatterIndices());
  Value indices = moveComponentsBack(emit, wide, numbers.getIndexVectorDim());
  bool isTogether = areBatchDimsTogether(shape, window);
  if (indices == op.getScatterIndices() && isTogether)
    return std::nullopt;
  int64_t rank = shape.size(), batchRank = rank - static_cast<int64_t>(window.size());
  SmallVector<int64_t> newWindow(window);
  if (!isTogether) {
    SmallVector<int64_t> order = remainingDims(rank, window);
    llvm::append_range(order, window);
    updates = emit.transpose(updates, order);
    for (size_t i = 0; i < window.size(); ++i)
      newWindow[i] = batchRank + static_cast<int64_t>(i);
  }
  int64_t components =
      indices == wide ? numbers.getIndexVectorDim() : Emitter::typeOf(indices).getRank() - 1;
  auto newNumbers = stablehlo::ScatterDimensionNumbersAttr::get(
      op.getContext(), newWindow, numbers.getInsertedWindowDims(), numbers.getInputBatchingDims(),
      indices == wide
          ? SmallVector<int64_t>(numbers.getScatterIndicesBatchingDims())
          : withoutComponents(numbers.getScatterIndicesBatchingDims(), numbers.getIndexVectorDim()),
      numbers.getScatterDimsToOperandDims(), components);
  auto scatter = stablehlo::ScatterOp::create(emit.builder, emit.loc, op.getInputs(), indices,
                                              ValueRange{updates}, newNumbers,
                                              op.getIndicesAreSorted(), op.getUniqueIndices());
  scatter.getUpdateComputation().takeBody(op.getUpdateComputation());
  return SmallVector<Value>(scatter.getResults());
}
