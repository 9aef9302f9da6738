// The pass lower-loops: loops of tensor programs become loops of tasks.

#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/CountedLoop.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Kernels/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_LOWERLOOPS
#include "passes/Kernels/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
struct LowerLoops : mlir::st::impl::LowerLoopsBase<LowerLoops> {
  void runOnOperation() override;
};

/// Turns one loop into an st.loop.
class LoopLowering {
public:
  LoopLowering(stablehlo::WhileOp loop, SymbolTable &symbols)
      : loop(loop), symbols(symbols), counted(findCountedLoop(loop)) {}

  LogicalResult run();

private:
  stablehlo::WhileOp loop;
  SymbolTable &symbols;
  std::optional<CountedLoop> counted;
  SmallVector<unsigned> carried;          ///< operands that trips change
  SmallVector<unsigned> same;             ///< loop-invariant operands
  SmallVector<Value> captures;            ///< `same`, then values from outside
  SmallVector<FlatSymbolRefAttr> buffers; ///< of `carried`
  FlatSymbolRefAttr predicate;

  FlatSymbolRefAttr addBuffer(Type type);
  LogicalResult findCaptures();
  Value evaluateCondition(OpBuilder &builder, ValueRange values, IRMapping mapping);
  void fillBody(LoopOp lowered);
  Value separate(OpBuilder &builder, Value value, unsigned target);
};
} // namespace

FlatSymbolRefAttr LoopLowering::addBuffer(Type type) {
  auto program = loop->getParentOfType<ProgramOp>();
  OpBuilder builder = OpBuilder::atBlockBegin(&program.getBody().front());
  auto buffer = BufferOp::create(builder, loop.getLoc(), builder.getStringAttr("loop"),
                                 builder.getStringAttr("step"), builder.getI64IntegerAttr(1),
                                 TypeAttr::get(type), AddressAttr(), StringAttr());
  return FlatSymbolRefAttr::get(symbols.insert(buffer));
}

/// Finds values that the regions use from outside: constants are cloned, others captured.
LogicalResult LoopLowering::findCaptures() {
  for (auto [index, operand] : llvm::enumerate(loop->getOperands()))
    (isInvariant(loop, index) ? same : carried).push_back(index);
  for (unsigned index : same)
    captures.push_back(loop->getOperand(index));
  SetVector<Value> outside;
  for (Region &region : loop->getRegions())
    getUsedValuesDefinedAbove(region, outside);
  for (Value value : outside) {
    if (!isa<RankedTensorType>(value.getType()))
      return loop.emitOpError("with collectives or rank-dependent ops in it has no kernel");
    captures.push_back(value);
  }
  return success();
}

/// Clones the condition for the values of the loop's operands.
Value LoopLowering::evaluateCondition(OpBuilder &builder, ValueRange values, IRMapping mapping) {
  Block &block = loop.getCond().front();
  mapping.map(block.getArguments(), values);
  for (Operation &op : block.without_terminator())
    builder.clone(op, mapping);
  return mapping.lookupOrDefault(block.getTerminator()->getOperand(0));
}

/// Copies a value that the trip has read from another buffer than it writes to, since an earlier
/// write of the same trip may overwrite that buffer.
Value LoopLowering::separate(OpBuilder &builder, Value value, unsigned target) {
  Value root = value;
  while (auto reshape = root.getDefiningOp<stablehlo::ReshapeOp>())
    root = reshape.getOperand();
  auto read = root.getDefiningOp<ReadOp>();
  if (!read || read.getSourceAttr() == buffers[target])
    return value;
  auto kernel = KernelOp::create(builder, loop.getLoc(), TypeRange(value.getType()),
                                 builder.getStringAttr("copy"), ValueRange(value));
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&kernel.getBody(), {}, {value.getType()}, {loop.getLoc()});
  YieldOp::create(builder, loop.getLoc(), body->getArgument(0));
  return kernel.getResult(0);
}

void LoopLowering::fillBody(LoopOp lowered) {
  Location loc = loop.getLoc();
  OpBuilder builder(lowered.getContext());
  builder.createBlock(&lowered.getBody());
  IRMapping outside;
  SmallVector<Value> values(loop->getNumOperands());
  for (auto [index, captured] : llvm::enumerate(captures)) {
    Value value = CaptureOp::create(builder, loc, captured.getType(), static_cast<uint64_t>(index));
    if (index < same.size())
      values[same[index]] = value;
    else
      outside.map(captured, value);
  }
  for (auto [index, buffer] : llvm::zip_equal(carried, buffers))
    values[index] =
        ReadOp::create(builder, loc, loop->getOperand(index).getType(), buffer, Value());
  IRMapping mapping = outside;
  Block &block = loop.getBody().front();
  mapping.map(block.getArguments(), values);
  for (Operation &op : block.without_terminator())
    builder.clone(op, mapping);
  SmallVector<Value> next = values;
  for (unsigned index : carried)
    next[index] = mapping.lookupOrDefault(block.getTerminator()->getOperand(index));
  Value again = predicate ? evaluateCondition(builder, next, outside) : Value();
  for (auto [number, index] : llvm::enumerate(carried))
    next[index] = separate(builder, next[index], number);
  for (auto [index, buffer] : llvm::zip_equal(carried, buffers))
    WriteOp::create(builder, loc, next[index], buffer, Value(), ReduceKindAttr());
  if (again)
    WriteOp::create(builder, loc, again, predicate, Value(), ReduceKindAttr());
}

LogicalResult LoopLowering::run() {
  if (failed(findCaptures()))
    return failure();
  OpBuilder builder(loop);
  SmallVector<Value> inits;
  SmallVector<Type> types;
  for (unsigned index : carried) {
    inits.push_back(loop->getOperand(index));
    types.push_back(inits.back().getType());
    buffers.push_back(addBuffer(types.back()));
  }
  Value condition;
  if (!counted) {
    condition = evaluateCondition(builder, loop->getOperands(), IRMapping());
    predicate = addBuffer(condition.getType());
  }
  SmallVector<Attribute> names(buffers.begin(), buffers.end());
  auto lowered = LoopOp::create(builder, loop.getLoc(), types,
                                counted ? builder.getI64IntegerAttr(counted->trips) : IntegerAttr(),
                                predicate, condition, builder.getArrayAttr(names), inits, captures);
  fillBody(lowered);
  for (auto [number, index] : llvm::enumerate(carried))
    loop->getResult(index).replaceAllUsesWith(lowered.getResult(number));
  for (unsigned index : same)
    loop->getResult(index).replaceAllUsesWith(loop->getOperand(index));
  loop->erase();
  return success();
}

void LowerLoops::runOnOperation() {
  for (auto program : getOperation().getOps<ProgramOp>()) {
    SymbolTable symbols(program);
    // Outer loops first, because their bodies become separate tasks.
    while (true) {
      stablehlo::WhileOp next;
      program.walk<WalkOrder::PreOrder>([&](stablehlo::WhileOp loop) {
        next = loop;
        return WalkResult::interrupt();
      });
      if (!next)
        break;
      if (failed(LoopLowering(next, symbols).run()))
        return signalPassFailure();
      ++numLoops;
    }
  }
}
