#include "passes/Autodiff/OptimizerMoments.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace mlir::st;

using Direction = stablehlo::ComparisonDirection;

//===----------------------------------------------------------------------===//
// The dynamic map
//===----------------------------------------------------------------------===//
//
// Magnitudes between 10^(i-7) and 10^(i-6) are decade i of 0 to 6, which has 2^i values (signed,
// for each sign) or 2^(i+1): the centres of as many equal bins. Below all is 0, above all is 1.
// Ranks count magnitudes from zero, which has rank 0 (1 in a map without signs). The values of a
// decade of n values have ranks n to 2n-1. Coding and decoding are therefore formulas without table
// lookups.

namespace {
constexpr int kDecades = 7;
/// The code of zero in the signed map.
constexpr double kZeroCode = 127;

/// The values of one decade.
struct Decade {
  double count, top;
  double width() const { return 0.9 * top / count; }
  double first() const { return 0.1 * top + width() / 2; }
  double last() const { return top - width() / 2; }
};
} // namespace

static Decade decadeOf(int i, bool isSigned) {
  double top = 1;
  for (int j = i; j < kDecades - 1; ++j)
    top /= 10;
  return {static_cast<double>(1 << (isSigned ? i : i + 1)), top};
}

/// The rank of 1, which no decade has.
static double rankOfOne(bool isSigned) { return isSigned ? 128 : 256; }

/// The magnitude of each rank.
static Value decodeRank(Emitter &emit, Value rank, bool isSigned) {
  Value slope = emit.zerosLike(rank), start = slope;
  for (int i = 0; i < kDecades; ++i) {
    const Decade decade = decadeOf(i, isSigned);
    Value isIn = emit.compare(Direction::GE, rank, emit.splatLike(rank, decade.count));
    slope = emit.select(isIn, emit.splatLike(rank, decade.width()), slope);
    // first + (rank - count) * width
    start = emit.select(isIn, emit.splatLike(rank, decade.first() - decade.count * decade.width()),
                        start);
  }
  Value isOne = emit.compare(Direction::GE, rank, emit.splatLike(rank, rankOfOne(isSigned)));
  return emit.select(isOne, emit.splatLike(rank, 1.0), emit.add(emit.mul(rank, slope), start));
}

/// The rank of the value nearest to a magnitude of 0 to 1.
static Value encodeRank(Emitter &emit, Value magnitude, bool isSigned) {
  Value slope = emit.zerosLike(magnitude), start = emit.splatLike(magnitude, isSigned ? 0 : 1);
  Value largest = start;
  double below = 0;
  auto enter = [&](double from, double newSlope, double newStart, double newLargest) {
    Value isIn = emit.compare(Direction::GT, magnitude, emit.splatLike(magnitude, from));
    slope = emit.select(isIn, emit.splatLike(magnitude, newSlope), slope);
    start = emit.select(isIn, emit.splatLike(magnitude, newStart), start);
    largest = emit.select(isIn, emit.splatLike(magnitude, newLargest), largest);
  };
  for (int i = 0; i < kDecades; ++i) {
    const Decade decade = decadeOf(i, isSigned);
    // A value between two decades belongs to the nearer one.
    enter((below + decade.first()) / 2, 1 / decade.width(),
          decade.count - 0.1 * decade.top / decade.width(), 2 * decade.count - 1);
    below = decade.last();
  }
  enter((below + 1) / 2, 0, rankOfOne(isSigned), rankOfOne(isSigned));
  Value place = emit.add(emit.mul(magnitude, slope), start);
  Value bin = stablehlo::FloorOp::create(emit.builder, emit.loc, place.getType(), place);
  return emit.min(bin, largest);
}

static Value decode(Emitter &emit, Value code, bool isSigned) {
  Value number = emit.convert(code, emit.builder.getF32Type());
  if (!isSigned)
    return decodeRank(emit, emit.offset(number, 1), false);
  Value offset = emit.offset(number, -kZeroCode);
  Value magnitude = decodeRank(emit, emit.abs(offset), true);
  Value isNegative = emit.compare(Direction::LT, offset, emit.zerosLike(offset));
  return emit.select(isNegative, emit.neg(magnitude), magnitude);
}

static Value encode(Emitter &emit, Value x, bool isSigned) {
  Type ui8 = emit.builder.getIntegerType(8, /*isSigned=*/false);
  if (!isSigned)
    return emit.convert(emit.offset(encodeRank(emit, x, false), -1), ui8);
  Value rank = encodeRank(emit, emit.abs(x), true);
  // As in bitsandbytes, a negative value keeps its sign; there is no -1.
  Value below = emit.clamp(emit.splatLike(x, 1), rank, emit.splatLike(x, kZeroCode));
  Value isNegative = emit.compare(Direction::LT, x, emit.zerosLike(x));
  return emit.convert(emit.offset(emit.select(isNegative, emit.neg(below), rank), kZeroCode), ui8);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

namespace {
/// The division of a tensor's rows into blocks.
struct Blocks {
  explicit Blocks(ArrayRef<int64_t> shape)
      : shape(shape), row(shape.back()), unit(row <= kSize ? row : std::gcd(row, kUnit)),
        units(row / unit), perBlock(row <= kSize ? 1 : kSize / unit),
        count(llvm::divideCeil(units, perBlock)) {}

  /// The shape with other last dimensions.
  SmallVector<int64_t> with(ArrayRef<int64_t> last) const {
    SmallVector<int64_t> other(shape.drop_back());
    llvm::append_range(other, last);
    return other;
  }
  int64_t rank() const { return shape.size(); }
  SmallVector<int64_t> leading(int64_t dims) const {
    return llvm::to_vector(llvm::seq<int64_t>(0, dims));
  }

  static constexpr int64_t kSize = 256;
  /// Shards of a row need no elements of other shards if their length is a multiple of this.
  static constexpr int64_t kUnit = 32;

  ArrayRef<int64_t> shape;
  int64_t row, unit, units, perBlock, count;
};
} // namespace

/// The largest element of each block of a tensor of magnitudes.
static Value maximaOf(Emitter &emit, Value magnitudes, const Blocks &blocks) {
  const int64_t rank = blocks.rank();
  if (blocks.units == 1)
    return emit.reshape(emit.reduceMax(magnitudes, {rank - 1}), blocks.with({1}));
  Value maxima = magnitudes;
  if (blocks.unit > 1)
    maxima = emit.reduceMax(emit.reshape(maxima, blocks.with({blocks.units, blocks.unit})), {rank});
  SmallVector<int64_t> none(rank, 0), high(rank, 0);
  high.back() = blocks.count * blocks.perBlock - blocks.units;
  if (high.back() > 0) {
    Value zero = emit.splat(RankedTensorType::get({}, emit.builder.getF32Type()), 0);
    maxima = emit.pad(maxima, zero, none, high, none);
  }
  return emit.reduceMax(emit.reshape(maxima, blocks.with({blocks.count, blocks.perBlock})), {rank});
}

/// Broadcasts one number per block to all elements of the block.
static Value spread(Emitter &emit, Value numbers, const Blocks &blocks) {
  const int64_t rank = blocks.rank();
  if (blocks.units == 1)
    return emit.broadcast(emit.reshape(numbers, blocks.with({})), blocks.leading(rank - 1),
                          blocks.shape);
  Value units =
      emit.broadcast(numbers, blocks.leading(rank), blocks.with({blocks.count, blocks.perBlock}));
  units = emit.reshape(units, blocks.with({blocks.count * blocks.perBlock}));
  units = emit.sliceDim(units, rank - 1, 0, blocks.units);
  if (blocks.unit == 1)
    return units;
  return emit.reshape(
      emit.broadcast(units, blocks.leading(rank), blocks.with({blocks.units, blocks.unit})),
      blocks.shape);
}

//===----------------------------------------------------------------------===//
// Moments
//===----------------------------------------------------------------------===//

bool OptimizerMoments::isCoded(RankedTensorType type) const {
  return options.stateBits == 8 && type.getRank() > 0 &&
         type.getNumElements() >= options.min8BitSize;
}

Moment OptimizerMoments::add(const ParameterUpdate &update, StringRef suffix, bool isSigned) {
  RankedTensorType type = Emitter::typeOf(update.parameter);
  if (!isCoded(type)) {
    Value state = source.addState(update.name, suffix, type);
    return {state, isSigned, state, Value()};
  }
  const Blocks blocks(type.getShape());
  Type ui8 = emit.builder.getIntegerType(8, /*isSigned=*/false);
  Value codes = source.addState(update.name, suffix, type.clone(ui8));
  Value absmax = source.addState(update.name, suffix.str() + ".absmax",
                                 type.clone(blocks.with({blocks.count})));
  Value value = emit.mul(decode(emit, codes, isSigned), spread(emit, absmax, blocks));
  return {value, isSigned, codes, absmax};
}

void OptimizerMoments::set(const Moment &moment, Value updated) {
  if (!moment.absmax)
    return source.setState(moment.state, updated);
  const Blocks blocks(Emitter::shapeOf(updated));
  Value maxima = maximaOf(emit, moment.isSigned ? emit.abs(updated) : updated, blocks);
  // A block of zeros, or of subnormal numbers, has codes of zero. One inverse per block: the
  // division in a kernel may depend on fusion, and copies of a parameter must stay equal.
  Value isZero = emit.compare(Direction::LT, maxima,
                              emit.splatLike(maxima, std::numeric_limits<float>::min()));
  Value inverse =
      emit.select(isZero, emit.zerosLike(maxima), emit.div(emit.splatLike(maxima, 1), maxima));
  Value codes = encode(emit, emit.mul(updated, spread(emit, inverse, blocks)), moment.isSigned);
  source.setState(moment.state, codes);
  source.setState(moment.absmax, maxima);
}
