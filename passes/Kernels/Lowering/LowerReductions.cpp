// Reductions that no engine supports, as elementwise steps.

#include "dialects/StableHLO/Utils/Reducers.h"
#include "passes/Kernels/Lowering/LowerTensorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::st;

/// Returns true if the vector engine supports the op's body.
static bool isReducedByVectors(stablehlo::ReduceOp op) {
  if (op.getInputs().size() != 1)
    return false;
  Block &body = op.getBody().front();
  Operation *inner = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!inner || inner->getNumOperands() != 2 || inner->getBlock() != &body ||
      inner->getOperand(0) == inner->getOperand(1) ||
      !llvm::all_of(inner->getOperands(), [](Value v) { return isa<BlockArgument>(v); }))
    return false;
  bool isTruth = Emitter::typeOf(op.getInputs()[0]).getElementType().isInteger(1);
  return isa<stablehlo::AddOp, stablehlo::MaxOp, stablehlo::MinOp>(inner) ||
         (isTruth && isa<stablehlo::AndOp, stablehlo::OrOp, stablehlo::MulOp>(inner));
}

/// The tensors as [reduced elements, kept elements].
static SmallVector<Value> makeRows(Emitter &emit, stablehlo::ReduceOp op) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(op.getInputs().front());
  SmallVector<int64_t> order(op.getDimensions());
  llvm::sort(order);
  int64_t count = 1, width = 1;
  for (int64_t dim : order)
    count *= shape[dim];
  for (int64_t dim : remainingDims(shape.size(), op.getDimensions())) {
    order.push_back(dim);
    width *= shape[dim];
  }
  return llvm::map_to_vector(op.getInputs(), [&](Value input) {
    return emit.reshape(emit.transpose(input, order), {count, width});
  });
}

/// Returns true if each value is combined by a separate op that does not depend on operand order.
bool mlir::st::isCommutative(Region &computation) {
  Block &block = computation.front();
  unsigned count = block.getNumArguments() / 2;
  auto combines = [&](unsigned index, Value result) {
    Operation *op = result.getDefiningOp();
    if (!isa_and_nonnull<stablehlo::AddOp, stablehlo::MulOp, stablehlo::MaxOp, stablehlo::MinOp,
                         stablehlo::AndOp, stablehlo::OrOp, stablehlo::XorOp>(op))
      return false;
    Value left = block.getArgument(index), right = block.getArgument(count + index);
    Value a = op->getOperand(0), b = op->getOperand(1);
    return (a == left && b == right) || (a == right && b == left);
  };
  return llvm::all_of(llvm::enumerate(block.getTerminator()->getOperands()),
                      [&](auto result) { return combines(result.index(), result.value()); });
}

/// Combines rows pairwise: halves, which are contiguous, or neighbours if the body depends on
/// operand order. In the latter case each row covers a range of elements, ascending from row to
/// row.
Replacement mlir::st::lowerReduce(Emitter &emit, stablehlo::ReduceOp op) {
  // Sums over a batch (the first dimension) of one keep their form, so that the form does not
  // depend on the size of the batch.
  ArrayRef<int64_t> from = Emitter::shapeOf(op.getInputs().front());
  const auto last = static_cast<int64_t>(from.size()) - 1;
  if (op.getInputs().size() == 1 && llvm::is_contained(op.getDimensions(), last) &&
      llvm::all_of(op.getDimensions(), [&](int64_t dim) { return from[dim] == 1; }) &&
      isNeutral(op.getBody(), op.getInitValues()[0]))
    return SmallVector<Value>{emit.reshape(op.getInputs()[0], Emitter::shapeOf(op.getResult(0)))};
  bool isEmpty = Emitter::typeOf(op.getInputs().front()).getNumElements() == 0;
  if (isReducedByVectors(op) && !isEmpty)
    return std::nullopt;
  for (Value input : op.getInputs())
    if (isa<ComplexType>(Emitter::typeOf(input).getElementType()))
      return std::nullopt;
  ArrayRef<int64_t> shape = Emitter::shapeOf(op.getResult(0));
  SmallVector<Value> inits = llvm::map_to_vector(
      op.getInitValues(), [&](Value init) { return emit.broadcast(init, {}, shape); });
  if (isEmpty)
    return inits;
  SmallVector<Value> rows = makeRows(emit, op), rest;
  auto part = [&](int64_t from, int64_t to, int64_t step = 1) {
    return llvm::map_to_vector(rows, [&](Value value) {
      return emit.slice(value, {from, 0}, {to, Emitter::shapeOf(value)[1]}, {step, 1});
    });
  };
  bool keepsOrder = !isCommutative(op.getBody());
  auto combine = [&](ArrayRef<Value> a, ArrayRef<Value> b) {
    SmallVector<Value> arguments(a);
    llvm::append_range(arguments, b);
    return applyToElements(emit, op.getBody(), arguments);
  };
  for (int64_t count = Emitter::shapeOf(rows.front())[0]; count > 1; count /= 2) {
    if (count % 2 == 1) {
      SmallVector<Value> last = part(count - 1, count);
      auto both = rest.empty() ? std::optional(last) : combine(last, rest);
      if (!both)
        return std::nullopt;
      rest = *both;
    }
    int64_t even = count / 2 * 2;
    auto half = keepsOrder ? combine(part(0, even, 2), part(1, even, 2))
                           : combine(part(0, even / 2), part(even / 2, even));
    if (!half)
      return std::nullopt;
    rows = *half;
  }
  if (!rest.empty()) {
    auto both = combine(rows, rest);
    if (!both)
      return std::nullopt;
    rows = *both;
  }
  for (Value &value : rows)
    value = emit.reshape(value, shape);
  if (rows.size() == 1 && isNeutral(op.getBody(), op.getInitValues()[0]))
    return rows;
  return combine(inits, rows);
}
