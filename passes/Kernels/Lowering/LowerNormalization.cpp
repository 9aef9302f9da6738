// Batch normalization as arithmetic, in f32 or f64.

#include "passes/Kernels/Lowering/LowerTensorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::st;

namespace {
/// Converts between tensors of the operand's shape and per-feature vectors.
class Features {
public:
  Features(Emitter &emit, Value operand, uint64_t feature, const APFloat &epsilon)
      : emit(emit), type(Emitter::typeOf(operand)), feature(static_cast<int64_t>(feature)),
        epsilon(epsilon.convertToFloat()) {
    MLIRContext *context = type.getContext();
    element = type.getElementType();
    wideElement =
        element.isF64() ? Type(Float64Type::get(context)) : Type(Float32Type::get(context));
  }

  Value wide(Value x) { return emit.convert(x, wideElement); }
  Value narrow(Value x) { return emit.convert(x, element); }
  Value spread(Value perFeature) { return emit.broadcast(perFeature, {feature}, type.getShape()); }
  Value sum(Value x) { return emit.reduceAdd(x, remainingDims(type.getRank(), {feature})); }
  Value mean(Value x) {
    double count = static_cast<double>(type.getNumElements()) /
                   static_cast<double>(std::max<int64_t>(type.getDimSize(feature), 1));
    Value total = sum(x);
    return emit.div(total, emit.splatLike(total, count));
  }
  Value deviation(Value variance) { return emit.sqrt(emit.offset(wide(variance), epsilon)); }
  Value normalized(Value operand, Value mean, Value variance) {
    Value centered = emit.sub(wide(operand), spread(wide(mean)));
    return emit.div(centered, spread(deviation(variance)));
  }
  Value scaled(Value normalized, Value scale, Value offset) {
    return narrow(emit.add(emit.mul(normalized, spread(wide(scale))), spread(wide(offset))));
  }

private:
  Emitter &emit;
  RankedTensorType type;
  int64_t feature;
  double epsilon;
  Type element, wideElement;
};
} // namespace

static SmallVector<Value> lowerTraining(Emitter &emit, stablehlo::BatchNormTrainingOp op) {
  Features features(emit, op.getOperand(), op.getFeatureIndex(), op.getEpsilon());
  Value operand = features.wide(op.getOperand()), mean = features.mean(operand);
  Value centered = emit.sub(operand, features.spread(mean));
  Value variance = features.mean(emit.mul(centered, centered));
  // The op returns the statistics that it uses.
  Value outMean = features.narrow(mean), outVariance = features.narrow(variance);
  Value normalized = features.normalized(op.getOperand(), outMean, outVariance);
  return {features.scaled(normalized, op.getScale(), op.getOffset()), outMean, outVariance};
}

static SmallVector<Value> lowerGradient(Emitter &emit, stablehlo::BatchNormGradOp op) {
  Features features(emit, op.getOperand(), op.getFeatureIndex(), op.getEpsilon());
  Value dy = features.wide(op.getGradOutput());
  Value normalized = features.normalized(op.getOperand(), op.getMean(), op.getVariance());
  Value along = emit.mul(dy, normalized);
  // Subtracts the gradient's contributions through the mean and the variance.
  Value free = emit.sub(emit.sub(dy, features.spread(features.mean(dy))),
                        emit.mul(normalized, features.spread(features.mean(along))));
  Value factor = emit.div(features.wide(op.getScale()), features.deviation(op.getVariance()));
  return {features.narrow(emit.mul(features.spread(factor), free)),
          features.narrow(features.sum(along)), features.narrow(features.sum(dy))};
}

Replacement mlir::st::lowerBatchNorm(Emitter &emit, Operation *op) {
  if (Emitter::typeOf(op->getOperand(0)).getNumElements() == 0)
    return std::nullopt;
  return TypeSwitch<Operation *, Replacement>(op)
      .Case([&](stablehlo::BatchNormTrainingOp norm) { return lowerTraining(emit, norm); })
      .Case([&](stablehlo::BatchNormGradOp norm) { return lowerGradient(emit, norm); })
      .Case([&](stablehlo::BatchNormInferenceOp norm) {
        Features features(emit, norm.getOperand(), norm.getFeatureIndex(), norm.getEpsilon());
        Value normalized =
            features.normalized(norm.getOperand(), norm.getMean(), norm.getVariance());
        return SmallVector<Value>{features.scaled(normalized, norm.getScale(), norm.getOffset())};
      })
      .Default([](Operation *) { return std::nullopt; });
}
