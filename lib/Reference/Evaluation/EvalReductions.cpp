#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Evaluation/OpHandlers.h"
#include "lib/Reference/Evaluation/RegionComputation.h"
#include "lib/Reference/Numerics/Reductions.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::st::ref {

using namespace stablehlo;

static void setPadding(Window &window, std::optional<DenseIntElementsAttr> padding, size_t rank) {
  window.padLow.assign(rank, 0);
  window.padHigh.assign(rank, 0);
  if (padding)
    for (auto [i, value] : llvm::enumerate(padding->getValues<int64_t>()))
      (i % 2 == 0 ? window.padLow : window.padHigh)[i / 2] = value;
}

static Outcome evalReduce(TensorCall &call, ReduceOp op) {
  size_t count = op.getInputs().size();
  RegionComputation body(call.evaluator, call.rank, op.getBody());
  bool ok = reduce(call.operands.take_front(count), call.operands.drop_front(count),
                   op.getDimensions(), body, call.results);
  return ok ? Outcome::Done : Outcome::Failed;
}

static Outcome evalReduceWindow(TensorCall &call, ReduceWindowOp op) {
  size_t count = op.getInputs().size(), rank = op.getWindowDimensions().size();
  Window window;
  window.size.assign(op.getWindowDimensions().begin(), op.getWindowDimensions().end());
  window.strides = orOnes(op.getWindowStrides(), rank);
  window.baseDilations = orOnes(op.getBaseDilations(), rank);
  window.windowDilations = orOnes(op.getWindowDilations(), rank);
  setPadding(window, op.getPadding(), rank);
  RegionComputation body(call.evaluator, call.rank, op.getBody());
  bool ok = reduceWindow(call.operands.take_front(count), call.operands.drop_front(count), window,
                         body, call.results);
  return ok ? Outcome::Done : Outcome::Failed;
}

static Outcome evalSelectAndScatter(TensorCall &call, SelectAndScatterOp op) {
  size_t rank = static_cast<size_t>(call.operands[0].getRank());
  Window window;
  window.size = orOnes(op.getWindowDimensions(), rank);
  window.strides = orOnes(op.getWindowStrides(), rank);
  window.baseDilations = window.windowDilations = Shape(rank, 1);
  setPadding(window, op.getPadding(), rank);
  RegionComputation selects(call.evaluator, call.rank, op.getSelect());
  RegionComputation scatter(call.evaluator, call.rank, op.getScatter());
  bool ok = selectAndScatter(call.operands[0], call.operands[1], call.operands[2], window, selects,
                             scatter, call.results.emplace_back());
  return ok ? Outcome::Done : Outcome::Failed;
}

static Outcome evalMap(TensorCall &call, MapOp op) {
  RegionComputation body(call.evaluator, call.rank, op.getComputation());
  return body.apply(call.operands, call.results) ? Outcome::Done : Outcome::Failed;
}

Outcome evalReduction(TensorCall &call) {
  return llvm::TypeSwitch<Operation *, Outcome>(&call.op)
      .Case<ReduceOp>([&](ReduceOp op) { return evalReduce(call, op); })
      .Case<ReduceWindowOp>([&](ReduceWindowOp op) { return evalReduceWindow(call, op); })
      .Case<SelectAndScatterOp>(
          [&](SelectAndScatterOp op) { return evalSelectAndScatter(call, op); })
      .Case<MapOp>([&](MapOp op) { return evalMap(call, op); })
      .Default(Outcome::Unknown);
}

} // namespace mlir::st::ref
