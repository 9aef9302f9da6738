// Trigonometric and hyperbolic functions and their inverses, from functions of the vector engine.

#include "passes/Kernels/Lowering/LowerTensorOps.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;
using Direction = stablehlo::ComparisonDirection;

static constexpr double kPi = 3.14159265358979323846, kLog2 = 0.69314718055994530942;
/// Above this, e^-x is negligible compared to e^x, in f64.
static constexpr double kOnlyOneExponential = 20;

namespace {
/// Formulas in f32 or f64.
class Functions {
public:
  explicit Functions(Emitter &emit) : emit(emit) {}

  Value atan2(Value y, Value x);
  Value asin(Value x) { return atan2(x, complement(x)); }
  Value acos(Value x) { return atan2(complement(x), x); }
  Value asinh(Value x);
  Value acosh(Value x);
  Value atanh(Value x);
  Value erfInverse(Value x);
  Value sinh(Value x);
  Value cosh(Value x);
  Value tan(Value x) { return emit.div(emit.sine(x), emit.cosine(x)); }

private:
  Emitter &emit;

  /// sqrt(1 - x^2), exact next to 1.
  Value complement(Value x) {
    return emit.sqrt(emit.mul(emit.sub(emit.splatLike(x, 1), x), emit.offset(x, 1)));
  }
  Value atanOfUnit(Value x);
  Value isNegative(Value x);
  Value nanLike(Value x) { return emit.splatLike(x, std::numeric_limits<double>::quiet_NaN()); }
  /// e^a / 2 for a large a, even if e^a overflows.
  Value halfOfExp(Value a) {
    Value root = emit.exp(emit.scale(a, 0.5));
    return emit.mul(emit.scale(root, 0.5), root);
  }
  Value withSignOf(Value magnitude, Value x) {
    return emit.select(isNegative(x), emit.neg(magnitude), magnitude);
  }
};
} // namespace

/// True for -0 as well.
Value Functions::isNegative(Value x) {
  RankedTensorType type = Emitter::typeOf(x);
  auto bits = IntegerType::get(type.getContext(), type.getElementType().getIntOrFloatBitWidth());
  Value integer = stablehlo::BitcastConvertOp::create(emit.builder, emit.loc, type.clone(bits), x);
  return emit.compare(Direction::LT, integer, emit.zerosLike(integer));
}

/// For 0 <= x <= 1: each halving of the angle, atan x = 2 atan(x / (1 + sqrt(1 + x^2))), moves x
/// closer to 0, where the Taylor series is short.
Value Functions::atanOfUnit(Value x) {
  bool isDouble = Emitter::typeOf(x).getElementType().isF64();
  int halvings = isDouble ? 3 : 2, terms = isDouble ? 10 : 6;
  for (int i = 0; i < halvings; ++i)
    x = emit.div(x, emit.offset(emit.sqrt(emit.offset(emit.mul(x, x), 1)), 1));
  Value square = emit.mul(x, x);
  Value sum = emit.splatLike(x, 1.0 / (2 * terms - 1));
  for (int k = terms - 2; k >= 0; --k)
    sum = emit.sub(emit.splatLike(x, 1.0 / (2 * k + 1)), emit.mul(square, sum));
  return emit.scale(emit.mul(x, sum), 1 << halvings);
}

Value Functions::atan2(Value y, Value x) {
  Value a = emit.abs(y), b = emit.abs(x), large = emit.max(a, b), small = emit.min(a, b);
  // Equal values, including infinities, have ratio 1; two zeros have ratio 0.
  Value isZero = emit.compare(Direction::EQ, large, emit.zerosLike(large));
  Value ratio = emit.div(small, emit.select(isZero, emit.splatLike(large, 1), large));
  ratio =
      emit.select(isZero, emit.zerosLike(ratio),
                  emit.select(emit.compare(Direction::EQ, a, b), emit.splatLike(ratio, 1), ratio));
  Value angle = atanOfUnit(ratio);
  angle = emit.select(emit.compare(Direction::GT, a, b),
                      emit.sub(emit.splatLike(angle, kPi / 2), angle), angle);
  angle = emit.select(isNegative(x), emit.sub(emit.splatLike(angle, kPi), angle), angle);
  Value sum = emit.add(x, y);
  Value isNan = emit.bitOr(emit.compare(Direction::NE, x, x), emit.compare(Direction::NE, y, y));
  return emit.select(isNan, sum, withSignOf(angle, y));
}

Value Functions::asinh(Value x) {
  Value a = emit.abs(x), square = emit.mul(a, a);
  Value root = emit.sqrt(emit.offset(square, 1));
  Value near = stablehlo::Log1pOp::create(emit.builder, emit.loc, a.getType(),
                                          emit.add(a, emit.div(square, emit.offset(root, 1))));
  Value far = emit.offset(emit.log(a), kLog2);
  Value isFar = emit.compare(Direction::GT, a, emit.splatLike(a, 1e9));
  return withSignOf(emit.select(isFar, far, near), x);
}

Value Functions::acosh(Value x) {
  Value t = emit.offset(x, -1), root = emit.sqrt(emit.mul(t, emit.offset(x, 1)));
  Value near = stablehlo::Log1pOp::create(emit.builder, emit.loc, x.getType(), emit.add(t, root));
  Value far = emit.offset(emit.log(x), kLog2);
  Value result = emit.select(emit.compare(Direction::GT, x, emit.splatLike(x, 1e9)), far, near);
  // The product under the root is positive again below -1.
  return emit.select(emit.compare(Direction::LT, x, emit.splatLike(x, 1)), nanLike(x), result);
}

/// (e^x - e^-x) / 2, with expm1 so that small arguments keep their precision.
Value Functions::sinh(Value x) {
  Value a = emit.abs(x), e = emit.expm1(a);
  Value near = emit.scale(emit.add(e, emit.div(e, emit.offset(e, 1))), 0.5);
  Value isFar = emit.compare(Direction::GT, a, emit.splatLike(a, kOnlyOneExponential));
  return withSignOf(emit.select(isFar, halfOfExp(a), near), x);
}

Value Functions::cosh(Value x) {
  Value a = emit.abs(x), e = emit.exp(a);
  Value near = emit.add(emit.scale(e, 0.5), emit.div(emit.splatLike(e, 0.5), e));
  Value isFar = emit.compare(Direction::GT, a, emit.splatLike(a, kOnlyOneExponential));
  return emit.select(isFar, halfOfExp(a), near);
}

Value Functions::atanh(Value x) {
  Value a = emit.abs(x), ratio = emit.div(emit.scale(a, 2), emit.sub(emit.splatLike(a, 1), a));
  Value half =
      emit.scale(stablehlo::Log1pOp::create(emit.builder, emit.loc, a.getType(), ratio), 0.5);
  return withSignOf(half, x);
}

/// In f64. An approximation to two digits (Winitzki, 2008), then Newton's method, which doubles the
/// digits in each step.
Value Functions::erfInverse(Value x) {
  constexpr double kA = 0.147;
  Value a = emit.abs(x), one = emit.splatLike(x, 1);
  Value isInside = emit.compare(Direction::LT, a, one);
  Value inside = emit.select(isInside, x, emit.zerosLike(x));
  Value log = emit.log(emit.mul(emit.sub(one, inside), emit.offset(inside, 1)));
  Value half = emit.offset(emit.scale(log, 0.5), 2 / (kPi * kA));
  Value y =
      emit.sqrt(emit.sub(emit.sqrt(emit.sub(emit.mul(half, half), emit.scale(log, 1 / kA))), half));
  y = withSignOf(y, inside);
  for (int step = 0; step < 4; ++step) {
    Value error = emit.sub(emit.erf(y), inside);
    y = emit.sub(y, emit.mul(emit.scale(error, std::sqrt(kPi) / 2), emit.exp(emit.mul(y, y))));
  }
  Value infinity = withSignOf(emit.splatLike(x, std::numeric_limits<double>::infinity()), x);
  Value outside = emit.select(emit.compare(Direction::EQ, a, one), infinity, nanLike(x));
  return emit.select(isInside, y, outside);
}

Value mlir::st::lowerTranscendental(Emitter &emit, Operation *op) {
  if (!isa<stablehlo::Atan2Op, chlo::AcosOp, chlo::AcoshOp, chlo::AsinOp, chlo::AsinhOp,
           chlo::AtanOp, chlo::AtanhOp, chlo::CoshOp, chlo::ErfInvOp, chlo::SinhOp, chlo::TanOp,
           stablehlo::TanOp>(op))
    return nullptr;
  Type element = Emitter::typeOf(op->getResult(0)).getElementType();
  // Near 1, the inverse of erf needs more precision than f32.
  bool isDouble = element.isF64() || isa<chlo::ErfInvOp>(op);
  Type wide = isDouble ? Type(Float64Type::get(element.getContext()))
                       : Type(Float32Type::get(element.getContext()));
  Value x = emit.convert(op->getOperand(0), wide);
  Functions functions(emit);
  Value result =
      TypeSwitch<Operation *, Value>(op)
          .Case([&](stablehlo::Atan2Op f) {
            return functions.atan2(x, emit.convert(f.getRhs(), wide));
          })
          .Case([&](chlo::AtanOp) { return functions.atan2(x, emit.splatLike(x, 1)); })
          .Case([&](chlo::AsinOp) { return functions.asin(x); })
          .Case([&](chlo::AcosOp) { return functions.acos(x); })
          .Case([&](chlo::AsinhOp) { return functions.asinh(x); })
          .Case([&](chlo::AcoshOp) { return functions.acosh(x); })
          .Case([&](chlo::CoshOp) { return functions.cosh(x); })
          .Case([&](chlo::SinhOp) { return functions.sinh(x); })
          .Case<stablehlo::TanOp, chlo::TanOp>([&](Operation *) { return functions.tan(x); })
          .Case([&](chlo::ErfInvOp) { return functions.erfInverse(x); })
          .Default([&](Operation *) { return functions.atanh(x); });
  return emit.convert(result, element);
}
