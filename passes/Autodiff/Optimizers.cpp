#include "passes/Autodiff/Optimizers.h"
#include "passes/Autodiff/OptimizerMoments.h"

#include <cmath>
#include <map>

using namespace mlir;
using namespace mlir::st;

using Direction = stablehlo::ComparisonDirection;

static SmallVector<int64_t> allDims(Value x) {
  return remainingDims(Emitter::typeOf(x).getRank(), {});
}

namespace {
/// Shared parts of all optimizers.
class BaseOptimizer : public Optimizer {
public:
  BaseOptimizer(Emitter &emit, const AddOptimizerOptions &options, StateSource &source)
      : emit(emit), options(options), moments(emit, options, source), source(source) {}

protected:
  /// Broadcasts a scalar to the shape of `like`.
  Value full(Value scalar, Value like) { return emit.broadcast(scalar, {}, emit.shapeOf(like)); }
  Value scalar(double value) {
    return emit.splat(RankedTensorType::get({}, emit.builder.getF32Type()), value);
  }
  /// 1 - decay^step, exact even if decay^step is close to one.
  Value biasCorrection(Value step, double decay) {
    if (decay == 0.0)
      return emit.splatLike(step, 1.0);
    return emit.neg(emit.expm1(emit.scale(step, std::log(decay))));
  }
  /// 1 - rate * decay, one scalar for all parameters with this decay.
  Value decayFactor(double decay) {
    Value &factor = decayFactors[decay];
    if (!factor)
      factor = emit.sub(scalar(1.0), emit.scale(learningRate, decay));
    return factor;
  }
  Value decayed(Value parameter, double decay) {
    return decay == 0.0 ? parameter : emit.mul(parameter, full(decayFactor(decay), parameter));
  }
  Value sumOfSquares(Value x) { return emit.reduceAdd(emit.mul(x, x), allDims(x)); }
  Value rootMeanSquare(Value x) {
    return emit.sqrt(emit.scale(sumOfSquares(x), 1.0 / emit.typeOf(x).getNumElements()));
  }

  Emitter &emit;
  const AddOptimizerOptions &options;
  OptimizerMoments moments;
  StateSource &source;
  Value learningRate;

private:
  std::map<double, Value> decayFactors;
};

//===----------------------------------------------------------------------===//
// Adam
//===----------------------------------------------------------------------===//

/// Like torch.optim.AdamW and torch.optim.Adam.
class Adam : public BaseOptimizer {
public:
  using BaseOptimizer::BaseOptimizer;

  void prepare(Value rate, Value step) override {
    learningRate = rate;
    if (options.kind == OptimizerKind::AdamW && options.weightDecay != 0.0)
      decayFactor(options.weightDecay);
    stepSize = emit.div(learningRate, biasCorrection(step, options.beta1));
    inverseRootCorrection = emit.div(scalar(1.0), emit.sqrt(biasCorrection(step, options.beta2)));
  }

  Value update(const ParameterUpdate &update) override {
    Value parameter = update.parameter, gradient = update.gradient;
    const bool isCoupled = options.kind == OptimizerKind::Adam;
    if (isCoupled && update.weightDecay != 0.0)
      gradient = emit.add(gradient, emit.scale(parameter, update.weightDecay));
    Value direction = adamDirection(update, gradient);
    if (!isCoupled)
      parameter = decayed(parameter, update.weightDecay);
    return emit.sub(parameter, emit.mul(direction, full(stepSize, direction)));
  }

protected:
  /// The first moment divided by the corrected root of the second, both advanced by one step.
  Value adamDirection(const ParameterUpdate &update, Value gradient) {
    Moment first = moments.add(update, ".exp_avg", /*isSigned=*/true);
    Moment second = moments.add(update, ".exp_avg_sq", /*isSigned=*/false);
    Value newFirst =
        emit.add(first.value, emit.scale(emit.sub(gradient, first.value), 1.0 - options.beta1));
    Value newSecond = emit.add(emit.scale(second.value, options.beta2),
                               emit.scale(emit.mul(gradient, gradient), 1.0 - options.beta2));
    Value root = emit.mul(emit.sqrt(newSecond), full(inverseRootCorrection, newSecond));
    Value direction = emit.div(newFirst, emit.offset(root, options.epsilon));
    moments.set(first, newFirst);
    moments.set(second, newSecond);
    return direction;
  }

  Value stepSize, inverseRootCorrection;
};

/// You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes" (arXiv
/// 1904.00962), like optax.lamb: Adam's direction with decoupled decay, scaled to the norm of the
/// parameter.
class Lamb : public Adam {
public:
  using Adam::Adam;

  void prepare(Value rate, Value step) override {
    learningRate = rate;
    inverseCorrection = emit.div(scalar(1.0), biasCorrection(step, options.beta1));
    inverseRootCorrection = emit.div(scalar(1.0), emit.sqrt(biasCorrection(step, options.beta2)));
  }

  Value update(const ParameterUpdate &update) override {
    Value parameter = update.parameter;
    Value direction = adamDirection(update, update.gradient);
    direction = emit.mul(direction, full(inverseCorrection, direction));
    if (update.weightDecay != 0.0)
      direction = emit.add(direction, emit.scale(parameter, update.weightDecay));
    // For a zero parameter or direction the scale is the rate.
    Value length = emit.sqrt(sumOfSquares(parameter)), move = emit.sqrt(sumOfSquares(direction));
    Value zero = emit.zerosLike(length), one = emit.splatLike(length, 1.0);
    Value hasRatio = emit.bitAnd(emit.compare(Direction::GT, length, zero),
                                 emit.compare(Direction::GT, move, zero));
    Value ratio = emit.select(hasRatio, emit.div(length, move), one);
    Value size = emit.mul(learningRate, ratio);
    return emit.sub(parameter, emit.mul(direction, full(size, direction)));
  }

private:
  Value inverseCorrection;
};

//===----------------------------------------------------------------------===//
// Gradient descent
//===----------------------------------------------------------------------===//

/// Like torch.optim.SGD, and like optax.sgd without decay.
class Sgd : public BaseOptimizer {
public:
  using BaseOptimizer::BaseOptimizer;

  bool readsStep() const override { return false; }
  void prepare(Value rate, Value) override { learningRate = rate; }

  Value update(const ParameterUpdate &update) override {
    Value gradient = update.gradient;
    if (update.weightDecay != 0.0)
      gradient = emit.add(gradient, emit.scale(update.parameter, update.weightDecay));
    if (options.momentum != 0.0) {
      Moment velocity = moments.add(update, ".momentum", /*isSigned=*/true);
      gradient = emit.add(emit.scale(velocity.value, options.momentum), gradient);
      moments.set(velocity, gradient);
    }
    return emit.sub(update.parameter, emit.mul(gradient, full(learningRate, gradient)));
  }
};

//===----------------------------------------------------------------------===//
// Adafactor
//===----------------------------------------------------------------------===//

/// Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost" (arXiv
/// 1804.04235), like optax.adafactor without momentum. Weight decay is decoupled and multiplied by
/// the rate, as in AdamW; optax does not multiply it by the rate.
class Adafactor : public BaseOptimizer {
public:
  using BaseOptimizer::BaseOptimizer;

  void prepare(Value rate, Value step) override {
    learningRate = rate;
    fresh = emit.exp(emit.scale(emit.log(step), -options.decayRate));
    kept = emit.sub(scalar(1.0), fresh);
  }

  Value update(const ParameterUpdate &update) override {
    Value direction = emit.mul(update.gradient, inverseRoot(update));
    if (options.clippingThreshold != 0.0) {
      Value excess = emit.scale(rootMeanSquare(direction), 1.0 / options.clippingThreshold);
      Value divisor = emit.max(excess, scalar(1.0));
      direction = emit.div(direction, full(divisor, direction));
    }
    // Steps are relative to the RMS of the parameter, which counts as at least 1e-3.
    Value size = emit.mul(learningRate, emit.max(rootMeanSquare(update.parameter), scalar(1e-3)));
    return emit.sub(decayed(update.parameter, update.weightDecay),
                    emit.mul(direction, full(size, direction)));
  }

private:
  /// kept * before + fresh * now
  Value average(Value before, Value now) {
    return emit.add(emit.mul(before, full(kept, before)), emit.mul(now, full(fresh, now)));
  }
  Value moveOn(const ParameterUpdate &update, StringRef suffix, Value now) {
    Value state = source.addState(update.name, suffix, emit.typeOf(now));
    Value moved = average(state, now);
    source.setState(state, moved);
    return moved;
  }
  Value mean(Value x, int64_t dim) {
    return emit.scale(emit.reduceAdd(x, {dim}), 1.0 / emit.typeOf(x).getDimSize(dim));
  }

  /// The inverse root of the second moment. For a large matrix, the moment is the product of its
  /// row means and column means; the matrix dimensions are the two largest ones.
  Value inverseRoot(const ParameterUpdate &update) {
    ArrayRef<int64_t> shape = emit.shapeOf(update.gradient);
    Value squares = emit.offset(emit.mul(update.gradient, update.gradient), options.epsilon);
    SmallVector<int64_t> bySize = allDims(update.gradient);
    llvm::sort(bySize, [&](int64_t a, int64_t b) {
      return std::pair(shape[a], a) < std::pair(shape[b], b);
    });
    if (shape.size() < 2 || shape[bySize[shape.size() - 2]] < options.minFactoredSize)
      return emit.rsqrt(moveOn(update, ".exp_avg_sq", squares));
    const int64_t largest = bySize.back(), second = bySize[shape.size() - 2];
    Value rows = moveOn(update, ".exp_avg_sq_row", mean(squares, largest));
    Value columns = moveOn(update, ".exp_avg_sq_col", mean(squares, second));
    const int64_t dim = second - (second > largest ? 1 : 0);
    Value rowMean = mean(rows, dim);
    const int64_t rank = emit.typeOf(rows).getRank();
    rows = emit.div(rows, emit.broadcast(rowMean, remainingDims(rank, {dim}), emit.shapeOf(rows)));
    return emit.mul(
        emit.broadcast(emit.rsqrt(rows), remainingDims(shape.size(), {largest}), shape),
        emit.broadcast(emit.rsqrt(columns), remainingDims(shape.size(), {second}), shape));
  }

  Value kept, fresh;
};
} // namespace

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

std::unique_ptr<Optimizer>
mlir::st::createOptimizer(Emitter &emit, const AddOptimizerOptions &options, StateSource &source) {
  switch (options.kind) {
  case OptimizerKind::AdamW:
  case OptimizerKind::Adam:
    return std::make_unique<Adam>(emit, options, source);
  case OptimizerKind::Sgd:
    return std::make_unique<Sgd>(emit, options, source);
  case OptimizerKind::Lamb:
    return std::make_unique<Lamb>(emit, options, source);
  case OptimizerKind::Adafactor:
    return std::make_unique<Adafactor>(emit, options, source);
  }
  llvm_unreachable("unknown optimizer");
}

static StringRef stringify(OptimizerKind kind) {
  switch (kind) {
  case OptimizerKind::AdamW:
    return "adamw";
  case OptimizerKind::Adam:
    return "adam";
  case OptimizerKind::Sgd:
    return "sgd";
  case OptimizerKind::Lamb:
    return "lamb";
  case OptimizerKind::Adafactor:
    return "adafactor";
  }
  llvm_unreachable("unknown optimizer");
}

LogicalResult mlir::st::checkOptimizer(Operation *op, const AddOptimizerOptions &options) {
  auto check = [&](StringRef name, double value, double below) -> LogicalResult {
    if (value >= 0.0 && value < below)
      return success();
    auto error = op->emitError() << name << ": expected at least 0";
    if (std::isfinite(below))
      error << " and below " << below;
    return error << ", found " << value;
  };
  constexpr double any = std::numeric_limits<double>::infinity();
  if (options.stateBits != 8 && options.stateBits != 32)
    return op->emitError("state-bits: expected 8 or 32, found ") << options.stateBits;
  if (options.stateBits == 8 && options.kind == OptimizerKind::Adafactor)
    return op->emitError("state-bits: adafactor keeps its state in 32 bits, found 8");
  return success(succeeded(check("beta1", options.beta1, 1.0)) &&
                 succeeded(check("beta2", options.beta2, 1.0)) &&
                 succeeded(check("momentum", options.momentum, 1.0)) &&
                 succeeded(check("epsilon", options.epsilon, any)) &&
                 succeeded(check("weight-decay", options.weightDecay, any)) &&
                 succeeded(check("clip-norm", options.clipNorm, any)) &&
                 succeeded(check("decay-rate", options.decayRate, any)) &&
                 succeeded(check("clipping-threshold", options.clippingThreshold, any)));
}

DictionaryAttr mlir::st::describeOptimizer(Builder &builder, const AddOptimizerOptions &options) {
  SmallVector<NamedAttribute> fields;
  auto number = [&](StringRef name, double value) {
    fields.push_back(builder.getNamedAttr(name, builder.getF64FloatAttr(value)));
  };
  std::string kind = stringify(options.kind).str();
  if (options.stateBits == 8) {
    kind += "-8bit";
    number("min_8bit_size", options.min8BitSize);
  }
  fields.push_back(builder.getNamedAttr("kind", builder.getStringAttr(kind)));
  number("weight_decay", options.weightDecay);
  number("clip_norm", options.clipNorm);
  switch (options.kind) {
  case OptimizerKind::Sgd:
    number("momentum", options.momentum);
    break;
  case OptimizerKind::Adafactor:
    number("decay_rate", options.decayRate);
    number("clipping_threshold", options.clippingThreshold);
    number("min_factored_size", options.minFactoredSize);
    number("epsilon", options.epsilon);
    break;
  default:
    number("beta1", options.beta1);
    number("beta2", options.beta2);
    number("epsilon", options.epsilon);
  }
  return builder.getDictionaryAttr(fields);
}
