//===- CallRules.cpp - Gradients of calls, maps and annotations ----------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Autodiff/Computations.h"
#include "passes/Autodiff/CustomGradient.h"
#include "passes/Autodiff/ReverseMode.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

//===----------------------------------------------------------------------===//
// map
//===----------------------------------------------------------------------===//

static LogicalResult mapRule(MapOp op, ArrayRef<Value> cts, Gradients &g) {
  if (!isElementwise(op.getComputation()))
    return op.emitOpError("has no gradient rule: expected a computation of elementwise ops");
  return g.mode.expand(op, cts, g, [&](Emitter &emit) {
    return applyElementwise(emit, op.getComputation(), op.getInputs(),
                            Emitter::shapeOf(op.getResult()));
  });
}

//===----------------------------------------------------------------------===//
// Calls and annotations
//===----------------------------------------------------------------------===//

static LogicalResult callRule(func::CallOp op, ArrayRef<Value>, Gradients &) {
  return op.emitOpError("has no gradient rule, and the loss depends on a parameter through it; run "
                        "inline-calls first");
}

/// A tuple has no cotangent; each of its elements has one.
static LogicalResult tupleElementRule(GetTupleElementOp op, ArrayRef<Value> cts, Gradients &g) {
  auto tuple = op.getOperand().getDefiningOp<TupleOp>();
  if (!tuple)
    return op.emitOpError("has no gradient rule: expected the operand of a stablehlo.tuple");
  g.add(tuple.getVal()[op.getIndex()], cts.front());
  return success();
}

static LogicalResult compositeRule(CompositeOp op, ArrayRef<Value>, Gradients &) {
  return op.emitOpError("has no gradient rule, and the loss depends on a parameter through it; run "
                        "expand-ops and inline-calls first");
}

/// The cotangent of a value has the value's sharding, and passes a barrier in the other direction.
static void constrainRule(st::ConstrainOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(), [&]() -> Value {
    auto back =
        st::ConstrainOp::create(g.emit.builder, g.emit.loc, ct.getType(), ct, op.getSharding());
    if (auto direction = op.getDirection())
      back.setDirection(*direction == st::SpreadDirection::Forward ? st::SpreadDirection::Backward
                        : *direction == st::SpreadDirection::Backward ? st::SpreadDirection::Forward
                                                                      : st::SpreadDirection::None);
    return back;
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
