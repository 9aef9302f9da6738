#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Contraction.h"
#include "lib/Reference/OpHandlers.h"

namespace mlir::st::ref {

using namespace stablehlo;

static Outcome evalDotGeneral(TensorCall &call, DotGeneralOp op) {
  DotDimensionNumbersAttr dims = op.getDotDimensionNumbers();
  DotDims kernelDims{dims.getLhsBatchingDimensions(), dims.getRhsBatchingDimensions(),
                     dims.getLhsContractingDimensions(), dims.getRhsContractingDimensions()};
  return call.finish(dotGeneral(call.operands[0], call.operands[1], kernelDims, call.resultType()));
}

Outcome evalContraction(TensorCall &call) {
  return llvm::TypeSwitch<Operation *, Outcome>(&call.op)
      .Case<DotGeneralOp>([&](DotGeneralOp op) { return evalDotGeneral(call, op); })
      .Default(Outcome::Unknown);
}

} // namespace mlir::st::ref
