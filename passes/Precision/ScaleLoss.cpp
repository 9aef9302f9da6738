#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/St/IR/StGradientOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "passes/Precision/PassUtils.h"
#include "llvm/Support/Format.h"

#include <cmath>

namespace mlir::st {
#define GEN_PASS_DEF_SCALELOSS
#include "passes/Precision/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

/// The identity on the loss, whose cotangent is multiplied by the scale.
static Value scaleCotangent(OpBuilder &builder, Value loss, Value scale) {
  Type type = loss.getType();
  Location loc = loss.getLoc();
  auto op = CustomGradientOp::create(builder, loc, TypeRange{type}, ValueRange{loss, scale});
  OpBuilder::InsertionGuard guard(builder);
  Block *forward = builder.createBlock(&op.getForward(), {}, {type, type}, {loc, loc});
  stablehlo::ReturnOp::create(builder, loc, forward->getArguments());
  Block *backward = builder.createBlock(&op.getBackward(), {}, {type, type}, {loc, loc});
  Value scaled =
      stablehlo::MulOp::create(builder, loc, backward->getArgument(1), backward->getArgument(0));
  Value none = Emitter(builder, backward, loc).zerosLike(scaled);
  stablehlo::ReturnOp::create(builder, loc, ValueRange{scaled, none});
  return op.getResult(0);
}

/// A dynamic scale is a state; `add-optimizer` computes its next value.
static Value addScaleArgument(func::FuncOp function, double initial, Location loc) {
  Builder builder(function.getContext());
  NamedAttrList attrs;
  attrs.set(kNameAttr, builder.getStringAttr(kLossScaleName));
  attrs.set(kRoleAttr, builder.getStringAttr("optimizer_state"));
  attrs.set(kInitAttr, builder.getDictionaryAttr(
                           {builder.getNamedAttr("kind", builder.getStringAttr("constant")),
                            builder.getNamedAttr("value", builder.getF64FloatAttr(initial))}));
  Signature signature(function);
  Value argument =
      signature.appendArgument(RankedTensorType::get({}, builder.getF32Type()), attrs, loc);
  signature.write();
  return argument;
}

static constexpr FactContract kContract = {
    {Fact::Roles},
    FactSet({Fact::Gradients, Fact::Update, Fact::Optimizer}) | FactSet::from(Fact::Layout)};

namespace {
struct ScaleLoss : mlir::st::impl::ScaleLossBase<ScaleLoss> {
  using ScaleLossBase::ScaleLossBase;

  LogicalResult checkOptions();

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp function = findStep(module, getArgument(), kContract);
    if (!function || failed(checkOptions()))
      return signalPassFailure();
    Value loss = findResult(function, "loss");
    if (!loss || loss.getType() != RankedTensorType::get({}, Float32Type::get(&getContext()))) {
      function.emitOpError("expected one result of role \"loss\" and type tensor<f32>");
      return signalPassFailure();
    }
    auto builder = OpBuilder::atBlockTerminator(&function.front());
    const bool isDynamic = scale == 0;
    Value factor = isDynamic
                       ? addScaleArgument(function, initialScale, loss.getLoc())
                       : Emitter(builder, &function.front(), loss.getLoc()).splatLike(loss, scale);
    Operation *end = function.front().getTerminator();
    Value scaled = scaleCotangent(builder, loss, factor);
    if (Operation *op = loss.getDefiningOp())
      if (Attribute attr = op->getDiscardableAttr(kBlockAttr))
        scaled.getDefiningOp()->setDiscardableAttr(kBlockAttr, attr);
    end->replaceUsesOfWith(loss, scaled);
    NamedAttrList fields;
    if (isDynamic) {
      fields.set("growth_interval", builder.getI64IntegerAttr(growthInterval));
      fields.set("hysteresis", builder.getI64IntegerAttr(hysteresis));
      fields.set("min_scale", builder.getF64FloatAttr(minScale));
    } else {
      fields.set("scale", builder.getF64FloatAttr(scale));
    }
    module->setAttr(kLossScaleAttr, fields.getDictionary(&getContext()));
    if (auto precision = module->getAttrOfType<DictionaryAttr>(kPrecisionAttr)) {
      SmallString<32> text("dynamic");
      if (!isDynamic) {
        text.clear();
        llvm::raw_svector_ostream(text) << llvm::format("%.17g", scale.getValue());
      }
      NamedAttrList list(precision);
      list.set("loss_scale", builder.getStringAttr(text.str()));
      module->setAttr(kPrecisionAttr, list.getDictionary(&getContext()));
    }
  }
};
} // namespace

LogicalResult ScaleLoss::checkOptions() {
  auto isScale = [](double number) {
    return std::isnormal(static_cast<float>(number)) && number > 0;
  };
  if (scale != 0 && !isScale(scale))
    return getOperation().emitError(
               "scale: expected a positive number that f32 holds, or 0, found ")
           << scale.getValue();
  if (!isScale(initialScale))
    return getOperation().emitError(
               "initial-scale: expected a positive number that f32 holds, found ")
           << initialScale.getValue();
  if (!isScale(minScale) || minScale > initialScale)
    return getOperation().emitError("min-scale: expected a positive number of at most ")
           << initialScale.getValue() << ", found " << minScale.getValue();
  for (auto &[name, count] : {std::pair("growth-interval", growthInterval.getValue()),
                              std::pair("hysteresis", hysteresis.getValue())})
    if (count < 1)
      return getOperation().emitError(name) << ": expected at least 1, found " << count;
  return success();
}
