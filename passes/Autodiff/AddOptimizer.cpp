//===- AddOptimizer.cpp - Gradients into updates --------------------------===//

#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
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
/// A parameter, its gradient, and what replaces it.
struct Update {
  unsigned argument;
  StringAttr name;
  bool decays;
  Value gradient;
  Value updated;
};

/// A tensor of optimizer state: the argument it comes in as, its new value.
struct State {
  unsigned argument;
  Value updated;
};

/// Rewrites one @main.
class StepBuilder {
public:
  StepBuilder(func::FuncOp function, const AddOptimizerOptions &options)
      : function(function), options(options), signature(function),
        builder(OpBuilder::atBlockTerminator(&function.front())),
        emit(builder, &function.front(), builder.getUnknownLoc()),
        scaling(
            function->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(kLossScaleAttr)) {}

  LogicalResult collect();
  void unscale();
  void clip();
  void update();
  void finish();
  size_t count() const { return updates.size(); }

private:
  BlockArgument addArgument(const Twine &name, StringRef role, RankedTensorType type,
                            StringAttr of = {});
  Value addState(const Update &update, StringRef suffix);
  /// A scalar of optimizer state that belongs to no parameter.
  Value addCounter(StringRef name);
  bool isLossScale(unsigned argument);
  void setState(Value argument, Value updated);
  /// 1 - decay^step, exact also where decay^step is close to one.
  Value biasCorrection(Value step, double decay);
  void prepareScalars();
  void updateAdam(Update &update);
  void updateSgd(Update &update);
  /// What becomes of a scale, and of the counts that go with it.
  void updateScale();
  Value full(Value scalar, Value like) { return emit.broadcast(scalar, {}, emit.shapeOf(like)); }
  NamedAttrList resultAttrs(Attribute name, StringRef role, Attribute of = {});

  func::FuncOp function;
  const AddOptimizerOptions &options;
  Signature signature;
  OpBuilder builder;
  Emitter emit;
  /// How the loss was scaled; null if it was not.
  DictionaryAttr scaling;
  SmallVector<Update> updates;
  SmallVector<State> states;
  /// The results to keep, by index.
  SmallVector<unsigned> keptResults;
  Value gradientNorm;
  /// What the loss was multiplied by, null if it was not: a state where the scale is dynamic.
  Value lossScale;
  /// Of a scaled loss: whether all gradients are finite, and how often they were not before.
  Value isFinite, skippedSteps;
  // Scalars that all updates share; null where they are not needed.
  Value learningRate, decayFactor, stepSize, inverseRootCorrection;
};
} // namespace

//===----------------------------------------------------------------------===//
// The signature
//===----------------------------------------------------------------------===//

/// The roles of arguments and results, empty where there is none.
static StringRef roleOf(Attribute role) {
  auto name = dyn_cast_or_null<StringAttr>(role);
  return name ? name.getValue() : "";
}

bool StepBuilder::isLossScale(unsigned argument) {
  auto name = function.getArgAttrOfType<StringAttr>(argument, kNameAttr);
  return scaling && name && name.getValue() == kLossScaleName;
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
    if (role == "optimizer_state")
      return function.emitOpError("already has optimizer state");
    if (role != "parameter")
      continue;
    auto name = function.getArgAttrOfType<StringAttr>(i, kNameAttr);
    Value gradient = gradients.lookup(name);
    if (!gradient || gradient.getType() != argument.getType())
      return function.emitOpError("parameter ")
             << name << " has no result of role \"gradient\" and its type; run differentiate first";
    if (!Emitter::typeOf(argument).getElementType().isF32())
      return function.emitOpError("expected parameter ")
             << name << " to have f32 elements, found " << argument.getType();
    updates.push_back({i, name, !function.getArgAttr(i, kNoDecayAttr), gradient, Value()});
  }
  if (updates.empty())
    return function.emitOpError("has no argument of role \"parameter\"");
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

Value StepBuilder::addState(const Update &update, StringRef suffix) {
  auto type = Emitter::typeOf(function.front().getArgument(update.argument));
  return addArgument(update.name.getValue() + suffix, "optimizer_state", type, update.name);
}

Value StepBuilder::addCounter(StringRef name) {
  return addArgument(name, "optimizer_state", RankedTensorType::get({}, builder.getF32Type()));
}

void StepBuilder::setState(Value argument, Value updated) {
  states.push_back({cast<BlockArgument>(argument).getArgNumber(), updated});
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
  // Of a metric that is a state, the value that this step was computed with.
  if (isa_and_nonnull<BlockArgument>(lossScale))
    signature.appendResult(lossScale, resultAttrs(builder.getStringAttr("loss_scale"), "metric"));
  // A donated argument names the result that takes its place.
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

// A step whose gradients are not all finite leaves every state as it was. The scale follows
// torch.amp.GradScaler.
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
  if (skippedSteps)
    setState(skippedSteps, emit.add(skippedSteps, emit.select(isFinite, zero, one)));
  auto interval = scaling.getAs<IntegerAttr>("growth_interval");
  if (!interval)
    return;
  Value goodSteps = addCounter("loss_scale.good_steps");
  Value counted = emit.select(isFinite, emit.add(goodSteps, one), zero);
  Value grows = emit.compare(stablehlo::ComparisonDirection::GE, counted,
                             emit.splatLike(counted, static_cast<double>(interval.getInt())));
  Value doubled = emit.scale(lossScale, 2.0);
  // It does not grow beyond f32.
  Value canGrow = emit.compare(stablehlo::ComparisonDirection::LT, doubled,
                               emit.splatLike(doubled, std::numeric_limits<double>::infinity()));
  Value grown = emit.select(emit.bitAnd(grows, canGrow), doubled, lossScale);
  setState(lossScale, emit.select(isFinite, grown, emit.scale(lossScale, 0.5)));
  setState(goodSteps, emit.select(grows, zero, counted));
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
  // In the order of the parameters: the sum has one order under any layout.
  Value sum;
  for (const Update &update : updates) {
    locate(update.name);
    Value squares = emit.mul(update.gradient, update.gradient);
    Value part = emit.reduceAdd(squares, remainingDims(emit.typeOf(squares).getRank(), {}));
    sum = sum ? emit.add(sum, part) : part;
  }
  // As torch.nn.utils.clip_grad_norm_.
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

Value StepBuilder::biasCorrection(Value step, double decay) {
  if (decay == 0.0)
    return emit.splatLike(step, 1.0);
  return emit.neg(emit.expm1(emit.scale(step, std::log(decay))));
}

void StepBuilder::prepareScalars() {
  emit.loc = NameLoc::get(builder.getStringAttr("optimizer"));
  auto scalar = RankedTensorType::get({}, builder.getF32Type());
  learningRate = addArgument("learning_rate", "scalar", scalar);
  if (options.kind == OptimizerKind::Sgd)
    return;
  Value step = addArgument("step", "scalar", scalar);
  // Steps that were left out do not count.
  if (scaling) {
    skippedSteps = addCounter("loss_scale.skipped_steps");
    step = emit.sub(step, skippedSteps);
  }
  Value one = emit.splat(scalar, 1.0);
  if (options.kind == OptimizerKind::AdamW && options.weightDecay != 0.0)
    decayFactor = emit.sub(one, emit.scale(learningRate, options.weightDecay));
  stepSize = emit.div(learningRate, biasCorrection(step, options.beta1));
  inverseRootCorrection = emit.div(one, emit.sqrt(biasCorrection(step, options.beta2)));
}

void StepBuilder::updateAdam(Update &update) {
  Value parameter = function.front().getArgument(update.argument), gradient = update.gradient;
  Value moment = addState(update, ".exp_avg"), square = addState(update, ".exp_avg_sq");
  if (update.decays && options.kind == OptimizerKind::Adam && options.weightDecay != 0.0)
    gradient = emit.add(gradient, emit.scale(parameter, options.weightDecay));
  Value newMoment = emit.add(moment, emit.scale(emit.sub(gradient, moment), 1.0 - options.beta1));
  Value newSquare = emit.add(emit.scale(square, options.beta2),
                             emit.scale(emit.mul(gradient, gradient), 1.0 - options.beta2));
  Value root = emit.mul(emit.sqrt(newSquare), full(inverseRootCorrection, square));
  Value direction = emit.div(newMoment, emit.offset(root, options.epsilon));
  if (update.decays && decayFactor)
    parameter = emit.mul(parameter, full(decayFactor, parameter));
  update.updated = emit.sub(parameter, emit.mul(direction, full(stepSize, direction)));
  setState(moment, newMoment);
  setState(square, newSquare);
}

void StepBuilder::updateSgd(Update &update) {
  Value parameter = function.front().getArgument(update.argument), gradient = update.gradient;
  if (update.decays && options.weightDecay != 0.0)
    gradient = emit.add(gradient, emit.scale(parameter, options.weightDecay));
  if (options.momentum != 0.0) {
    Value velocity = addState(update, ".momentum");
    gradient = emit.add(emit.scale(velocity, options.momentum), gradient);
    setState(velocity, gradient);
  }
  update.updated = emit.sub(parameter, emit.mul(gradient, full(learningRate, gradient)));
}

void StepBuilder::update() {
  prepareScalars();
  for (Update &update : updates) {
    emit.loc = NameLoc::get(builder.getStringAttr("optimizer/" + update.name.getValue()));
    if (options.kind == OptimizerKind::Sgd)
      updateSgd(update);
    else
      updateAdam(update);
  }
  updateScale();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static StringRef stringify(OptimizerKind kind) {
  switch (kind) {
  case OptimizerKind::AdamW:
    return "adamw";
  case OptimizerKind::Adam:
    return "adam";
  case OptimizerKind::Sgd:
    return "sgd";
  }
  llvm_unreachable("unknown optimizer");
}

/// Reports the first option out of its range.
static LogicalResult checkOptions(Operation *op, const AddOptimizerOptions &options) {
  auto check = [&](StringRef name, double value, double below) -> LogicalResult {
    if (value >= 0.0 && value < below)
      return success();
    auto error = op->emitError() << name << ": expected at least 0";
    if (std::isfinite(below))
      error << " and below " << below;
    return error << ", found " << value;
  };
  constexpr double any = std::numeric_limits<double>::infinity();
  return success(succeeded(check("beta1", options.beta1, 1.0)) &&
                 succeeded(check("beta2", options.beta2, 1.0)) &&
                 succeeded(check("momentum", options.momentum, 1.0)) &&
                 succeeded(check("epsilon", options.epsilon, any)) &&
                 succeeded(check("weight-decay", options.weightDecay, any)) &&
                 succeeded(check("clip-norm", options.clipNorm, any)));
}

/// What later phases and the runner want to know of the optimizer.
static DictionaryAttr describe(Builder &builder, const AddOptimizerOptions &options) {
  SmallVector<NamedAttribute> fields;
  auto number = [&](StringRef name, double value) {
    fields.push_back(builder.getNamedAttr(name, builder.getF64FloatAttr(value)));
  };
  fields.push_back(builder.getNamedAttr("kind", builder.getStringAttr(stringify(options.kind))));
  number("weight_decay", options.weightDecay);
  number("clip_norm", options.clipNorm);
  if (options.kind == OptimizerKind::Sgd) {
    number("momentum", options.momentum);
  } else {
    number("beta1", options.beta1);
    number("beta2", options.beta2);
    number("epsilon", options.epsilon);
  }
  return builder.getDictionaryAttr(fields);
}

/// Which parameter lacks its gradient, collect() says.
static constexpr FactContract kContract = {
    {}, FactSet({Fact::Update, Fact::Optimizer}) | FactSet::from(Fact::Layout)};

namespace {
struct AddOptimizer : mlir::st::impl::AddOptimizerBase<AddOptimizer> {
  using AddOptimizerBase::AddOptimizerBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kContract)))
      return signalPassFailure();
    ModuleOp module = getOperation();
    AddOptimizerOptions options{kind, beta1, beta2, epsilon, weightDecay, momentum, clipNorm};
    if (failed(checkOptions(module, options)))
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
    step.clip();
    step.update();
    step.finish();
    updatedParameters += step.count();
    Builder builder(module.getContext());
    module->setAttr("st.optimizer", describe(builder, options));
  }
};
} // namespace
