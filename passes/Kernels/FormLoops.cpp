#include "passes/Kernels/FormLoops.h"
#include "dialects/St/IR/StDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Kernels/Passes.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::st {
#define GEN_PASS_DEF_FORMLOOPS
#include "passes/Kernels/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

SmallVector<Value> mlir::st::emitLoop(Emitter &emit, int64_t trips, ValueRange inits,
                                      TripBuilder body) {
  OpBuilder &builder = emit.builder;
  auto counter = RankedTensorType::get({}, builder.getI32Type());
  SmallVector<Value> operands = {emit.splat(counter, 0)};
  llvm::append_range(operands, inits);
  SmallVector<Type> types = llvm::to_vector(ValueRange(operands).getTypes());
  SmallVector<Location> locs(types.size(), emit.loc);
  auto loop = stablehlo::WhileOp::create(builder, emit.loc, types, operands);
  OpBuilder::InsertionGuard guard(builder);
  Block *condition = builder.createBlock(&loop.getCond(), {}, types, locs);
  Emitter inCondition(builder, condition, emit.loc);
  Value again = inCondition.compare(stablehlo::ComparisonDirection::LT, condition->getArgument(0),
                                    inCondition.splat(counter, static_cast<double>(trips)));
  stablehlo::ReturnOp::create(builder, emit.loc, again);
  Block *block = builder.createBlock(&loop.getBody(), {}, types, locs);
  Emitter inBody(builder, block, emit.loc);
  SmallVector<Value> next = {inBody.offset(block->getArgument(0), 1)};
  llvm::append_range(next, body(inBody, block->getArgument(0), block->getArguments().drop_front()));
  stablehlo::ReturnOp::create(builder, emit.loc, next);
  return SmallVector<Value>(loop->getResults().drop_front());
}

namespace {
struct FormLoops : mlir::st::impl::FormLoopsBase<FormLoops> {
  void runOnOperation() override;
};
} // namespace

static std::optional<SmallVector<Value>> form(Emitter &emit, Operation *op) {
  auto single = [](Value value) {
    return value ? std::optional(SmallVector<Value>{value}) : std::nullopt;
  };
  return TypeSwitch<Operation *, std::optional<SmallVector<Value>>>(op)
      .Case([&](stablehlo::CholeskyOp factor) { return single(formCholeskyLoop(emit, factor)); })
      .Case([&](stablehlo::TriangularSolveOp solve) { return single(formSolveLoop(emit, solve)); })
      .Case([&](stablehlo::ScatterOp scatter) { return formScatterLoop(emit, scatter); })
      .Default([](Operation *) { return std::nullopt; });
}

void FormLoops::runOnOperation() {
  SmallVector<Operation *> ops;
  getOperation().walk([&](Operation *op) {
    if (isa<stablehlo::CholeskyOp, stablehlo::TriangularSolveOp, stablehlo::ScatterOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    OpBuilder builder(op);
    Emitter emit(builder, op->getBlock(), op->getLoc());
    auto replacement = form(emit, op);
    if (!replacement)
      continue;
    op->replaceAllUsesWith(*replacement);
    op->erase();
    ++numFormed;
  }
}
