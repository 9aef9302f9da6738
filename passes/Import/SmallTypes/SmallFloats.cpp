#include "passes/Import/SmallTypes/SmallFloats.h"

using namespace mlir;
using namespace mlir::st;
using Direction = stablehlo::ComparisonDirection;

namespace {
/// f32 has 23 bits of mantissa and an exponent with this bias.
constexpr int kMantissa = 23, kBias = 127;

/// The properties of a float type that arithmetic on its bits needs.
struct Format {
  explicit Format(FloatType type)
      : semantics(type.getFloatSemantics()), width(static_cast<int>(type.getWidth())),
        mantissa(static_cast<int>(APFloat::semanticsPrecision(semantics)) - 1),
        // The smallest number of e8m0 is subnormal in f32, so this code treats it as zero.
        minExponent(std::max(APFloat::semanticsMinExponent(semantics), 1 - kBias)),
        maxExponent(
            std::min(static_cast<int>(APFloat::semanticsMaxExponent(semantics)), kBias - 2)),
        isSigned(APFloat::semanticsHasSignedRepr(semantics)),
        hasNegativeZero(isSigned && APFloat::getZero(semantics, /*Negative=*/true).isNegative()) {}

  const llvm::fltSemantics &semantics;
  int width;                    ///< bits
  int mantissa;                 ///< bits, without the leading one
  int minExponent, maxExponent; ///< exponents of the smallest normal and the largest number
  bool isSigned, hasNegativeZero;

  double largest() const { return toDouble(APFloat::getLargest(semantics)); }
  /// The result of rounding a number above the largest one.
  double overflowResult() const {
    if (APFloat::semanticsHasInf(semantics))
      return std::numeric_limits<double>::infinity();
    return APFloat::semanticsHasNaN(semantics) ? std::numeric_limits<double>::quiet_NaN()
                                               : largest();
  }
  static double toDouble(APFloat value) {
    // The NaN of a type without mantissa would become infinity.
    if (value.isNaN())
      return std::numeric_limits<double>::quiet_NaN();
    bool losesInfo = false;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &losesInfo);
    return value.convertToDouble();
  }
};

/// Shorthands for operations on the bits of f32 numbers.
class Bits {
public:
  explicit Bits(Emitter &emit) : emit(emit), ui32(emit.builder.getIntegerType(32, false)) {}

  Value of(Value x) { return bitcast(x, ui32); }
  Value number(Value bits) { return bitcast(bits, emit.builder.getF32Type()); }
  Value like(Value bits, int64_t value) { return emit.splatLike(bits, static_cast<double>(value)); }
  Value left(Value bits, int count) { return emit.shiftLeft(bits, like(bits, count)); }
  Value right(Value bits, int count) { return emit.shiftRightLogical(bits, like(bits, count)); }
  Value mask(Value bits, int64_t value) { return emit.bitAnd(bits, like(bits, value)); }

  Emitter &emit;
  Type ui32;

private:
  Value bitcast(Value x, Type element) {
    return stablehlo::BitcastConvertOp::create(emit.builder, emit.loc,
                                               Emitter::typeOf(x).clone(element), x);
  }
};
} // namespace

static Value roundToEven(Emitter &emit, Value x) {
  return stablehlo::RoundNearestEvenOp::create(emit.builder, emit.loc, x.getType(), x);
}

Value mlir::st::roundToFloat(Emitter &emit, Value x, FloatType type) {
  const Format format(type);
  Bits bits(emit);
  Value all = bits.of(x), size = emit.abs(x);
  // The spacing of the type's numbers near x is two to the power `exponent - mantissa`.
  Value exponent =
      emit.max(bits.right(bits.of(size), kMantissa), bits.like(all, format.minExponent + kBias));
  // The spacing is limited above the largest number, because its inverse must be finite.
  exponent = emit.min(exponent, bits.like(all, format.maxExponent + 1 + kBias));
  auto powerOf = [&](Value biased) { return bits.number(bits.left(biased, kMantissa)); };
  Value up = powerOf(emit.sub(bits.like(all, 2 * kBias), exponent)), down = powerOf(exponent);
  double step = std::ldexp(1.0, format.mantissa);
  Value rounded =
      emit.mul(emit.scale(roundToEven(emit, emit.scale(emit.mul(size, up), step)), 1 / step), down);
  auto choose = [&](Direction direction, Value a, double bound, double value) {
    return emit.select(emit.compare(direction, a, emit.splatLike(a, bound)),
                       emit.splatLike(a, value), rounded);
  };
  rounded = choose(Direction::GT, rounded, format.largest(), format.overflowResult());
  if (format.isSigned) {
    rounded = bits.number(emit.bitOr(bits.of(rounded), bits.mask(all, int64_t{1} << 31)));
    if (!format.hasNegativeZero)
      rounded = choose(Direction::EQ, rounded, 0.0, 0.0);
  } else {
    rounded = choose(Direction::LT, x, 0.0, std::numeric_limits<double>::quiet_NaN());
  }
  // A type without NaN gets a zero instead.
  Value isNumber = emit.compare(Direction::EQ, x, x);
  return emit.select(isNumber, rounded,
                     APFloat::semanticsHasNaN(format.semantics) ? x : emit.zerosLike(x));
}

Value mlir::st::decodeFloat(Emitter &emit, Value bits, FloatType type) {
  SmallVector<float> numbers;
  for (unsigned code = 0; code < 1u << type.getWidth(); ++code)
    numbers.push_back(static_cast<float>(
        Format::toDouble(APFloat(type.getFloatSemantics(), APInt(type.getWidth(), code)))));
  auto count = static_cast<int64_t>(numbers.size());
  Value table = emit.constant(DenseElementsAttr::get(
      RankedTensorType::get({count}, emit.builder.getF32Type()), ArrayRef<float>(numbers)));
  Value codes = emit.convert(bits, emit.builder.getI32Type());
  codes = emit.bitAnd(codes, emit.splatLike(codes, static_cast<double>(count - 1)));
  int64_t rank = Emitter::typeOf(codes).getRank();
  OperationState state(emit.loc, stablehlo::GatherOp::getOperationName(), {table, codes},
                       {Emitter::typeOf(codes).clone(emit.builder.getF32Type())});
  state.addAttribute("dimension_numbers",
                     stablehlo::GatherDimensionNumbersAttr::get(emit.builder.getContext(), {}, {0},
                                                                {}, {}, {0}, rank));
  state.addAttribute("slice_sizes", emit.builder.getDenseI64ArrayAttr({1}));
  state.addAttribute("indices_are_sorted", emit.builder.getBoolAttr(false));
  return emit.builder.create(state)->getResult(0);
}

Value mlir::st::encodeFloat(Emitter &emit, Value x, FloatType type) {
  const Format format(type);
  Bits bits(emit);
  Value size = emit.abs(x), own = bits.of(size);
  // A normal number has the upper bits of f32 with another bias; a subnormal one is an integer.
  // The exponents of e8m0 are those of f32.
  int bias = 1 - APFloat::semanticsMinExponent(format.semantics);
  bool isExponent = format.mantissa == 0;
  if (isExponent)
    bias = kBias;
  Value code = emit.sub(bits.right(own, kMantissa - format.mantissa),
                        bits.like(own, int64_t{kBias - bias} << format.mantissa));
  if (!isExponent) {
    Value isNormal = emit.compare(Direction::GE, size,
                                  emit.splatLike(size, std::ldexp(1.0, format.minExponent)));
    Value multiple = emit.scale(size, std::ldexp(1.0, format.mantissa - format.minExponent));
    code = emit.select(isNormal, code,
                       emit.convert(emit.min(multiple, emit.splatLike(size, 256)), bits.ui32));
  }
  auto codeOf = [&](const APFloat &value) {
    return static_cast<int64_t>(value.bitcastToAPInt().getZExtValue());
  };
  if (APFloat::semanticsHasInf(format.semantics)) {
    Value isInfinite = emit.compare(Direction::EQ, size,
                                    emit.splatLike(size, std::numeric_limits<double>::infinity()));
    code = emit.select(isInfinite, bits.like(own, codeOf(APFloat::getInf(format.semantics))), code);
  }
  if (format.isSigned)
    code = emit.bitOr(code, bits.left(bits.right(bits.of(x), 31), format.width - 1));
  if (APFloat::semanticsHasNaN(format.semantics)) {
    Value isNumber = emit.compare(Direction::EQ, x, x);
    code = emit.select(isNumber, code, bits.like(own, codeOf(APFloat::getNaN(format.semantics))));
  }
  return emit.convert(code, emit.builder.getIntegerType(8, false));
}
