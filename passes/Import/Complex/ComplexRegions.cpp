#include "passes/Import/Complex/ComplexRegions.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::stablehlo;
using mlir::st::isComplex;

bool mlir::st::isComplex(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && isa<ComplexType>(type.getElementType());
}

static RankedTensorType partOf(Value value) {
  auto type = cast<RankedTensorType>(value.getType());
  return type.clone(cast<ComplexType>(type.getElementType()).getElementType());
}

/// The values with each complex one replaced by its real and imaginary part.
static SmallVector<Value> splitAll(OpBuilder &builder, Location loc, ValueRange values) {
  SmallVector<Value> parts;
  for (Value value : values) {
    if (!isComplex(value)) {
      parts.push_back(value);
      continue;
    }
    parts.push_back(RealOp::create(builder, loc, partOf(value), value));
    parts.push_back(ImagOp::create(builder, loc, partOf(value), value));
  }
  return parts;
}

/// `together` is the number of arguments per operand: the real parts precede the imaginary
/// parts.
static void splitArguments(Block &block, Location loc, unsigned together) {
  OpBuilder builder = OpBuilder::atBlockBegin(&block);
  for (unsigned first = 0; first < block.getNumArguments();) {
    unsigned next = first + together;
    if (!isComplex(block.getArgument(first))) {
      first = next;
      continue;
    }
    for (unsigned i = first; i < first + together; ++i, ++next) {
      BlockArgument argument = block.getArgument(i);
      Type complexType = argument.getType(), part = partOf(argument);
      BlockArgument imaginary = block.insertArgument(next, part, argument.getLoc());
      argument.setType(part);
      auto joined = ComplexOp::create(builder, loc, complexType, argument, imaginary);
      argument.replaceAllUsesExcept(joined, joined);
    }
    first = next;
  }
}

static void split(Operation *op) {
  OpBuilder builder(op);
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(splitAll(builder, op->getLoc(), op->getOperands()));
  for (Value result : op->getResults())
    state.types.append(isComplex(result) ? 2 : 1,
                       isComplex(result) ? partOf(result) : result.getType());
  state.addAttributes(op->getAttrs());
  for (Region &region : op->getRegions())
    state.addRegion()->takeBody(region);
  Operation *parts = builder.create(state);
  for (Region &region : parts->getRegions()) {
    Block &block = region.front();
    splitArguments(block, op->getLoc(), isa<SortOp>(op) ? 2 : 1);
    Operation *end = block.getTerminator();
    OpBuilder atEnd(end);
    end->setOperands(splitAll(atEnd, op->getLoc(), end->getOperands()));
  }
  ResultRange::iterator next = parts->result_begin();
  for (Value result : op->getResults()) {
    Value value = *next++;
    if (isComplex(result))
      value = ComplexOp::create(builder, op->getLoc(), result.getType(), value, *next++);
    result.replaceAllUsesWith(value);
  }
  op->erase();
}

bool mlir::st::hasSeparateParts(Operation *op) {
  if (!isa<ReduceOp, ReduceWindowOp, ScatterOp>(op) || op->getNumResults() != 1)
    return false;
  Block &body = op->getRegion(0).front();
  Value yielded = body.getTerminator()->getOperand(0);
  Operation *combiner = yielded.getDefiningOp();
  if (!combiner)
    return isa<ScatterOp>(op) && yielded == body.getArgument(1);
  return isa<AddOp>(combiner) && combiner == &body.front();
}

void mlir::st::splitComplexRegions(func::FuncOp function) {
  SmallVector<Operation *> ops;
  function.walk([&](Operation *op) {
    bool isCombining = isa<ReduceOp, ReduceWindowOp, ScatterOp, SortOp>(op);
    if ((isa<WhileOp, IfOp, CaseOp, OptimizationBarrierOp>(op) ||
         (isCombining && !hasSeparateParts(op))) &&
        (llvm::any_of(op->getOperands(), isComplex) || llvm::any_of(op->getResults(), isComplex)))
      ops.push_back(op);
  });
  for (Operation *op : ops)
    split(op);
}
