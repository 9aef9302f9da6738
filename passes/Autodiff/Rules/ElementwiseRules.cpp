//===- ElementwiseRules.cpp - Gradients of elementwise ops ----------------===//

#include "dialects/StableHLO/ChloOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/Autodiff/Rules/GradientRules.h"
#include "passes/Autodiff/Rules/RuleUtils.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

/// cotangent * factor, where the cotangent is often that of the loss: one.
static Value times(Emitter &emit, Value cotangent, Value factor) {
  DenseFPElementsAttr value;
  if (matchPattern(cotangent, m_Constant(&value)) && value.isSplat() &&
      value.getSplatValue<APFloat>().isExactlyValue(1.0))
    return factor;
  return emit.mul(cotangent, factor);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static void addRule(AddOp op, Value ct, Gradients &g) {
  g.add(op.getLhs(), ct);
  g.add(op.getRhs(), ct);
}

static void subtractRule(SubtractOp op, Value ct, Gradients &g) {
  g.add(op.getLhs(), ct);
  g.add(op.getRhs(), [&] { return g.emit.neg(ct); });
}

static void multiplyRule(MulOp op, Value ct, Gradients &g) {
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (lhs == rhs)
    return g.add(lhs, [&] {
      Value half = times(g.emit, ct, lhs);
      return g.emit.add(half, half);
    });
  g.add(lhs, [&] { return times(g.emit, ct, rhs); });
  g.add(rhs, [&] { return times(g.emit, ct, lhs); });
}

static void divideRule(DivOp op, Value ct, Gradients &g) {
  // d(a / b) = da / b - (a / b) / b db: both share the cotangent over b.
  Value quotient = g.emit.div(ct, op.getRhs());
  g.add(op.getLhs(), quotient);
  g.add(op.getRhs(), [&] { return g.emit.neg(g.emit.mul(quotient, op.getResult())); });
}

/// The selected one of two complex numbers gets the cotangent `ct`; equal operands each get half of
/// it.
static void complexExtremumCotangents(Value lhs, Value rhs, Value result, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  auto isResult = [&](Value x) { return emit.compare(ComparisonDirection::EQ, x, result); };
  Value half = emit.scale(ct, 0.5), zeros = emit.zerosLike(ct);
  auto part = [&](Value x, Value other) {
    return emit.select(isResult(x), emit.select(isResult(other), half, ct), zeros);
  };
  g.add(lhs, [&] { return part(lhs, rhs); });
  g.add(rhs, [&] { return part(rhs, lhs); });
}

/// Equal operands each get half of the cotangent, as in JAX.
template <typename OpTy> static void extremumRule(OpTy op, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  constexpr bool isMax = std::is_same_v<OpTy, MaxOp>;
  Value lhs = op.getLhs(), rhs = op.getRhs();
  if (isa<ComplexType>(Emitter::typeOf(lhs).getElementType()))
    return complexExtremumCotangents(lhs, rhs, op.getResult(), ct, g);
  Value tie = emit.compare(ComparisonDirection::EQ, lhs, rhs);
  Value shared = emit.select(tie, emit.scale(ct, 0.5), emit.zerosLike(ct));
  auto part = [&](bool wins) {
    auto direction = wins ? ComparisonDirection::GT : ComparisonDirection::LT;
    return emit.select(emit.compare(direction, lhs, rhs), ct, shared);
  };
  g.add(lhs, [&] { return part(isMax); });
  g.add(rhs, [&] { return part(!isMax); });
}

static void powerRule(PowOp op, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  Value base = op.getLhs(), exponent = op.getRhs();
  Value zeros = emit.zerosLike(base), ones = emit.splatLike(base, 1.0);
  auto isZero = [&](Value x) { return emit.compare(ComparisonDirection::EQ, x, zeros); };
  g.add(base, [&] {
    // x^(y - 1) at y = 0 would make NaN of zero times infinity.
    Value reduced = emit.select(isZero(exponent), ones, emit.sub(exponent, ones));
    return emit.mul(ct, emit.mul(exponent, emit.pow(base, reduced)));
  });
  g.add(exponent, [&] {
    Value log = emit.log(emit.select(isZero(base), ones, base));
    return emit.mul(ct, emit.mul(log, op.getResult()));
  });
}

static void atan2Rule(Atan2Op op, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  Value y = op.getLhs(), x = op.getRhs();
  Value scaled = emit.div(ct, emit.add(emit.mul(x, x), emit.mul(y, y)));
  g.add(y, [&] { return emit.mul(scaled, x); });
  g.add(x, [&] { return emit.neg(emit.mul(scaled, y)); });
}

/// d(a rem b) = da - trunc(a / b) db.
static void remainderRule(RemOp op, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  g.add(op.getLhs(), ct);
  g.add(op.getRhs(), [&] {
    Value quotient = emit.div(emit.sub(op.getLhs(), op.getResult()), op.getRhs());
    Value rounded =
        RoundNearestEvenOp::create(emit.builder, emit.loc, quotient.getType(), quotient);
    return emit.neg(emit.mul(ct, rounded));
  });
}

//===----------------------------------------------------------------------===//
// Functions of one operand
//===----------------------------------------------------------------------===//

/// Registers a rule ct * derivative(x, y), where y is the function's value.
template <typename OpTy, Value (*derivative)(Emitter &, Value, Value)>
static void addFunction(GradientRules &rules) {
  rules.add<OpTy>(+[](OpTy op, Value ct, Gradients &g) {
    g.add(op.getOperand(),
          [&] { return times(g.emit, ct, derivative(g.emit, op.getOperand(), op.getResult())); });
  });
}

/// At zero this is the derivative from the right, as in JAX. For a complex number it is the
/// direction, conjugated by JAX's convention for cotangents.
static void absRule(AbsOp op, Value ct, Gradients &g) {
  Emitter &e = g.emit;
  Value x = op.getOperand();
  Type type = Emitter::typeOf(x).getElementType();
  g.add(x, [&] {
    if (!isa<ComplexType>(type))
      return e.select(e.compare(ComparisonDirection::GE, x, e.zerosLike(x)), ct, e.neg(ct));
    return e.mul(e.convert(ct, type), conjugate(e, e.sign(x)));
  });
}
static Value cbrtDerivative(Emitter &e, Value, Value y) {
  return e.div(e.splatLike(y, 1.0 / 3.0), e.mul(y, y));
}
static Value cosineDerivative(Emitter &e, Value x, Value) { return e.neg(e.sine(x)); }
static Value expDerivative(Emitter &, Value, Value y) { return y; }
static Value expm1Derivative(Emitter &e, Value, Value y) { return e.offset(y, 1.0); }
static Value logisticDerivative(Emitter &e, Value, Value y) {
  return e.mul(y, e.sub(e.splatLike(y, 1.0), y));
}
static Value rsqrtDerivative(Emitter &e, Value, Value y) {
  return e.mul(e.scale(y, -0.5), e.mul(y, y));
}
static Value sineDerivative(Emitter &e, Value x, Value) { return e.cosine(x); }
static Value sqrtDerivative(Emitter &e, Value, Value y) { return e.div(e.splatLike(y, 0.5), y); }
static Value tanDerivative(Emitter &e, Value, Value y) { return e.offset(e.mul(y, y), 1.0); }
static Value tanhDerivative(Emitter &e, Value, Value y) {
  return e.sub(e.splatLike(y, 1.0), e.mul(y, y));
}
static Value erfDerivative(Emitter &e, Value x, Value) {
  constexpr double twoOverRootPi = 1.12837916709551257390;
  return e.scale(e.exp(e.neg(e.mul(x, x))), twoOverRootPi);
}
static Value erfcDerivative(Emitter &e, Value x, Value y) { return e.neg(erfDerivative(e, x, y)); }
static Value erfInvDerivative(Emitter &e, Value, Value y) {
  constexpr double halfRootPi = 0.88622692545275801365;
  return e.scale(e.exp(e.mul(y, y)), halfRootPi);
}
static Value squareDerivative(Emitter &e, Value x, Value) { return e.add(x, x); }

static Value lgammaDerivative(Emitter &e, Value x, Value) {
  return chlo::DigammaOp::create(e.builder, e.loc, x.getType(), x);
}
static Value digammaDerivative(Emitter &e, Value x, Value) {
  return chlo::PolygammaOp::create(e.builder, e.loc, x.getType(), e.splatLike(x, 1.0), x);
}
static Value sinhDerivative(Emitter &e, Value x, Value) {
  return chlo::CoshOp::create(e.builder, e.loc, x.getType(), x);
}
static Value coshDerivative(Emitter &e, Value x, Value) {
  return chlo::SinhOp::create(e.builder, e.loc, x.getType(), x);
}
/// 1 - x^2 as a product, which keeps its digits next to 1.
static Value oneMinusSquare(Emitter &e, Value x) {
  Value one = e.splatLike(x, 1.0);
  return e.mul(e.sub(one, x), e.add(one, x));
}
static Value asinDerivative(Emitter &e, Value x, Value) { return e.rsqrt(oneMinusSquare(e, x)); }
static Value acosDerivative(Emitter &e, Value x, Value y) { return e.neg(asinDerivative(e, x, y)); }
static Value atanDerivative(Emitter &e, Value x, Value) {
  return e.div(e.splatLike(x, 1.0), e.offset(e.mul(x, x), 1.0));
}
static Value asinhDerivative(Emitter &e, Value x, Value) {
  return e.rsqrt(e.offset(e.mul(x, x), 1.0));
}
static Value acoshDerivative(Emitter &e, Value x, Value) {
  return e.mul(e.rsqrt(e.offset(x, -1.0)), e.rsqrt(e.offset(x, 1.0)));
}
static Value atanhDerivative(Emitter &e, Value x, Value) {
  return e.div(e.splatLike(x, 1.0), oneMinusSquare(e, x));
}

/// The gradient with respect to the order, which is an integer, is not defined.
static LogicalResult polygammaRule(chlo::PolygammaOp op, ArrayRef<Value> cts, Gradients &g) {
  Value order = op.getLhs(), x = op.getRhs();
  if (g.isNeeded(order))
    return op.emitOpError("has no gradient rule with respect to its order");
  g.add(x, [&]() -> Value {
    Emitter &e = g.emit;
    return e.mul(cts.front(),
                 chlo::PolygammaOp::create(e.builder, e.loc, x.getType(), e.offset(order, 1.0), x));
  });
  return success();
}

/// d zeta(s, q) = -s zeta(s + 1, q) dq. There is no closed form of the other part.
static LogicalResult zetaRule(chlo::ZetaOp op, ArrayRef<Value> cts, Gradients &g) {
  Value exponent = op.getLhs(), x = op.getRhs();
  if (g.isNeeded(exponent))
    return op.emitOpError("has no gradient rule with respect to its exponent");
  g.add(x, [&]() -> Value {
    Emitter &e = g.emit;
    Value next = chlo::ZetaOp::create(e.builder, e.loc, x.getType(), e.offset(exponent, 1.0), x);
    return e.neg(e.mul(cts.front(), e.mul(exponent, next)));
  });
  return success();
}

static void logRule(LogOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(), [&] { return g.emit.div(ct, op.getOperand()); });
}

static void log1pRule(Log1pOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(), [&] { return g.emit.div(ct, g.emit.offset(op.getOperand(), 1.0)); });
}

static void negateRule(NegOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(), [&] { return g.emit.neg(ct); });
}

static void convertRule(ConvertOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(),
        [&] { return g.emit.convert(ct, Emitter::typeOf(op.getOperand()).getElementType()); });
}

/// Rounding is treated as the identity, and the cotangent is rounded in the same way.
static void reducePrecisionRule(ReducePrecisionOp op, Value ct, Gradients &g) {
  g.add(op.getOperand(), [&]() -> Value {
    return ReducePrecisionOp::create(g.emit.builder, g.emit.loc, ct.getType(), ct,
                                     op.getExponentBits(), op.getMantissaBits());
  });
}

//===----------------------------------------------------------------------===//
// Choice
//===----------------------------------------------------------------------===//

/// Returns true if the select is JAX's maximum or minimum of two complex numbers, which are ordered
/// by their real parts, and for equal ones by the imaginary parts.
static bool isComplexExtremum(SelectOp op) {
  auto byParts = op.getPred().getDefiningOp<SelectOp>();
  if (!byParts)
    return false;
  auto compares = [&](Value predicate, auto part) {
    auto compare = predicate.getDefiningOp<CompareOp>();
    if (!compare)
      return std::optional<ComparisonDirection>();
    auto lhs = compare.getLhs().getDefiningOp<decltype(part)>();
    auto rhs = compare.getRhs().getDefiningOp<decltype(part)>();
    bool ofBoth =
        lhs && rhs && lhs.getOperand() == op.getOnTrue() && rhs.getOperand() == op.getOnFalse();
    return ofBoth ? std::optional(compare.getComparisonDirection()) : std::nullopt;
  };
  auto tie = compares(byParts.getPred(), RealOp());
  auto imag = compares(byParts.getOnTrue(), ImagOp()),
       real = compares(byParts.getOnFalse(), RealOp());
  return tie == ComparisonDirection::EQ && real && real == imag &&
         (real == ComparisonDirection::GT || real == ComparisonDirection::LT);
}

/// The operands a and b of log(e^a + e^b) as JAX prints it: of max(a, b) + log1p(e^-|a - b|),
/// or a + b where a - b is NaN.
static std::optional<std::pair<Value, Value>> matchLogAddExp(SelectOp op) {
  auto isNan = op.getPred().getDefiningOp<CompareOp>();
  auto sum = op.getOnFalse().getDefiningOp<AddOp>();
  if (!isNan || !sum || isNan.getComparisonDirection() != ComparisonDirection::NE)
    return std::nullopt;
  auto difference = isNan.getLhs().getDefiningOp<SubtractOp>();
  auto largest = sum.getLhs().getDefiningOp<MaxOp>();
  auto both = op.getOnTrue().getDefiningOp<AddOp>();
  if (!difference || isNan.getRhs() != difference || !largest || !both ||
      !llvm::equal(largest->getOperands(), difference->getOperands()) ||
      !llvm::equal(both->getOperands(), difference->getOperands()))
    return std::nullopt;
  if (!matchPattern(sum.getRhs(), m_Op<Log1pOp>(m_Op<ExpOp>(
                                      m_Op<NegOp>(m_Op<AbsOp>(matchers::m_Val(difference)))))))
    return std::nullopt;
  return std::pair(difference.getLhs(), difference.getRhs());
}

/// Each operand gets its share of the sum of e^a and e^b. This also holds for equal operands, where
/// differentiating the formula term by term fails.
static void logAddExpCotangents(Value lhs, Value rhs, Value result, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  Value infinity = emit.splatLike(result, std::numeric_limits<double>::infinity());
  auto finite = [&](Value x) {
    return emit.select(emit.compare(ComparisonDirection::EQ, x, infinity), emit.zerosLike(x), x);
  };
  for (Value x : {lhs, rhs})
    g.add(x, [&] { return emit.mul(ct, emit.exp(emit.sub(finite(x), finite(result)))); });
}

static void selectRule(SelectOp op, Value ct, Gradients &g) {
  if (isComplexExtremum(op))
    return complexExtremumCotangents(op.getOnTrue(), op.getOnFalse(), op.getResult(), ct, g);
  if (auto terms = matchLogAddExp(op))
    return logAddExpCotangents(terms->first, terms->second, op.getResult(), ct, g);
  Value predicate = op.getPred();
  g.add(op.getOnTrue(), [&] { return g.emit.select(predicate, ct, g.emit.zerosLike(ct)); });
  g.add(op.getOnFalse(), [&] { return g.emit.select(predicate, g.emit.zerosLike(ct), ct); });
}

static void clampRule(ClampOp op, Value ct, Gradients &g) {
  Emitter &emit = g.emit;
  Value x = op.getOperand(), zeros = emit.zerosLike(ct);
  ArrayRef<int64_t> shape = Emitter::shapeOf(x);
  Value low = emit.broadcast(op.getMin(), {}, shape);
  Value high = emit.broadcast(op.getMax(), {}, shape);
  auto ifLess = [&](Value lhs, Value rhs, Value onTrue) {
    return emit.select(emit.compare(ComparisonDirection::LT, lhs, rhs), onTrue, zeros);
  };
  auto sumLike = [&](Value bound, Value part) {
    bool isScalar = Emitter::typeOf(bound).getRank() == 0;
    return isScalar ? emit.reduceAdd(part, remainingDims(shape.size(), {})) : part;
  };
  g.add(x, [&] { return ifLess(low, x, ifLess(x, high, ct)); });
  // The upper bound takes precedence where the bounds cross.
  g.add(op.getMin(), [&] { return sumLike(op.getMin(), ifLess(x, low, ifLess(low, high, ct))); });
  g.add(op.getMax(), [&] { return sumLike(op.getMax(), ifLess(high, emit.max(x, low), ct)); });
}

static LogicalResult barrierRule(OptimizationBarrierOp op, ArrayRef<Value> cts, Gradients &g) {
  for (auto [operand, ct] : llvm::zip_equal(op->getOperands(), cts))
    if (ct)
      g.add(operand, ct);
  return success();
}

void st::populateElementwiseRules(GradientRules &rules) {
  rules.add<AddOp>(addRule);
  rules.add<SubtractOp>(subtractRule);
  rules.add<MulOp>(multiplyRule);
  rules.add<DivOp>(divideRule);
  rules.add<MaxOp>(extremumRule<MaxOp>);
  rules.add<MinOp>(extremumRule<MinOp>);
  rules.add<PowOp>(powerRule);
  rules.add<Atan2Op>(atan2Rule);
  rules.add<AbsOp>(absRule);
  addFunction<CbrtOp, cbrtDerivative>(rules);
  addFunction<CosineOp, cosineDerivative>(rules);
  addFunction<ExpOp, expDerivative>(rules);
  addFunction<Expm1Op, expm1Derivative>(rules);
  addFunction<LogisticOp, logisticDerivative>(rules);
  addFunction<RsqrtOp, rsqrtDerivative>(rules);
  addFunction<SineOp, sineDerivative>(rules);
  addFunction<SqrtOp, sqrtDerivative>(rules);
  addFunction<TanOp, tanDerivative>(rules);
  addFunction<TanhOp, tanhDerivative>(rules);
  addFunction<chlo::ErfOp, erfDerivative>(rules);
  addFunction<chlo::ErfcOp, erfcDerivative>(rules);
  addFunction<chlo::ErfInvOp, erfInvDerivative>(rules);
  addFunction<chlo::SquareOp, squareDerivative>(rules);
  addFunction<chlo::LgammaOp, lgammaDerivative>(rules);
  addFunction<chlo::DigammaOp, digammaDerivative>(rules);
  addFunction<chlo::SinhOp, sinhDerivative>(rules);
  addFunction<chlo::CoshOp, coshDerivative>(rules);
  addFunction<chlo::TanOp, tanDerivative>(rules);
  addFunction<chlo::AsinOp, asinDerivative>(rules);
  addFunction<chlo::AcosOp, acosDerivative>(rules);
  addFunction<chlo::AtanOp, atanDerivative>(rules);
  addFunction<chlo::AsinhOp, asinhDerivative>(rules);
  addFunction<chlo::AcoshOp, acoshDerivative>(rules);
  addFunction<chlo::AtanhOp, atanhDerivative>(rules);
  rules.add<RemOp>(remainderRule);
  rules.add<LogOp>(logRule);
  rules.add<Log1pOp>(log1pRule);
  rules.add<NegOp>(negateRule);
  rules.add<ConvertOp>(convertRule);
  rules.add<ReducePrecisionOp>(reducePrecisionRule);
  rules.add<SelectOp>(selectRule);
  rules.add<ClampOp>(clampRule);
  rules.addChecked<OptimizationBarrierOp>(barrierRule);
  rules.addChecked<chlo::PolygammaOp>(polygammaRule);
  rules.addChecked<chlo::ZetaOp>(zetaRule);
  rules.addZero<BitcastConvertOp, CeilOp, FloorOp, RoundOp, RoundNearestEvenOp, SignOp>();
  rules.allowComplex<AbsOp, AddOp, ConvertOp, CosineOp, DivOp, ExpOp, Expm1Op, LogOp, Log1pOp,
                     LogisticOp, MaxOp, MinOp, MulOp, NegOp, OptimizationBarrierOp, PowOp, RsqrtOp,
                     SelectOp, SineOp, SqrtOp, SubtractOp, TanOp, TanhOp, chlo::AcosOp,
                     chlo::AcoshOp, chlo::AsinOp, chlo::AsinhOp, chlo::AtanOp, chlo::AtanhOp,
                     chlo::CoshOp, chlo::SinhOp, chlo::SquareOp, chlo::TanOp>();
}
