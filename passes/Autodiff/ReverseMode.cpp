//===- ReverseMode.cpp - Reverse-mode differentiation of a block ----------===//

#include "passes/Autodiff/ReverseMode.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Autodiff/GradientRules.h"

using namespace mlir;
using namespace mlir::st;

namespace {
/// One run over a block: which values matter, then op after op backwards.
class ReverseMode {
public:
  ReverseMode(Block &block, ValueRange parameters)
      : parameters(parameters), builder(OpBuilder::atBlockTerminator(&block)),
        emit(builder, &block, builder.getUnknownLoc()), gradients(emit, varied) {
    for (Operation &op : block.without_terminator())
      forward.push_back(&op);
  }

  FailureOr<SmallVector<Value>> run(Value loss);

private:
  void findVaried();
  LogicalResult propagate(Operation *op);

  ValueRange parameters;
  OpBuilder builder;
  GradientRules rules;
  SmallVector<Operation *> forward;
  /// The values that depend differentiably on a parameter.
  DenseSet<Value> varied;
  Emitter emit;
  Gradients gradients;
};
} // namespace

/// Names a backward op after the forward op it comes from, as JAX does.
static Location transposedLoc(Location loc) {
  auto *context = loc.getContext();
  if (auto named = dyn_cast<NameLoc>(loc))
    return NameLoc::get(StringAttr::get(context, "transpose(" + named.getName().getValue() + ")"),
                        named.getChildLoc());
  return NameLoc::get(StringAttr::get(context, "transpose"), loc);
}

void ReverseMode::findVaried() {
  varied.insert(parameters.begin(), parameters.end());
  auto isVaried = [&](Value value) { return varied.contains(value); };
  for (Operation *op : forward) {
    if (rules.isZero(op) || op->hasAttr(kStopGradientAttr))
      continue;
    SetVector<Value> captured;
    getUsedValuesDefinedAbove(op->getRegions(), captured);
    if (!llvm::any_of(op->getOperands(), isVaried) && !llvm::any_of(captured, isVaried))
      continue;
    for (Value result : op->getResults())
      if (isa<FloatType, ComplexType>(getElementTypeOrSelf(result.getType())))
        varied.insert(result);
  }
}

LogicalResult ReverseMode::propagate(Operation *op) {
  emit.loc = transposedLoc(op->getLoc());
  SmallVector<Value> cotangents;
  for (Value result : op->getResults())
    cotangents.push_back(gradients.take(result));
  if (llvm::all_of(cotangents, [](Value ct) { return !ct; }))
    return success();
  bool isComplex = llvm::any_of(op->getOperands(), [&](Value operand) {
    return varied.contains(operand) && isa<ComplexType>(getElementTypeOrSelf(operand.getType()));
  });
  if (isComplex)
    return op->emitOpError("has a complex operand, and the loss depends on a parameter through it; "
                           "expected real ones");
  const GradientRules::Rule *rule = rules.lookup(op);
  if (!rule)
    return op->emitOpError("has no gradient rule, and the loss depends on a parameter through it");
  return (*rule)(op, cotangents, gradients);
}

FailureOr<SmallVector<Value>> ReverseMode::run(Value loss) {
  findVaried();
  gradients.add(loss, [&] { return emit.splatLike(loss, 1.0); });
  for (Operation *op : llvm::reverse(forward))
    if (failed(propagate(op)))
      return failure();

  SmallVector<Value> results;
  for (Value parameter : parameters) {
    emit.loc = transposedLoc(parameter.getLoc());
    Value gradient = gradients.take(parameter);
    results.push_back(gradient ? gradient : emit.zerosLike(parameter));
  }
  return results;
}

FailureOr<SmallVector<Value>> st::emitGradients(Block &block, Value loss, ValueRange parameters) {
  return ReverseMode(block, parameters).run(loss);
}
