#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Evaluation/OpHandlers.h"
#include "lib/Reference/Evaluation/RegionComputation.h"
#include "lib/Reference/Numerics/Indexing.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::st::ref {

using namespace stablehlo;

static IndexDims toIndexDims(GatherDimensionNumbersAttr dims) {
  return {dims.getOffsetDims(),          dims.getCollapsedSliceDims(),
          dims.getOperandBatchingDims(), dims.getStartIndicesBatchingDims(),
          dims.getStartIndexMap(),       dims.getIndexVectorDim()};
}

static IndexDims toIndexDims(ScatterDimensionNumbersAttr dims) {
  return {dims.getUpdateWindowDims(),         dims.getInsertedWindowDims(),
          dims.getInputBatchingDims(),        dims.getScatterIndicesBatchingDims(),
          dims.getScatterDimsToOperandDims(), dims.getIndexVectorDim()};
}

static Outcome evalGather(TensorCall &call, GatherOp op) {
  return call.finish(gather(call.operands[0], call.operands[1],
                            toIndexDims(op.getDimensionNumbers()), op.getSliceSizes(),
                            call.resultShape()));
}

static Outcome evalScatter(TensorCall &call, ScatterOp op) {
  size_t count = op.getInputs().size();
  RegionComputation body(call.evaluator, call.rank, op.getUpdateComputation());
  bool ok = scatter(call.operands.take_front(count), call.operands[count],
                    call.operands.drop_front(count + 1),
                    toIndexDims(op.getScatterDimensionNumbers()), body, call.results);
  return ok ? Outcome::Done : Outcome::Failed;
}

static Outcome evalSort(TensorCall &call, SortOp op) {
  int64_t dim = static_cast<int64_t>(op.getDimension()), rank = call.operands[0].getRank();
  RegionComputation comparator(call.evaluator, call.rank, op.getComparator());
  bool ok = sort(call.operands, dim < 0 ? dim + rank : dim, comparator, call.results);
  return ok ? Outcome::Done : Outcome::Failed;
}

static Outcome evalTopK(TensorCall &call, chlo::TopKOp op) {
  call.results.resize(2);
  topK(call.operands[0], static_cast<int64_t>(op.getK()), call.results[0], call.results[1]);
  return Outcome::Done;
}

Outcome evalIndexing(TensorCall &call) {
  return llvm::TypeSwitch<Operation *, Outcome>(&call.op)
      .Case<GatherOp>([&](GatherOp op) { return evalGather(call, op); })
      .Case<ScatterOp>([&](ScatterOp op) { return evalScatter(call, op); })
      .Case<SortOp>([&](SortOp op) { return evalSort(call, op); })
      .Case<chlo::TopKOp>([&](chlo::TopKOp op) { return evalTopK(call, op); })
      .Default(Outcome::Unknown);
}

} // namespace mlir::st::ref
