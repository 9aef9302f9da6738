//===- CallRules.cpp - Gradients of ops that stand for other ops ----------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Autodiff/CustomGradient.h"
#include "passes/Autodiff/ReverseMode.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

//===----------------------------------------------------------------------===//
// map
//===----------------------------------------------------------------------===//

/// Whether an op of a map's computation does the same to whole tensors.
static bool isMappable(Operation &op) {
  return isa<ConstantOp>(op) || (op.hasTrait<OpTrait::Elementwise>() && op.getNumResults() == 1) ||
         isa<SelectOp, ClampOp>(op);
}

/// Emits before `op` what its computation does to a scalar, on whole tensors; returns null
/// where an op of it cannot do that.
static Value expandMap(MapOp op, SmallVectorImpl<Operation *> &emitted) {
  Block &body = op.getComputation().front();
  auto resultType = cast<RankedTensorType>(op.getResult().getType());
  if (!llvm::all_of(body.without_terminator(), isMappable))
    return nullptr;
  OpBuilder builder(op);
  Emitter emit(builder, op->getBlock(), op.getLoc());
  IRMapping mapping;
  mapping.map(body.getArguments(), op.getInputs());
  auto isOutside = [&](Value value) { return value.getParentBlock() != &body; };
  for (Operation &inner : body.without_terminator()) {
    for (Value operand : inner.getOperands()) {
      if (!isOutside(operand) || mapping.contains(operand))
        continue;
      Value spread = emit.broadcast(operand, {}, resultType.getShape());
      mapping.map(operand, spread);
      if (spread != operand && !isa<ConstantOp>(spread.getDefiningOp()))
        emitted.push_back(spread.getDefiningOp());
    }
    if (auto constant = dyn_cast<ConstantOp>(inner)) {
      auto value = cast<DenseElementsAttr>(constant.getValue());
      mapping.map(inner.getResult(0),
                  emit.constant(value.resizeSplat(resultType.clone(value.getElementType()))));
      continue;
    }
    Operation *copy = builder.clone(inner, mapping);
    copy->getResult(0).setType(resultType.clone(getElementTypeOrSelf(copy->getResult(0))));
    emitted.push_back(copy);
  }
  Value result = body.getTerminator()->getOperand(0);
  if (isOutside(result) && !mapping.contains(result)) {
    Value spread = emit.broadcast(result, {}, resultType.getShape());
    if (spread != result && !isa<ConstantOp>(spread.getDefiningOp()))
      emitted.push_back(spread.getDefiningOp());
    return spread;
  }
  return mapping.lookup(result);
}

static LogicalResult mapRule(MapOp op, ArrayRef<Value> cts, Gradients &g) {
  SmallVector<Operation *> emitted;
  Value result = expandMap(op, emitted);
  if (!result)
    return op.emitOpError("has no gradient rule: expected a computation of elementwise ops");
  g.mode.mark(emitted);
  g.mode.replace(op, result);
  g.add(result, cts.front());
  return g.mode.propagate(emitted, g);
}

//===----------------------------------------------------------------------===//
// Calls and annotations
//===----------------------------------------------------------------------===//

static LogicalResult callRule(func::CallOp op, ArrayRef<Value>, Gradients &) {
  return op.emitOpError("has no gradient rule, and the loss depends on a parameter through it; "
                        "inline-calls takes calls out");
}

/// A tuple has no cotangent of its own: it goes to the value in it.
static LogicalResult tupleElementRule(GetTupleElementOp op, ArrayRef<Value> cts, Gradients &g) {
  auto tuple = op.getOperand().getDefiningOp<TupleOp>();
  if (!tuple)
    return op.emitOpError("has no gradient rule: expected the operand of a stablehlo.tuple");
  g.add(tuple.getVal()[op.getIndex()], cts.front());
  return success();
}

static LogicalResult compositeRule(CompositeOp op, ArrayRef<Value>, Gradients &) {
  return op.emitOpError("has no gradient rule, and the loss depends on a parameter through it; "
                        "expand-ops and inline-calls take composites out");
}

/// The cotangent of a value is split as the value is.
static void constrainRule(st::ConstrainOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(), [&]() -> Value {
    return st::ConstrainOp::create(g.emit.builder, g.emit.loc, ct.getType(), ct, op.getSharding());
  });
}

//===----------------------------------------------------------------------===//
// st.custom_gradient
//===----------------------------------------------------------------------===//

static LogicalResult customGradientRule(st::CustomGradientOp op, ArrayRef<Value> cts,
                                        Gradients &g) {
  SmallVector<Value> values = inlineForward(op);
  SmallVector<Value> given(ArrayRef(values).drop_front(op->getNumResults()));
  for (auto [result, ct] : llvm::zip_equal(op.getResults(), cts))
    if (isa<FloatType, ComplexType>(getElementTypeOrSelf(result.getType())))
      given.push_back(ct ? ct : g.emit.zerosLike(result));
  SmallVector<Value> returned = inlineRegion(g.emit.builder, op.getBackward(), given);
  unsigned next = 0;
  for (Value input : op.getInputs())
    if (isa<FloatType, ComplexType>(getElementTypeOrSelf(input.getType())))
      g.add(input, returned[next++]);
  g.mode.replace(op, ArrayRef(values).take_front(op->getNumResults()));
  return success();
}

void st::populateCallRules(GradientRules &rules) {
  rules.addChecked<MapOp>(mapRule);
  rules.addChecked<func::CallOp>(callRule);
  rules.addChecked<CompositeOp>(compositeRule);
  rules.addChecked<GetTupleElementOp>(tupleElementRule);
  rules.add<st::ConstrainOp>(constrainRule);
  rules.addChecked<st::CustomGradientOp>(customGradientRule);
  rules.allowComplex<st::ConstrainOp, st::CustomGradientOp, GetTupleElementOp, MapOp>();
}
