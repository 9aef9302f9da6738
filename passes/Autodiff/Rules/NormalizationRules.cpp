//===- NormalizationRules.cpp - Gradients of batch normalization ----------===//
//
// y = scale (x - mean) / sqrt(variance + epsilon) + offset, for each feature, after Ioffe
// and Szegedy, "Batch Normalization" (2015).
//
//===----------------------------------------------------------------------===//

#include "passes/Autodiff/Rules/GradientRules.h"
#include "passes/Autodiff/Rules/RuleUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

/// In training, the statistics are results as well and may have cotangents.
static LogicalResult trainingRule(BatchNormTrainingOp op, ArrayRef<Value> cts, Gradients &g) {
  Emitter &emit = g.emit;
  Value x = op.getOperand(), mean = op.getBatchMean();
  ArrayRef<int64_t> shape = Emitter::shapeOf(x);
  int64_t feature = op.getFeatureIndex();
  if (isEmpty(x)) {
    for (Value operand : op->getOperands())
      g.add(operand, [&] { return emit.zerosLike(operand); });
    return success();
  }
  if (Value ct = cts[0]) {
    auto grad = BatchNormGradOp::create(
        emit.builder, emit.loc, TypeRange{x.getType(), mean.getType(), mean.getType()}, x,
        op.getScale(), mean, op.getBatchVar(), ct, op.getEpsilonAttr(), op.getFeatureIndexAttr());
    for (auto [operand, part] : llvm::zip_equal(op->getOperands(), grad.getResults()))
      g.add(operand, part);
  }
  double count = static_cast<double>(Emitter::typeOf(x).getNumElements()) /
                 static_cast<double>(shape[feature]);
  auto spread = [&](Value statistic) { return emit.broadcast(statistic, {feature}, shape); };
  if (cts[1])
    g.add(x, [&] { return spread(emit.scale(cts[1], 1 / count)); });
  if (cts[2])
    g.add(x, [&] {
      return emit.mul(emit.sub(x, spread(mean)), spread(emit.scale(cts[2], 2 / count)));
    });
  return success();
}

static void inferenceRule(BatchNormInferenceOp op, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  Value x = op.getOperand(), scale = op.getScale();
  ArrayRef<int64_t> shape = Emitter::shapeOf(x);
  int64_t feature = op.getFeatureIndex();
  SmallVector<int64_t> others = remainingDims(shape.size(), {feature});
  auto spread = [&](Value statistic) { return emit.broadcast(statistic, {feature}, shape); };
  Value inverse = emit.rsqrt(emit.offset(op.getVariance(), op.getEpsilon().convertToFloat()));
  Value slope = emit.mul(scale, inverse);
  Value centered = emit.sub(x, spread(op.getMean()));
  Value correlation = emit.reduceAdd(emit.mul(ct, centered), others);
  Value total = emit.reduceAdd(ct, others);
  g.add(x, [&] { return emit.mul(ct, spread(slope)); });
  g.add(scale, [&] { return emit.mul(correlation, inverse); });
  g.add(op.getOffset(), total);
  g.add(op.getMean(), [&] { return emit.neg(emit.mul(total, slope)); });
  g.add(op.getVariance(), [&] {
    Value cubed = emit.mul(slope, emit.mul(inverse, inverse));
    return emit.scale(emit.mul(correlation, cubed), -0.5);
  });
}

void st::populateNormalizationRules(GradientRules &rules) {
  rules.addChecked<BatchNormTrainingOp>(trainingRule);
  rules.add<BatchNormInferenceOp>(inferenceRule);
}
