// Elementwise functions without a vector instruction.

#include "passes/Kernels/Lowering/LowerTensorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::st;
using Direction = stablehlo::ComparisonDirection;

static Value integer(Emitter &emit, Value like, uint64_t bits) {
  RankedTensorType type = Emitter::typeOf(like);
  return emit.constant(DenseElementsAttr::get(
      type, APInt(64, bits).trunc(type.getElementType().getIntOrFloatBitWidth())));
}

static Value bitsOf(Emitter &emit, Value x, bool isUnsigned) {
  RankedTensorType type = Emitter::typeOf(x);
  unsigned width = type.getElementType().getIntOrFloatBitWidth();
  auto element = IntegerType::get(type.getContext(), width,
                                  isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
  return stablehlo::BitcastConvertOp::create(emit.builder, emit.loc, type.clone(element), x);
}

// ---- integers -----------------------------------------------------------------------------------

/// Sums of bits in fields of 2, 4, … bits (Warren: Hacker's Delight, 5-1), without multiplying.
static Value lowerPopulationCount(Emitter &emit, stablehlo::PopulationCountOp op) {
  Value x = op.getOperand();
  unsigned width = Emitter::typeOf(x).getElementType().getIntOrFloatBitWidth();
  for (unsigned field = 1; field < width; field *= 2) {
    uint64_t mask = 0;
    for (unsigned bit = 0; bit < width; ++bit)
      if (bit / field % 2 == 0)
        mask |= uint64_t(1) << bit;
    Value even = emit.bitAnd(x, integer(emit, x, mask));
    Value odd =
        emit.bitAnd(emit.shiftRightLogical(x, integer(emit, x, field)), integer(emit, x, mask));
    x = emit.add(even, odd);
  }
  return x;
}

/// Sets all bits below the highest one, then counts the zeros above.
static Value lowerLeadingZeros(Emitter &emit, stablehlo::ClzOp op) {
  Value x = op.getOperand();
  unsigned width = Emitter::typeOf(x).getElementType().getIntOrFloatBitWidth();
  for (unsigned distance = 1; distance < width; distance *= 2)
    x = emit.bitOr(x, emit.shiftRightLogical(x, integer(emit, x, distance)));
  Value above = emit.bitXor(x, integer(emit, x, ~uint64_t(0)));
  return stablehlo::PopulationCountOp::create(emit.builder, emit.loc, above.getType(), above);
}

/// From products of halves (Hacker's Delight, 8-2); of 64 bits in halves of 32.
static Value lowerUpperProduct(Emitter &emit, chlo::MulhiOp op) {
  Value x = op.getLhs(), y = op.getRhs();
  Type element = Emitter::typeOf(x).getElementType();
  unsigned width = element.getIntOrFloatBitWidth();
  bool isUnsigned = element.isUnsignedInteger();
  auto shift = [&](Value v, bool arithmetic, uint64_t n) -> Value {
    Value amount = integer(emit, v, n);
    if (arithmetic)
      return stablehlo::ShiftRightArithmeticOp::create(emit.builder, emit.loc, v.getType(), v,
                                                       amount);
    return emit.shiftRightLogical(v, amount);
  };
  if (width < 64) {
    auto wide = IntegerType::get(op.getContext(), 2 * width,
                                 isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
    Value product = emit.mul(emit.convert(x, wide), emit.convert(y, wide));
    return emit.convert(shift(product, !isUnsigned, width), element);
  }
  Value mask = integer(emit, x, 0xffffffffu);
  Value x0 = emit.bitAnd(x, mask), y0 = emit.bitAnd(y, mask);
  Value x1 = shift(x, !isUnsigned, 32), y1 = shift(y, !isUnsigned, 32);
  Value low = shift(emit.mul(x0, y0), false, 32);
  Value t = emit.add(emit.mul(x1, y0), low);
  Value middle = emit.add(emit.mul(x0, y1), emit.bitAnd(t, mask));
  return emit.add(emit.add(emit.mul(x1, y1), shift(t, !isUnsigned, 32)),
                  shift(middle, !isUnsigned, 32));
}

/// Between elements of different widths: a wide element consists of narrow ones, lowest first.
static Value lowerBitcast(Emitter &emit, stablehlo::BitcastConvertOp op) {
  Value x = op.getOperand();
  RankedTensorType from = Emitter::typeOf(x), to = Emitter::typeOf(op.getResult());
  unsigned fromWidth = from.getElementTypeBitWidth(), toWidth = to.getElementTypeBitWidth();
  if (fromWidth == toWidth || fromWidth < 8 || toWidth < 8)
    return nullptr;
  MLIRContext *context = op.getContext();
  auto type = [&](unsigned width) {
    return IntegerType::get(context, width, IntegerType::Unsigned);
  };
  Value bits = bitsOf(emit, x, /*isUnsigned=*/true), result;
  SmallVector<int64_t> shape(from.getShape());
  int64_t last = static_cast<int64_t>(shape.size());
  if (fromWidth < toWidth) {
    for (int64_t i = 0, count = shape[last - 1]; i < count; ++i) {
      Value digit = emit.reshape(emit.sliceDim(bits, last - 1, i, i + 1), to.getShape());
      Value wide = emit.convert(digit, type(toWidth));
      wide = emit.shiftLeft(wide, integer(emit, wide, static_cast<uint64_t>(i) * fromWidth));
      result = result ? emit.bitOr(result, wide) : wide;
    }
  } else {
    SmallVector<Value> digits;
    shape.push_back(1);
    for (unsigned shift = 0; shift < fromWidth; shift += toWidth) {
      Value digit =
          emit.convert(emit.shiftRightLogical(bits, integer(emit, bits, shift)), type(toWidth));
      digits.push_back(emit.reshape(digit, shape));
    }
    result = emit.concatenate(digits, last);
  }
  return stablehlo::BitcastConvertOp::create(emit.builder, emit.loc, to, result);
}

// ---- floats -------------------------------------------------------------------------------------

/// The bits of floats as integers in the same order: negative numbers count downwards.
static Value orderedBits(Emitter &emit, Value x) {
  Value bits = bitsOf(emit, x, /*isUnsigned=*/false);
  unsigned width = Emitter::typeOf(bits).getElementType().getIntOrFloatBitWidth();
  Value sign = stablehlo::ShiftRightArithmeticOp::create(emit.builder, emit.loc, bits.getType(),
                                                         bits, integer(emit, bits, width - 1));
  return emit.bitXor(bits, emit.shiftRightLogical(sign, integer(emit, sign, 1)));
}

static Value lowerTotalOrder(Emitter &emit, stablehlo::CompareOp op) {
  if (op.getCompareType() != stablehlo::ComparisonType::TOTALORDER)
    return nullptr;
  return emit.compare(op.getComparisonDirection(), orderedBits(emit, op.getLhs()),
                      orderedBits(emit, op.getRhs()));
}

/// Rounds the mantissa to nearest even in the bits, then clears values outside the exponent range.
static Value lowerReducePrecision(Emitter &emit, stablehlo::ReducePrecisionOp op) {
  Value x = op.getOperand();
  auto type = cast<FloatType>(Emitter::typeOf(x).getElementType());
  unsigned width = type.getWidth(), mantissa = type.getFPMantissaWidth() - 1,
           exponent = width - 1 - mantissa;
  unsigned keptMantissa = std::min<unsigned>(op.getMantissaBits(), mantissa),
           keptExponent = std::min<unsigned>(op.getExponentBits(), exponent);
  Value bits = bitsOf(emit, x, /*isUnsigned=*/true);
  if (unsigned dropped = mantissa - keptMantissa) {
    uint64_t last = uint64_t(1) << dropped;
    Value lowest = emit.bitAnd(emit.shiftRightLogical(bits, integer(emit, bits, dropped)),
                               integer(emit, bits, 1));
    Value rounded = emit.add(bits, emit.add(lowest, integer(emit, bits, last / 2 - 1)));
    bits = emit.bitAnd(rounded, integer(emit, bits, ~(last - 1)));
  }
  Value sign = emit.bitAnd(bits, integer(emit, bits, uint64_t(1) << (width - 1)));
  if (keptExponent < exponent) {
    uint64_t bias = (uint64_t(1) << (exponent - 1)) - 1,
             keptBias = (uint64_t(1) << (keptExponent - 1)) - 1;
    Value field =
        emit.bitAnd(bits, integer(emit, bits, ((uint64_t(1) << exponent) - 1) << mantissa));
    Value isLarge =
        emit.compare(Direction::GT, field, integer(emit, bits, (bias + keptBias) << mantissa));
    Value isSmall =
        emit.compare(Direction::LE, field, integer(emit, bits, (bias - keptBias) << mantissa));
    Value infinity =
        emit.bitOr(sign, integer(emit, bits, ((uint64_t(1) << exponent) - 1) << mantissa));
    bits = emit.select(isSmall, sign, emit.select(isLarge, infinity, bits));
  }
  Value result = stablehlo::BitcastConvertOp::create(emit.builder, emit.loc, x.getType(), bits);
  return emit.select(emit.compare(Direction::NE, x, x), x, result);
}

/// In bit order, the neighbour is one away; next to zero it is the smallest number of that sign.
static Value lowerNextAfter(Emitter &emit, chlo::NextAfterOp op) {
  Value x = op.getLhs(), y = op.getRhs();
  Value bits = bitsOf(emit, x, /*isUnsigned=*/false), zero = emit.zerosLike(bits);
  unsigned width = Emitter::typeOf(bits).getElementType().getIntOrFloatBitWidth();
  uint64_t sign = uint64_t(1) << (width - 1);
  Value isNegative = emit.compare(Direction::LT, bits, zero);
  Value isInward = emit.compare(Direction::GT, emit.select(isNegative, emit.neg(x), x),
                                emit.select(isNegative, emit.neg(y), y));
  Value moved = emit.select(isInward, emit.sub(bits, integer(emit, bits, 1)),
                            emit.add(bits, integer(emit, bits, 1)));
  Value smallest = emit.bitOr(emit.bitAnd(bitsOf(emit, y, false), integer(emit, bits, sign)),
                              integer(emit, bits, 1));
  Value isZero =
      emit.compare(Direction::EQ, emit.bitAnd(bits, integer(emit, bits, sign - 1)), zero);
  Value next = stablehlo::BitcastConvertOp::create(emit.builder, emit.loc, x.getType(),
                                                   emit.select(isZero, smallest, moved));
  Value isNan = emit.bitOr(emit.compare(Direction::NE, x, x), emit.compare(Direction::NE, y, y));
  Value same = emit.select(emit.compare(Direction::EQ, x, y), y, next);
  return emit.select(isNan, emit.add(x, y), same);
}

Replacement mlir::st::lowerElementwise(Emitter &emit, Operation *op) {
  if (op->getNumResults() != 1 || !isa<RankedTensorType>(op->getResult(0).getType()))
    return std::nullopt;
  bool hasComplex = llvm::any_of(op->getOperands(), [](Value v) {
    auto type = dyn_cast<RankedTensorType>(v.getType());
    return type && isa<ComplexType>(type.getElementType());
  });
  if (hasComplex)
    return std::nullopt;
  Value result =
      TypeSwitch<Operation *, Value>(op)
          .Case(
              [&](stablehlo::PopulationCountOp count) { return lowerPopulationCount(emit, count); })
          .Case([&](stablehlo::ClzOp count) { return lowerLeadingZeros(emit, count); })
          .Case([&](stablehlo::BitcastConvertOp bits) { return lowerBitcast(emit, bits); })
          .Case([&](chlo::NextAfterOp next) { return lowerNextAfter(emit, next); })
          .Case([&](chlo::MulhiOp product) { return lowerUpperProduct(emit, product); })
          .Case([&](stablehlo::CompareOp compare) { return lowerTotalOrder(emit, compare); })
          .Case([&](stablehlo::ReducePrecisionOp reduce) {
            return lowerReducePrecision(emit, reduce);
          })
          // For real numbers.
          .Case<stablehlo::RealOp, chlo::ConjOp>(
              [](Operation *same) { return same->getOperand(0); })
          .Case([&](stablehlo::ImagOp part) { return emit.zerosLike(part.getOperand()); })
          .Default([&](Operation *other) {
            Value special = lowerSpecialFunction(emit, other);
            return special ? special : lowerTranscendental(emit, other);
          });
  return result ? Replacement(SmallVector<Value>{result}) : std::nullopt;
}
