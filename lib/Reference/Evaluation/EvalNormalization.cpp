#include "dialects/StableHLO/StableHLOOps.h"
#include "lib/Reference/Evaluation/OpHandlers.h"
#include "lib/Reference/Numerics/Normalization.h"

#include "llvm/ADT/TypeSwitch.h"

namespace mlir::st::ref {

using namespace stablehlo;

template <class OpTy> static BatchNorm getNorm(OpTy op) {
  return {static_cast<int64_t>(op.getFeatureIndex()), op.getEpsilon().convertToDouble()};
}

static Outcome evalTraining(TensorCall &call, BatchNormTrainingOp op) {
  BatchNorm norm = getNorm(op);
  Tensor mean, variance;
  batchStatistics(norm, call.operands[0], mean, variance);
  call.results.push_back(
      normalize(norm, call.operands[0], call.operands[1], call.operands[2], mean, variance));
  call.results.push_back(mean);
  call.results.push_back(variance);
  return Outcome::Done;
}

Outcome evalNormalization(TensorCall &call) {
  ArrayRef<Tensor> operands = call.operands;
  return llvm::TypeSwitch<Operation *, Outcome>(&call.op)
      .Case<BatchNormInferenceOp>([&](BatchNormInferenceOp op) {
        return call.finish(normalize(getNorm(op), operands[0], operands[1], operands[2],
                                     operands[3], operands[4]));
      })
      .Case<BatchNormTrainingOp>([&](BatchNormTrainingOp op) { return evalTraining(call, op); })
      .Case<BatchNormGradOp>([&](BatchNormGradOp op) {
        normalizeGradients(getNorm(op), operands[0], operands[1], operands[2], operands[3],
                           operands[4], call.results);
        return Outcome::Done;
      })
      .Default(Outcome::Unknown);
}

} // namespace mlir::st::ref
