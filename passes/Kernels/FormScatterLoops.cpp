// Scatters with a combination that no transfer supports.

#include "passes/Kernels/FormLoops.h"
#include "passes/Kernels/Lowering/LowerTensorOps.h"

using namespace mlir;
using namespace mlir::st;
using Direction = stablehlo::ComparisonDirection;

/// Returns true if a transfer supports the combination: a single op of the old value and the
/// update, or replacement.
static bool isCombinedByTransfers(stablehlo::ScatterOp op) {
  if (op.getInputs().size() != 1)
    return false;
  Block &body = op.getUpdateComputation().front();
  Value updated = body.getTerminator()->getOperand(0);
  if (updated == body.getArgument(1))
    return true;
  Operation *combiner = updated.getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2 ||
      combiner->getOperand(0) == combiner->getOperand(1) ||
      !llvm::all_of(combiner->getOperands(), [](Value v) { return isa<BlockArgument>(v); }))
    return false;
  bool isTruth = Emitter::typeOf(op.getInputs()[0]).getElementType().isInteger(1);
  return isa<stablehlo::AddOp, stablehlo::MulOp, stablehlo::MaxOp, stablehlo::MinOp>(combiner) ||
         (isTruth && isa<stablehlo::AndOp, stablehlo::OrOp>(combiner));
}

/// The sizes of a window along the dimensions of the inputs.
static SmallVector<int64_t> windowOf(stablehlo::ScatterOp op) {
  auto numbers = op.getScatterDimensionNumbers();
  ArrayRef<int64_t> updates = Emitter::shapeOf(op.getUpdates()[0]);
  SmallVector<int64_t> window;
  unsigned next = 0;
  for (int64_t dim = 0, rank = Emitter::typeOf(op.getInputs()[0]).getRank(); dim < rank; ++dim) {
    bool isSingle = llvm::is_contained(numbers.getInsertedWindowDims(), dim) ||
                    llvm::is_contained(numbers.getInputBatchingDims(), dim);
    window.push_back(isSingle ? 1 : updates[numbers.getUpdateWindowDims()[next++]]);
  }
  return window;
}

/// For updates that never overlap: gathers the old values, combines them and replaces them.
static std::optional<SmallVector<Value>> replaceGathered(Emitter &emit, stablehlo::ScatterOp op) {
  auto numbers = op.getScatterDimensionNumbers();
  auto gathering = stablehlo::GatherDimensionNumbersAttr::get(
      op.getContext(), numbers.getUpdateWindowDims(), numbers.getInsertedWindowDims(),
      numbers.getInputBatchingDims(), numbers.getScatterIndicesBatchingDims(),
      numbers.getScatterDimsToOperandDims(), numbers.getIndexVectorDim());
  SmallVector<Value> arguments;
  for (auto [input, update] : llvm::zip_equal(op.getInputs(), op.getUpdates()))
    arguments.push_back(stablehlo::GatherOp::create(emit.builder, emit.loc, update.getType(), input,
                                                    op.getScatterIndices(), gathering, windowOf(op),
                                                    op.getIndicesAreSorted()));
  llvm::append_range(arguments, op.getUpdates());
  auto updated = applyToElements(emit, op.getUpdateComputation(), arguments);
  if (!updated)
    return std::nullopt;
  SmallVector<Value> results;
  for (auto [input, update] : llvm::zip_equal(op.getInputs(), *updated)) {
    auto scatter = stablehlo::ScatterOp::create(emit.builder, emit.loc, ValueRange{input},
                                                op.getScatterIndices(), ValueRange{update}, numbers,
                                                op.getIndicesAreSorted(), /*uniqueIndices=*/true);
    OpBuilder::InsertionGuard guard(emit.builder);
    auto scalar = RankedTensorType::get({}, Emitter::typeOf(input).getElementType());
    Block *body = emit.builder.createBlock(&scatter.getUpdateComputation(), {}, {scalar, scalar},
                                           {emit.loc, emit.loc});
    stablehlo::ReturnOp::create(emit.builder, emit.loc, ValueRange{body->getArgument(1)});
    results.push_back(scatter.getResult(0));
  }
  return results;
}

namespace {
/// Applies one update after the other.
class UpdateLoop {
public:
  UpdateLoop(Emitter &emit, stablehlo::ScatterOp op)
      : emit(emit), op(op), numbers(op.getScatterDimensionNumbers()), window(windowOf(op)) {}

  std::optional<SmallVector<Value>> run();

private:
  Emitter &emit;
  stablehlo::ScatterOp op;
  stablehlo::ScatterDimensionNumbersAttr numbers;
  SmallVector<int64_t> window;
  Value indices;                   ///< [updates, components], i64
  SmallVector<Value> updates;      ///< [updates, window]
  SmallVector<int64_t> batchSizes; ///< of the batch dimensions, in order

  void arrange();
  SmallVector<Value> startsOf(Emitter &body, Value update);
  std::optional<SmallVector<Value>> combine(Emitter &body, Value update, ValueRange carried);
};
} // namespace

/// Indices and updates with all batch dimensions along one leading dimension.
void UpdateLoop::arrange() {
  indices = op.getScatterIndices();
  int64_t rank = Emitter::typeOf(indices).getRank(), componentDim = numbers.getIndexVectorDim();
  int64_t components = numbers.getScatterDimsToOperandDims().size();
  if (componentDim < rank) {
    SmallVector<int64_t> order = remainingDims(rank, {componentDim});
    order.push_back(componentDim);
    indices = emit.transpose(indices, order);
  }
  batchSizes.assign(Emitter::shapeOf(indices).begin(),
                    Emitter::shapeOf(indices).end() - (componentDim < rank ? 1 : 0));
  int64_t numUpdates = 1;
  for (int64_t size : batchSizes)
    numUpdates *= size;
  Type element = Emitter::typeOf(indices).getElementType();
  if (element.isUnsignedInteger(64)) {
    // An index that does not fit is out of bounds, and is replaced by one that is out of bounds
    // too.
    Value largest = emit.constant(
        DenseElementsAttr::get(Emitter::typeOf(indices), APInt::getSignedMaxValue(64)));
    indices = emit.min(indices, largest);
  }
  indices =
      emit.convert(emit.reshape(indices, {numUpdates, components}), emit.builder.getI64Type());
  for (Value update : op.getUpdates()) {
    int64_t updateRank = Emitter::typeOf(update).getRank();
    SmallVector<int64_t> order = remainingDims(updateRank, numbers.getUpdateWindowDims());
    llvm::append_range(order, numbers.getUpdateWindowDims());
    SmallVector<int64_t> shape = {numUpdates};
    llvm::append_range(shape, window);
    updates.push_back(emit.reshape(emit.transpose(update, order), shape));
  }
}

/// The start of an update's window.
SmallVector<Value> UpdateLoop::startsOf(Emitter &body, Value update) {
  auto scalar = RankedTensorType::get({}, body.builder.getI64Type());
  SmallVector<Value> starts(window.size(), body.splat(scalar, 0));
  Value row = body.dynamicSlice(indices, {update, body.zerosLike(update)},
                                {1, Emitter::shapeOf(indices)[1]});
  for (auto [i, dim] : llvm::enumerate(numbers.getScatterDimsToOperandDims())) {
    auto component = static_cast<int64_t>(i);
    starts[dim] = body.reshape(body.sliceDim(row, 1, component, component + 1), {});
  }
  for (auto [dim, indexDim] :
       llvm::zip_equal(numbers.getInputBatchingDims(), numbers.getScatterIndicesBatchingDims())) {
    int64_t position = indexDim - (indexDim > numbers.getIndexVectorDim() ? 1 : 0), behind = 1;
    for (int64_t size : ArrayRef(batchSizes).drop_front(position + 1))
      behind *= size;
    Value number = body.convert(update, scalar.getElementType());
    Value divided = body.div(number, body.splatLike(number, static_cast<double>(behind)));
    Value size = body.splatLike(number, static_cast<double>(batchSizes[position]));
    starts[dim] = stablehlo::RemOp::create(body.builder, body.loc, scalar, divided, size);
  }
  return starts;
}

/// The tensors with the window of one update combined, if the window is in bounds.
std::optional<SmallVector<Value>> UpdateLoop::combine(Emitter &body, Value update,
                                                      ValueRange carried) {
  SmallVector<Value> starts = startsOf(body, update), arguments, first = {update};
  ArrayRef<int64_t> shape = Emitter::shapeOf(carried[0]);
  Value isInside;
  for (auto [start, extent, size] : llvm::zip_equal(starts, shape, window)) {
    Value last = body.splatLike(start, static_cast<double>(extent - size));
    Value fits = body.bitAnd(body.compare(Direction::GE, start, body.zerosLike(start)),
                             body.compare(Direction::LE, start, last));
    isInside = isInside ? body.bitAnd(isInside, fits) : fits;
  }
  SmallVector<int64_t> piece = {1};
  llvm::append_range(piece, window);
  first.append(window.size(), body.zerosLike(update));
  for (Value tensor : carried)
    arguments.push_back(body.dynamicSlice(tensor, starts, window));
  for (Value update : updates)
    arguments.push_back(body.reshape(body.dynamicSlice(update, first, piece), window));
  auto updated = applyToElements(body, op.getUpdateComputation(), arguments);
  if (!updated)
    return std::nullopt;
  SmallVector<Value> results;
  for (auto [tensor, current, combined] :
       llvm::zip_equal(carried, ArrayRef(arguments).take_front(carried.size()), *updated)) {
    Value chosen = combined;
    if (isInside)
      chosen = body.select(body.broadcast(isInside, {}, window), combined, current);
    results.push_back(body.dynamicUpdateSlice(tensor, chosen, starts));
  }
  return results;
}

std::optional<SmallVector<Value>> UpdateLoop::run() {
  arrange();
  bool isDone = true;
  SmallVector<Value> results = emitLoop(emit, Emitter::shapeOf(indices)[0], op.getInputs(),
                                        [&](Emitter &body, Value trip, ValueRange carried) {
                                          auto updated = combine(body, trip, carried);
                                          isDone = updated.has_value();
                                          return updated.value_or(SmallVector<Value>(carried));
                                        });
  if (isDone)
    return results;
  results.front().getDefiningOp()->erase();
  return std::nullopt;
}

std::optional<SmallVector<Value>> mlir::st::formScatterLoop(Emitter &emit,
                                                            stablehlo::ScatterOp op) {
  for (Value value : op.getInputs())
    if (isa<ComplexType>(Emitter::typeOf(value).getElementType()))
      return std::nullopt;
  if (isCombinedByTransfers(op) || Emitter::typeOf(op.getUpdates()[0]).getNumElements() == 0)
    return std::nullopt;
  return op.getUniqueIndices() ? replaceGathered(emit, op) : UpdateLoop(emit, op).run();
}
