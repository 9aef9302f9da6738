//===- AddOptimizer.cpp - Gradients into updates --------------------------===//

#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/Interfaces/Notes.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Autodiff/Optimizers.h"
#include "passes/Autodiff/Passes.h"
#include <cmath>
#include <limits>

namespace mlir::st {
#define GEN_PASS_DEF_ADDOPTIMIZER
#include "passes/Autodiff/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
/// A parameter, its gradient and its new value.
struct Update {
  unsigned argument;
  StringAttr name;
  double weightDecay;
  Value gradient;
  Value updated;
};

/// A tensor of optimizer state: its argument and its new value.
struct State {
  unsigned argument;
  Value updated;
};

/// Rewrites one @main.
class StepBuilder : public StateSource {
public:
  StepBuilder(func::FuncOp function, const AddOptimizerOptions &options)
      : function(function), options(options), signature(function),
        builder(OpBuilder::atBlockTerminator(&function.front())),
        emit(builder, &function.front(), builder.getUnknownLoc()),
        scaling(
            function->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(kLossScaleAttr)) {}

  LogicalResult collect();
  void unscale();
  void countZeros();
  void clip();
  void update();
  void finish();
  size_t count() const { return updates.size(); }

  Value addState(StringAttr parameter, StringRef suffix, RankedTensorType type) override {
    return addArgument(parameter.getValue() + suffix, "optimizer_state", type, parameter);
  }
  void setState(Value argument, Value updated) override {
    states.push_back({cast<BlockArgument>(argument).getArgNumber(), updated});
  }

private:
  BlockArgument addArgument(const Twine &name, StringRef role, RankedTensorType type,
                            StringAttr of = {});
  /// A scalar of optimizer state that belongs to no parameter.
  Value addCounter(StringRef name);
  bool isLossScale(unsigned argument);
  double weightDecayOf(unsigned argument);
  void prepareScalars();
  /// Updates a loss scale and its counters.
  void updateScale();
  void updateDynamicScale();
  Value full(Value scalar, Value like) { return emit.broadcast(scalar, {}, emit.shapeOf(like)); }
  NamedAttrList resultAttrs(Attribute name, StringRef role, Attribute of = {});

  func::FuncOp function;
  const AddOptimizerOptions &options;
  Signature signature;
  OpBuilder builder;
  Emitter emit;
  /// The scaling of the loss; null if there is none.
  DictionaryAttr scaling;
  SmallVector<Update> updates;
  SmallVector<State> states;
  /// The results to keep, by index.
  SmallVector<unsigned> keptResults;
  Value gradientNorm, zeros;
  /// The factor of the loss, or null if it is not scaled; a state if the scale is dynamic.
  Value lossScale;
  /// For a scaled loss: a predicate that all gradients are finite, and the number of skipped steps.
  Value isFinite, skippedSteps;
  std::unique_ptr<Optimizer> optimizer;
};
} // namespace

//===----------------------------------------------------------------------===//
// The signature
//===----------------------------------------------------------------------===//

/// The roles of arguments and results; empty if there is none.
static StringRef roleOf(Attribute role) {
  auto name = dyn_cast_or_null<StringAttr>(role);
  return name ? name.getValue() : "";
}

bool StepBuilder::isLossScale(unsigned argument) {
  auto name = function.getArgAttrOfType<StringAttr>(argument, kNameAttr);
  return scaling && name && name.getValue() == kLossScaleName;
}

double StepBuilder::weightDecayOf(unsigned argument) {
  if (auto given = function.getArgAttrOfType<FloatAttr>(argument, kWeightDecayAttr))
    return given.getValueAsDouble();
  return function.getArgAttr(argument, kNoDecayAttr) ? 0 : options.weightDecay;
}

LogicalResult StepBuilder::collect() {
  DenseMap<StringAttr, Value> gradients;
  Operation *end = function.front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    StringRef role = roleOf(function.getResultAttr(i, kRoleAttr));
    if (role == "gradient")
      gradients[function.getResultAttrOfType<StringAttr>(i, kNameAttr)] = end->getOperand(i);
    else
      keptResults.push_back(i);
  }
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    StringRef role = roleOf(function.getArgAttr(i, kRoleAttr));
    if (role == "optimizer_state" && isLossScale(i)) {
      lossScale = argument;
      continue;
    }
    // The forward pass itself replaces such a state, such as running statistics of a batch norm.
    if (role == "optimizer_state" && function.getArgAttr(i, "tf.aliasing_output"))
      continue;
    if (role == "optimizer_state")
      return function.emitOpError("already has optimizer state");
    if (role != "parameter" || function.getArgAttr(i, kFrozenAttr))
      continue;
    auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr);
    Value gradient = gradients.lookup(name);
    if (!gradient || gradient.getType() != argument.getType())
      return withNote(function.emitOpError("parameter ")
                          << name
                          << " has no result of role \"gradient\" and its type; run differentiate "
                             "first",
                      argument, "the parameter is here");
    if (!Emitter::typeOf(argument).getElementType().isF32())
      return withNote(function.emitOpError("expected parameter ")
                          << name << " to have f32 elements, found " << argument.getType(),
                      argument, "the parameter is here");
    updates.push_back({i, name, weightDecayOf(i), gradient, Value()});
  }
  if (updates.empty())
    return function.emitOpError("has no argument of role \"parameter\" that is not frozen");
  return success();
}

BlockArgument StepBuilder::addArgument(const Twine &name, StringRef role, RankedTensorType type,
                                       StringAttr of) {
  NamedAttrList attrs;
  attrs.set(kNameAttr, builder.getStringAttr(name));
  attrs.set(kRoleAttr, builder.getStringAttr(role));
  if (of)
    attrs.set(kOfAttr, of);
  if (role == "optimizer_state") {
    attrs.set(kInitAttr, builder.getDictionaryAttr(
                             builder.getNamedAttr("kind", builder.getStringAttr("zeros"))));
  }
  return signature.appendArgument(type, attrs, emit.loc);
}

Value StepBuilder::addCounter(StringRef name) {
  return addArgument(name, "optimizer_state", RankedTensorType::get({}, builder.getF32Type()));
}

NamedAttrList StepBuilder::resultAttrs(Attribute name, StringRef role, Attribute of) {
  NamedAttrList attrs;
  attrs.set(kNameAttr, name);
  attrs.set(kRoleAttr, builder.getStringAttr(role));
  if (of)
    attrs.set(kOfAttr, of);
  return attrs;
}

void StepBuilder::finish() {
  BitVector gone(function.getNumResults(), true);
  for (unsigned i : keptResults)
    gone.reset(i);
  signature.eraseResults(gone);
  if (gradientNorm)
    signature.appendResult(gradientNorm, resultAttrs(builder.getStringAttr("grad_norm"), "metric"));
  if (zeros)
    signature.appendResult(zeros, resultAttrs(builder.getStringAttr("num_zeros"), "metric"));
  // A metric that is a state reports the value that this step used.
  if (isa_and_nonnull<BlockArgument>(lossScale))
    signature.appendResult(lossScale, resultAttrs(builder.getStringAttr("loss_scale"), "metric"));
  // A donated argument names the result that replaces it.
  auto donate = [&](unsigned argument, Value updated, StringRef role) {
    signature.setArgumentAttr(argument, "tf.aliasing_output",
                              builder.getI32IntegerAttr(signature.getNumResults()));
    signature.appendResult(updated,
                           resultAttrs(signature.getArgumentAttr(argument, kNameAttr), role,
                                       signature.getArgumentAttr(argument, kOfAttr)));
  };
  for (const Update &update : updates)
    donate(update.argument, update.updated, "parameter");
  for (const State &state : states)
    donate(state.argument, state.updated, "optimizer_state");
  signature.write();
}

//===----------------------------------------------------------------------===//
// Loss scaling
//===----------------------------------------------------------------------===//

void StepBuilder::unscale() {
  if (!scaling)
    return;
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  if (auto fixed = scaling.getAs<FloatAttr>("scale"))
    lossScale = emit.splat(scalar, fixed.getValueAsDouble());
  auto locate = [&](StringRef name) {
    emit.loc = NameLoc::get(builder.getStringAttr("optimizer/scale/" + name));
  };
  locate("inverse");
  Value inverse = emit.div(emit.splat(scalar, 1.0), lossScale), count;
  for (Update &update : updates) {
    locate(update.name);
    Value gradient = update.gradient;
    Value finite = emit.compare(stablehlo::ComparisonDirection::LT, emit.abs(gradient),
                                emit.splatLike(gradient, std::numeric_limits<double>::infinity()));
    Value others = emit.select(finite, emit.zerosLike(gradient), emit.splatLike(gradient, 1.0));
    Value part = emit.reduceAdd(others, remainingDims(emit.typeOf(others).getRank(), {}));
    count = count ? emit.add(count, part) : part;
    update.gradient = emit.mul(gradient, full(inverse, gradient));
  }
  locate("is_finite");
  isFinite = emit.compare(stablehlo::ComparisonDirection::EQ, count, emit.zerosLike(count));
}

// A step whose gradients are not all finite leaves every state as it was.
void StepBuilder::updateScale() {
  if (!scaling)
    return;
  emit.loc = NameLoc::get(builder.getStringAttr("optimizer/scale"));
  for (Update &update : updates) {
    Value old = function.front().getArgument(update.argument);
    update.updated = emit.select(isFinite, update.updated, old);
  }
  for (State &state : states) {
    Value old = function.front().getArgument(state.argument);
    state.updated = emit.select(isFinite, state.updated, old);
  }
  Value zero = emit.zerosLike(lossScale), one = emit.splatLike(lossScale, 1.0);
  setState(skippedSteps, emit.add(skippedSteps, emit.select(isFinite, zero, one)));
  if (scaling.getAs<IntegerAttr>("growth_interval"))
    updateDynamicScale();
}

// Follows Megatron-LM's DynamicGradScaler (megatron/core/optimizer/grad_scaler.py); with a
// hysteresis of 1 it is torch.amp.GradScaler's.
void StepBuilder::updateDynamicScale() {
  auto countOf = [&](StringRef name) {
    return static_cast<double>(scaling.getAs<IntegerAttr>(name).getInt());
  };
  const double hysteresis = countOf("hysteresis");
  Value zero = emit.zerosLike(lossScale), one = emit.splatLike(lossScale, 1.0);
  Value goodSteps = addCounter("loss_scale.good_steps");
  Value counted = emit.select(isFinite, emit.add(goodSteps, one), zero);
  Value grows = emit.compare(stablehlo::ComparisonDirection::GE, counted,
                             emit.splatLike(counted, countOf("growth_interval")));
  Value doubled = emit.scale(lossScale, 2.0);
  // The scale stays within f32.
  Value canGrow = emit.compare(stablehlo::ComparisonDirection::LT, doubled,
                               emit.splatLike(doubled, std::numeric_limits<double>::infinity()));
  Value grown = emit.select(emit.bitAnd(grows, canGrow), doubled, lossScale);
  Value minimum =
      emit.splatLike(lossScale, scaling.getAs<FloatAttr>("min_scale").getValueAsDouble());
  Value fallen = emit.max(emit.scale(lossScale, 0.5), minimum);
  if (hysteresis > 1) {
    // The number of overflows since the scale last grew.
    Value overflows = addCounter("loss_scale.overflows");
    Value maximum = emit.splatLike(overflows, hysteresis);
    Value more = emit.min(emit.add(overflows, one), maximum);
    fallen = emit.select(emit.compare(stablehlo::ComparisonDirection::GE, more, maximum), fallen,
                         lossScale);
    setState(overflows, emit.select(isFinite, emit.select(grows, zero, overflows), more));
  }
  setState(lossScale, emit.select(isFinite, grown, fallen));
  setState(goodSteps, emit.select(grows, zero, counted));
}

//===----------------------------------------------------------------------===//
// Zeros
//===----------------------------------------------------------------------===//

// Clipping scales gradients, so that their zeros are counted before it.
void StepBuilder::countZeros() {
  if (!options.countZeros)
    return;
  for (const Update &update : updates) {
    emit.loc = NameLoc::get(builder.getStringAttr("optimizer/zeros/" + update.name.getValue()));
    Value gradient = update.gradient;
    Value isZero =
        emit.compare(stablehlo::ComparisonDirection::EQ, gradient, emit.zerosLike(gradient));
    Value part = emit.select(isZero, emit.splatLike(gradient, 1.0), emit.zerosLike(gradient));
    // Rows first: a sum of ones in f32 ends at 2^24.
    if (const int64_t rank = emit.typeOf(part).getRank(); rank > 1)
      part = emit.reduceAdd(part, {rank - 1});
    part = emit.reduceAdd(part, remainingDims(emit.typeOf(part).getRank(), {}));
    zeros = zeros ? emit.add(zeros, part) : part;
  }
}

//===----------------------------------------------------------------------===//
// Gradient clipping
//===----------------------------------------------------------------------===//

void StepBuilder::clip() {
  if (options.clipNorm == 0.0)
    return;
  auto locate = [&](StringRef name) {
    emit.loc = NameLoc::get(builder.getStringAttr("optimizer/clip/" + name));
  };
  // In parameter order, so that the sum has one order under any layout.
  Value sum;
  for (const Update &update : updates) {
    locate(update.name);
    Value squares = emit.mul(update.gradient, update.gradient);
    Value part = emit.reduceAdd(squares, remainingDims(emit.typeOf(squares).getRank(), {}));
    sum = sum ? emit.add(sum, part) : part;
  }
  // Like torch.nn.utils.clip_grad_norm_.
  locate("norm");
  gradientNorm = emit.sqrt(sum);
  Value ratio = emit.div(emit.splatLike(sum, options.clipNorm), emit.offset(gradientNorm, 1e-6));
  Value scale = emit.min(ratio, emit.splatLike(sum, 1.0));
  for (Update &update : updates) {
    locate(update.name);
    update.gradient = emit.mul(update.gradient, full(scale, update.gradient));
  }
}

//===----------------------------------------------------------------------===//
// Updates
//===----------------------------------------------------------------------===//

void StepBuilder::prepareScalars() {
  emit.loc = NameLoc::get(builder.getStringAttr("optimizer"));
  optimizer = createOptimizer(emit, options, *this);
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  Value learningRate = addArgument("learning_rate", "scalar", scalar), step;
  if (optimizer->readsStep())
    step = addArgument("step", "scalar", scalar);
  // Skipped steps count neither here nor in the host's schedule.
  if (scaling) {
    skippedSteps = addCounter(kSkippedStepsName);
    if (step)
      step = emit.sub(step, skippedSteps);
  }
  optimizer->prepare(learningRate, step);
}

void StepBuilder::update() {
  prepareScalars();
  for (Update &update : updates) {
    emit.loc = NameLoc::get(builder.getStringAttr("optimizer/" + update.name.getValue()));
    Value parameter = function.front().getArgument(update.argument);
    update.updated =
        optimizer->update({update.name, parameter, update.gradient, update.weightDecay});
  }
  updateScale();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// collect() reports parameters without a gradient.
static constexpr FactContract kContract = {
    {}, FactSet({Fact::Update, Fact::Optimizer}) | FactSet::from(Fact::Layout)};

namespace {
struct AddOptimizer : mlir::st::impl::AddOptimizerBase<AddOptimizer> {
  using AddOptimizerBase::AddOptimizerBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kContract)))
      return signalPassFailure();
    ModuleOp module = getOperation();
    AddOptimizerOptions options;
    options.kind = kind;
    options.beta1 = beta1;
    options.beta2 = beta2;
    options.epsilon = epsilon;
    options.weightDecay = weightDecay;
    options.momentum = momentum;
    options.clipNorm = clipNorm;
    options.countZeros = countZeros;
    options.decayRate = decayRate;
    options.clippingThreshold = clippingThreshold;
    options.minFactoredSize = minFactoredSize;
    options.stateBits = stateBits;
    options.min8BitSize = min8BitSize;
    if (failed(checkOptimizer(module, options)))
      return signalPassFailure();
    auto function = module.lookupSymbol<func::FuncOp>("main");
    if (!function || function.isExternal()) {
      module.emitError("expected a function @main with a body");
      return signalPassFailure();
    }
    StepBuilder step(function, options);
    if (failed(step.collect()))
      return signalPassFailure();
    step.unscale();
    step.countZeros();
    step.clip();
    step.update();
    step.finish();
    updatedParameters += step.count();
    Builder builder(module.getContext());
    module->setAttr("st.optimizer", describeOptimizer(builder, options));
  }
};
} // namespace
