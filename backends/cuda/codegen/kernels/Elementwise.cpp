#include "backends/cuda/codegen/kernels/Elementwise.h"

#include "backends/cuda/codegen/kernels/ElementaryFunctions.h"
#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Reducers.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::cuda;
namespace hlo = mlir::stablehlo;

// ---- types --------------------------------------------------------------------------------------

Type mlir::cuda::getComputeType(Type element) {
  if (isa<BFloat16Type, Float16Type, Float32Type, Float64Type>(element))
    return element;
  auto integer = dyn_cast<IntegerType>(element);
  if (!integer || !llvm::is_contained({1u, 8u, 16u, 32u, 64u}, integer.getWidth()))
    return {};
  return IntegerType::get(element.getContext(), integer.getWidth());
}

Type mlir::cuda::getStorageType(Type element) {
  return element.isInteger(1) ? IntegerType::get(element.getContext(), 8) : getComputeType(element);
}

Number mlir::cuda::toStorage(Number number) {
  return number.element().isInteger(1) ? number.toInteger(8, /*isUnsigned=*/true) : number;
}

Number mlir::cuda::fromStorage(Number number, Type element) {
  return element.isInteger(1) ? number != number.constant(0) : number;
}

static bool isUnsigned(Type element) { return element.isUnsignedInteger() || element.isInteger(1); }
static bool isHalf(Type element) { return isa<BFloat16Type, Float16Type>(element); }
static Type typeOf(Value value) { return getElementTypeOrSelf(value.getType()); }

static Number widen(Number x) {
  return isHalf(x.element()) ? x.toFloat(Float32Type::get(x.value.getContext())) : x;
}

// ---- conversions --------------------------------------------------------------------------------

/// Rounds f64 to f32, to the neighbour with an odd last bit if inexact, so that a second rounding
/// gives the correctly rounded result.
static Number roundToOdd(Number x) {
  Number nearest = x.toFloat(Float32Type::get(x.value.getContext()));
  Number back = nearest.toFloat(x.element()), bits = nearest.bits();
  Number isEven = (bits & bits.constant(1)) == bits.constant(0);
  Number isInexact = (back < x) | (back > x); // false for NaN
  Number odd = (back.abs() < x.abs()).select(bits + bits.constant(1), bits - bits.constant(1));
  return (isInexact & isEven).select(odd.asFloat(), nearest);
}

/// Converts a 64-bit integer to f64, rounding to odd if inexact.
static Number integerToOdd(Number x, bool isUnsigned) {
  // Both halves are exact, their sum is rounded once, and the rounding error is exact too.
  Type f64 = Float64Type::get(x.value.getContext());
  Number low = x & x.bitsConstant(0xffffffff);
  Number high = isUnsigned ? x.shiftLogical(32) : x >> 32;
  Number a = high.integerToFloat(f64, isUnsigned) * 4294967296.0,
         b = low.integerToFloat(f64, /*isUnsigned=*/true), sum = a + b;
  Number lost = b - (sum - a), bits = sum.bits();
  Number isEven = (bits & bits.constant(1)) == bits.constant(0);
  Number isUp = (lost > 0) ^ (sum < 0); // away from zero
  Number odd = isUp.select(bits + bits.constant(1), bits - bits.constant(1));
  return ((lost != lost.constant(0)) & isEven).select(odd.asFloat(), sum);
}

static Number convertFloat(Number x, Type to) {
  if (isHalf(to) && x.element().isF64())
    return roundToOdd(x).toFloat(to);
  return x.toFloat(to);
}

static Number convertIntegerToFloat(Number x, Type to, bool isUnsigned) {
  Type f64 = Float64Type::get(x.value.getContext());
  if (!isHalf(to))
    return x.integerToFloat(to, isUnsigned);
  Number wide = x.width() == 64 ? integerToOdd(x, isUnsigned) : x.integerToFloat(f64, isUnsigned);
  return convertFloat(wide, to);
}

/// Rounds towards zero. Saturates out-of-range numbers; NaN becomes 0.
static Number convertFloatToInteger(Number x, unsigned bits, bool isUnsigned) {
  x = widen(x);
  Number zero = x.constant(0);
  // The first integer above the maximum and the minimum itself are exact in any float.
  double past = std::ldexp(1.0, isUnsigned ? bits : bits - 1);
  double lowest = isUnsigned ? 0 : -past;
  Number isLarge = x >= x.constant(past), isSmall = x < x.constant(lowest);
  Number safe = (isLarge | isSmall | x.isNan()).select(zero, x);
  Number result = safe.floatToInteger(bits, isUnsigned);
  result = isLarge.select(result.extreme(/*largest=*/true, isUnsigned), result);
  return isSmall.select(result.extreme(/*largest=*/false, isUnsigned), result);
}

Number mlir::cuda::convertNumber(Number x, Type from, Type to) {
  if (to.isInteger(1))
    return x != x.constant(0);
  if (isa<FloatType>(from) && isa<FloatType>(to))
    return convertFloat(x, to);
  if (isa<FloatType>(from))
    return convertFloatToInteger(x, to.getIntOrFloatBitWidth(), to.isUnsignedInteger());
  if (isa<FloatType>(to))
    return convertIntegerToFloat(x, to, isUnsigned(from));
  return x.toInteger(to.getIntOrFloatBitWidth(), isUnsigned(from));
}

// ---- functions ----------------------------------------------------------------------------------

static std::optional<Function> getFunction(Operation *op) {
  return TypeSwitch<Operation *, std::optional<Function>>(op)
      .Case([](hlo::ExpOp) { return Function::Exp; })
      .Case([](hlo::Expm1Op) { return Function::Expm1; })
      .Case([](hlo::LogOp) { return Function::Log; })
      .Case([](hlo::Log1pOp) { return Function::Log1p; })
      .Case([](hlo::LogisticOp) { return Function::Logistic; })
      .Case([](hlo::TanhOp) { return Function::Tanh; })
      .Case([](hlo::CbrtOp) { return Function::Cbrt; })
      .Case([](hlo::SineOp) { return Function::Sin; })
      .Case([](hlo::CosineOp) { return Function::Cos; })
      .Case([](chlo::ErfOp) { return Function::Erf; })
      .Case([](chlo::ErfcOp) { return Function::Erfc; })
      .Default([](Operation *) { return std::nullopt; });
}

bool mlir::cuda::roundsTo16Bits(mlir::st::KernelOp kernel) {
  // The results may be 16-bit slices of one f32 number, and another layout may have other kernels.
  auto module = kernel->getParentOfType<ModuleOp>();
  if (kernel->hasAttr(mlir::st::kExactSumsAttr) ||
      (module && module->hasAttr(mlir::st::kExactSumsAttr)))
    return false;
  if (kernel->hasAttr(kRoundedAttr))
    return true;
  SmallVector<Type> floats;
  for (Value result : kernel.getResults())
    if (isa<FloatType>(typeOf(result)))
      floats.push_back(typeOf(result));
  return !floats.empty() && llvm::all_of(floats, isHalf);
}

/// Accuracy that an op needs in f32.
static Accuracy getAccuracy(Operation *op) {
  auto kernel = op->getParentOfType<mlir::st::KernelOp>();
  const bool isRounded =
      isHalf(typeOf(op->getResult(0))) || (kernel && mlir::cuda::roundsTo16Bits(kernel));
  return isRounded ? Accuracy::Rounded : Accuracy::F32;
}

/// Kernels of attention divide by sums of exponentials, so they multiply with reciprocals.
static Number divideFloats(Operation *op, Number x, Number y) {
  auto kernel = op->getParentOfType<mlir::st::KernelOp>();
  if (kernel && kernel->hasAttr(mlir::cuda::kRoundedAttr) && x.element().isF32())
    return x * approximate(Approximation::Reciprocal, y);
  return x / y;
}

/// Calls a function of the target's mathematical library for f64.
static Number applyFunction(Function function, Number x, Accuracy accuracy) {
  if (!x.element().isF64())
    return elementaryF32(function, x, accuracy);
  switch (function) {
  case Function::Exp:
    return x.call<math::ExpOp>();
  case Function::Expm1:
    return x.call<math::ExpM1Op>();
  case Function::Log:
    return x.call<math::LogOp>();
  case Function::Log1p:
    return x.call<math::Log1pOp>();
  case Function::Logistic: {
    Number e = (-x.abs()).call<math::ExpOp>();
    return x.isNan().select(x, (x < 0).select(e, x.constant(1)) / (e + 1));
  }
  case Function::Tanh:
    return x.call<math::TanhOp>();
  case Function::Cbrt:
    return x.call<math::CbrtOp>();
  case Function::Erf:
    return x.call<math::ErfOp>();
  case Function::Erfc:
    return x.call<math::ErfcOp>();
  case Function::Sin:
    return x.call<math::SinOp>();
  case Function::Cos:
    return x.call<math::CosOp>();
  }
  llvm_unreachable("all functions are listed");
}

static Number signOf(Number x, bool isUnsigned) {
  if (x.isFloat()) {
    Number one = x.constant(1).copySign(x);
    return ((x == 0) | x.isNan()).select(x, one);
  }
  Number zero = x.constant(0), one = x.bitsConstant(1);
  Number positive = (x == zero).select(zero, one);
  return isUnsigned ? positive : (x < zero).select(x.bitsConstant(~uint64_t(0)), positive);
}

/// Emits an op with one operand; returns std::nullopt if this type does not support it.
static std::optional<Number> unary(Operation *op, Number x) {
  Type type = typeOf(op->getOperand(0));
  bool isFloat = x.isFloat();
  using Result = std::optional<Number>;
  if (std::optional<Function> function = getFunction(op))
    return isFloat ? Result(applyFunction(*function, x, getAccuracy(op))) : std::nullopt;
  auto ofFloats = [&](auto make) { return isFloat ? Result(make()) : Result(); };
  return TypeSwitch<Operation *, Result>(op)
      .Case([&](hlo::NegOp) { return -x; })
      .Case([&](hlo::AbsOp) {
        return isFloat ? x.abs() : isUnsigned(type) ? x : (x < x.constant(0)).select(-x, x);
      })
      .Case([&](hlo::SignOp) { return signOf(x, isUnsigned(type)); })
      .Case([&](hlo::NotOp) { return ~x; })
      .Case([&](hlo::SqrtOp) { return ofFloats([&] { return x.sqrt(); }); })
      .Case([&](hlo::RsqrtOp) { return ofFloats([&] { return x.constant(1) / x.sqrt(); }); })
      .Case([&](hlo::FloorOp) { return ofFloats([&] { return x.floor(); }); })
      .Case([&](hlo::CeilOp) { return ofFloats([&] { return x.ceil(); }); })
      .Case([&](hlo::RoundOp) { return ofFloats([&] { return x.roundAway(); }); })
      .Case([&](hlo::RoundNearestEvenOp) { return ofFloats([&] { return x.roundEven(); }); })
      .Case([&](hlo::IsFiniteOp) {
        double infinity = std::numeric_limits<double>::infinity();
        return ofFloats([&] { return x.abs() < infinity; });
      })
      .Default([](Operation *) { return std::nullopt; });
}

// ---- two operands -------------------------------------------------------------------------------

static Number maximum(Number x, Number y, bool isUnsigned) {
  if (x.isFloat())
    return ((x > y) | x.isNan()).select(x, y);
  return (isUnsigned ? y.lessUnsigned(x) : y < x).select(x, y);
}

static Number minimum(Number x, Number y, bool isUnsigned) {
  if (x.isFloat())
    return ((x < y) | x.isNan()).select(x, y);
  return (isUnsigned ? x.lessUnsigned(y) : x < y).select(x, y);
}

/// Quotient and remainder of integers. Replaces the divisors for which division instructions are
/// undefined. By zero, the results are all ones and the dividend. By -1, they are the negated
/// dividend, wrapped, and zero.
static Number divide(Number x, Number y, bool isUnsigned, bool wantsRemainder) {
  Number zero = x.constant(0), one = x.bitsConstant(1), ones = x.bitsConstant(~uint64_t(0));
  Number isZero = y == zero, isMinusOne = y == ones;
  Number safe = (isUnsigned ? isZero : isZero | isMinusOne).select(one, y);
  if (wantsRemainder) {
    Number rest = isUnsigned ? x.binaryOp<arith::RemUIOp>(safe) : x.binaryOp<arith::RemSIOp>(safe);
    return isZero.select(x, rest);
  }
  Number quotient =
      isUnsigned ? x.binaryOp<arith::DivUIOp>(safe) : x.binaryOp<arith::DivSIOp>(safe);
  if (!isUnsigned)
    quotient = isMinusOne.select(-x, quotient);
  return isZero.select(ones, quotient);
}

/// Computes a power by squaring. A negative exponent gives 0 except for bases of 1 and -1.
static Number integerPower(Number base, Number exponent, bool isUnsigned) {
  Number zero = base.constant(0), one = base.bitsConstant(1), result = one, square = base;
  for (unsigned bit = 0; bit < base.width(); ++bit) {
    Number isSet = (exponent & exponent.bitsConstant(uint64_t(1) << bit)) != zero;
    result = isSet.select(result * square, result);
    square = square * square;
  }
  if (isUnsigned)
    return result;
  Number isUnit = (base == one) | (base == base.bitsConstant(~uint64_t(0)));
  return ((exponent < zero) & ~isUnit).select(zero, result);
}

/// Shifting by at least the width, with the amount unsigned, shifts everything out.
static Number shift(Operation *op, Number x, Number amount) {
  Number width = amount.constant(x.width()), isInside = amount.lessUnsigned(width);
  bool isArithmetic = isa<hlo::ShiftRightArithmeticOp>(op);
  Number limit = amount.constant(x.width() - 1);
  Number safe = isInside.select(amount, limit);
  if (isArithmetic)
    return x.binaryOp<arith::ShRSIOp>(safe);
  Number shifted = isa<hlo::ShiftLeftOp>(op) ? x.binaryOp<arith::ShLIOp>(safe)
                                             : x.binaryOp<arith::ShRUIOp>(safe);
  return isInside.select(shifted, x.constant(0));
}

static std::optional<Number> compare(hlo::CompareOp op, Number x, Number y, bool isUnsigned) {
  using hlo::ComparisonDirection;
  if (op.getCompareType() == hlo::ComparisonType::TOTALORDER && x.isFloat())
    return std::nullopt;
  auto less = [&](Number a, Number b) { return isUnsigned ? a.lessUnsigned(b) : a < b; };
  auto lessOrEqual = [&](Number a, Number b) { return isUnsigned ? ~b.lessUnsigned(a) : a <= b; };
  switch (op.getComparisonDirection()) {
  case ComparisonDirection::EQ:
    return x == y;
  case ComparisonDirection::NE:
    return x != y;
  case ComparisonDirection::LT:
    return less(x, y);
  case ComparisonDirection::GT:
    return less(y, x);
  case ComparisonDirection::LE:
    return lessOrEqual(x, y);
  case ComparisonDirection::GE:
    return lessOrEqual(y, x);
  }
  llvm_unreachable("all directions are listed");
}

static std::optional<Number> binary(Operation *op, Number x, Number y) {
  Type type = typeOf(op->getOperand(0));
  bool isFloat = x.isFloat(), unsignedType = isUnsigned(type), isPredicate = type.isInteger(1);
  using Result = std::optional<Number>;
  auto ofIntegers = [&](auto make) { return isFloat ? Result() : Result(make()); };
  return TypeSwitch<Operation *, Result>(op)
      .Case([&](hlo::AddOp) { return isPredicate ? x | y : x + y; })
      .Case([&](hlo::SubtractOp) { return x - y; })
      .Case([&](hlo::MulOp) { return isPredicate ? x & y : x * y; })
      .Case([&](hlo::DivOp) {
        return isFloat ? divideFloats(op, x, y) : divide(x, y, unsignedType, false);
      })
      .Case([&](hlo::RemOp) {
        return isFloat ? x.binaryOp<arith::RemFOp>(y) : divide(x, y, unsignedType, true);
      })
      .Case([&](hlo::MaxOp) { return maximum(x, y, unsignedType); })
      .Case([&](hlo::MinOp) { return minimum(x, y, unsignedType); })
      .Case([&](hlo::PowOp) {
        if (!isFloat)
          return integerPower(x, y, unsignedType);
        return x.element().isF64() ? x.binaryOp<math::PowFOp>(y) : powF32(x, y);
      })
      .Case([&](hlo::AndOp) { return ofIntegers([&] { return x & y; }); })
      .Case([&](hlo::OrOp) { return ofIntegers([&] { return x | y; }); })
      .Case([&](hlo::XorOp) { return ofIntegers([&] { return x ^ y; }); })
      .Case<hlo::ShiftLeftOp, hlo::ShiftRightLogicalOp, hlo::ShiftRightArithmeticOp>(
          [&](Operation *shiftOp) { return ofIntegers([&] { return shift(shiftOp, x, y); }); })
      .Case([&](hlo::CompareOp comparison) { return compare(comparison, x, y, unsignedType); })
      .Default([](Operation *) { return std::nullopt; });
}

// ---- entry --------------------------------------------------------------------------------------

FailureOr<Number> mlir::cuda::emitElementwise(Operation *op, ArrayRef<Number> operands) {
  Type type = typeOf(op->getResult(0)), from = typeOf(op->getOperand(0));
  if (isa<hlo::ConvertOp>(op))
    return convertNumber(operands[0], from, type);
  if (isa<hlo::SelectOp>(op))
    return operands[0].select(operands[1], operands[2]);
  if (isa<hlo::BitcastConvertOp>(op) && getComputeType(type) &&
      type.getIntOrFloatBitWidth() == operands[0].width())
    return operands[0].bitcast(getComputeType(type));
  SmallVector<Number> wide = llvm::map_to_vector(operands, widen);
  std::optional<Number> result;
  if (isa<hlo::ClampOp>(op))
    result = minimum(maximum(wide[1], wide[0], isUnsigned(type)), wide[2], isUnsigned(type));
  else if (operands.size() == 1)
    result = unary(op, wide[0]);
  else if (operands.size() == 2)
    result = binary(op, wide[0], wide[1]);
  if (!result)
    return op->emitOpError("is not supported by the CUDA backend");
  return result->isFloat() ? result->toFloat(type) : *result;
}

// ---- reductions ---------------------------------------------------------------------------------

FailureOr<Combiner> Combiner::get(Operation *reduction) {
  auto refuse = [&]() -> FailureOr<Combiner> {
    return reduction->emitOpError("with this body is not supported by the CUDA backend");
  };
  Operation *inner = mlir::st::findCombiner(reduction->getRegion(0));
  if (!inner)
    return refuse();
  Type element = typeOf(inner->getOperand(0));
  bool isPredicate = element.isInteger(1);
  std::optional<Kind> kind =
      TypeSwitch<Operation *, std::optional<Kind>>(inner)
          .Case([&](hlo::AddOp) { return isPredicate ? Kind::Or : Kind::Add; })
          .Case([&](hlo::MulOp) { return isPredicate ? Kind::And : Kind::Mul; })
          .Case([](hlo::MaxOp) { return Kind::Max; })
          .Case([](hlo::MinOp) { return Kind::Min; })
          .Case([](hlo::AndOp) { return Kind::And; })
          .Case([](hlo::OrOp) { return Kind::Or; })
          .Case([](hlo::XorOp) { return Kind::Xor; })
          .Default([](Operation *) { return std::nullopt; });
  if (!kind || !getComputeType(element))
    return refuse();
  return Combiner(*kind, element);
}

Type Combiner::getType() const {
  return isHalf(element) ? Float32Type::get(element.getContext()) : getComputeType(element);
}

Number Combiner::combine(Number a, Number b) const {
  if (byInstruction && a.element().isF32() && (kind == Kind::Max || kind == Kind::Min))
    return kind == Kind::Max ? a.binaryOp<arith::MaximumFOp>(b) : a.binaryOp<arith::MinimumFOp>(b);
  switch (kind) {
  case Kind::Add:
    return a + b;
  case Kind::Mul:
    return a * b;
  case Kind::Max:
    return maximum(a, b, isUnsigned(element));
  case Kind::Min:
    return minimum(a, b, isUnsigned(element));
  case Kind::And:
    return a & b;
  case Kind::Or:
    return a | b;
  case Kind::Xor:
    return a ^ b;
  }
  llvm_unreachable("all kinds are listed");
}

Number Combiner::identity(Number like) const {
  Number typed = like.zeroOf(getType());
  switch (kind) {
  case Kind::Add:
  case Kind::Or:
  case Kind::Xor:
    return typed.bitsConstant(0);
  case Kind::Mul:
    return typed.isFloat() ? typed.constant(1) : typed.bitsConstant(1);
  case Kind::Max:
    return typed.extreme(/*largest=*/false, isUnsigned(element));
  case Kind::Min:
    return typed.extreme(/*largest=*/true, isUnsigned(element));
  case Kind::And:
    return typed.bitsConstant(~uint64_t(0));
  }
  llvm_unreachable("all kinds are listed");
}

Number Combiner::combineElements(Number vector) const {
  auto type = dyn_cast<VectorType>(vector.value.getType());
  if (!type)
    return vector;
  SmallVector<Number> elements = elementsOf(vector);
  for (size_t count = elements.size(); count > 1; count = llvm::divideCeil(count, 2))
    for (size_t i = 0; i + llvm::divideCeil(count, 2) < count; ++i)
      elements[i] = combine(elements[i], elements[i + llvm::divideCeil(count, 2)]);
  return elements[0];
}
