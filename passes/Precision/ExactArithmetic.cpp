#include "passes/Precision/ExactArithmetic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

static constexpr int kMantissaBits = 23; // of f32

static Value round(Emitter &emit, Value x) {
  return hlo::RoundNearestEvenOp::create(emit.builder, emit.loc, x.getType(), x);
}

static Value toInteger(Emitter &emit, Value x) {
  return emit.convert(x, emit.builder.getI64Type());
}

static Value toF32(Emitter &emit, Value x) { return emit.convert(x, emit.builder.getF32Type()); }

static double powerOfTwo(int exponent) { return std::ldexp(1.0, exponent); }

static int64_t countElements(Value x, ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= Emitter::shapeOf(x)[dim];
  return std::max<int64_t>(count, 1);
}

//===----------------------------------------------------------------------===//
// Fixed point
//===----------------------------------------------------------------------===//

/// Bits of sums in 64 bits: one is for the sign, and one for rounding up.
static constexpr int kSumBits = 62;

/// The magnitudes that limbs represent: below 2^kTop, in multiples of 2^kBottom.
static constexpr int kTop = 50, kBottom = -64;

FixedPoint::FixedPoint(int64_t addends)
    : bits(kSumBits - static_cast<int>(llvm::Log2_64_Ceil(addends))),
      count(llvm::divideCeil(kTop - kBottom, bits)) {}

int FixedPoint::unitExponent(int64_t limb) const {
  return kTop - bits * static_cast<int>(limb + 1);
}

SmallVector<Value> FixedPoint::toLimbs(Emitter &emit, Value x) const {
  SmallVector<Value> limbs;
  // Only round() rounds: a float minus one of its limbs is again a float.
  for (int64_t limb = 0; limb < count; ++limb) {
    Value multiple = round(emit, emit.scale(x, powerOfTwo(-unitExponent(limb))));
    limbs.push_back(toInteger(emit, multiple));
    if (limb + 1 < count)
      x = emit.sub(x, emit.scale(multiple, powerOfTwo(unitExponent(limb))));
  }
  return limbs;
}

Value FixedPoint::fromLimbs(Emitter &emit, ArrayRef<Value> limbs, Value largest) const {
  Value sum;
  for (auto [limb, value] : llvm::enumerate(limbs)) {
    Value part =
        emit.scale(toF32(emit, value), powerOfTwo(unitExponent(static_cast<int64_t>(limb))));
    sum = sum ? emit.add(part, sum) : part;
  }
  Value isSmall = emit.compare(hlo::ComparisonDirection::LT, largest,
                               emit.splatLike(largest, powerOfTwo(kTop)));
  Value infinity = emit.splatLike(largest, std::numeric_limits<double>::infinity());
  return emit.select(isSmall, sum, emit.mul(largest, infinity));
}

Value mlir::st::sumInFixedPoint(Emitter &emit, Value x, int64_t dim) {
  const FixedPoint form(countElements(x, dim));
  SmallVector<Value> sums;
  for (Value limb : form.toLimbs(emit, x))
    sums.push_back(emit.reduceAdd(limb, dim));
  return form.fromLimbs(emit, sums, emit.reduceMax(emit.abs(x), dim));
}

//===----------------------------------------------------------------------===//
// Scaled rows
//===----------------------------------------------------------------------===//

namespace {
/// A tensor whose rows are multiples of units, not yet rounded.
struct ScaledRows {
  Value multiples;
  Value unit; ///< by row: a power of two; NaN if the row is not finite
};
} // namespace

/// f32 powers of two with these biased exponents.
static Value powersOfTwo(Emitter &emit, Value exponents) {
  Value bits = emit.shiftLeft(exponents, emit.splatLike(exponents, kMantissaBits));
  auto type = RankedTensorType::get(Emitter::shapeOf(bits), emit.builder.getF32Type());
  return hlo::BitcastConvertOp::create(emit.builder, emit.loc, type, bits);
}

/// The biased exponents of f32 numbers without a sign.
static Value biasedExponents(Emitter &emit, Value x) {
  auto type = RankedTensorType::get(Emitter::shapeOf(x), emit.builder.getI32Type());
  Value bits = hlo::BitcastConvertOp::create(emit.builder, emit.loc, type, x);
  return emit.shiftRightLogical(bits, emit.splatLike(bits, kMantissaBits));
}

/// Scales the rows along `dims` so that no number exceeds 2^bits units.
static ScaledRows scaleRows(Emitter &emit, Value x, ArrayRef<int64_t> dims, int bits) {
  constexpr int kBias = 127, kLargestExponent = 254;
  Value largest = emit.reduceMax(emit.abs(x), dims);
  Value exponent = biasedExponents(emit, largest);
  // The scale and the unit are normal numbers.
  exponent = emit.max(exponent, emit.splatLike(exponent, bits));
  exponent = emit.min(exponent, emit.splatLike(exponent, kLargestExponent));
  // A number of biased exponent e is below 2^(e - kBias + 1).
  const int difference = bits + kBias - 1;
  Value scale = powersOfTwo(emit, emit.sub(emit.splatLike(exponent, difference + kBias), exponent));
  Value unit = powersOfTwo(emit, emit.add(exponent, emit.splatLike(exponent, kBias - difference)));
  SmallVector<int64_t> kept = remainingDims(Emitter::typeOf(x).getRank(), dims);
  Value multiples = emit.mul(x, emit.broadcast(scale, kept, Emitter::shapeOf(x)));
  // The addend is 0 for a finite row.
  return {multiples, emit.add(unit, emit.scale(largest, 0))};
}

Value mlir::st::sumExactly(Emitter &emit, Value x, ArrayRef<int64_t> dims) {
  constexpr int kMaxBits = 40;
  const int addendBits = kSumBits - static_cast<int>(llvm::Log2_64_Ceil(countElements(x, dims)));
  const ScaledRows rows = scaleRows(emit, x, dims, std::min(kMaxBits, addendBits));
  Value sum = emit.reduceAdd(toInteger(emit, round(emit, rows.multiples)), dims);
  return emit.mul(toF32(emit, sum), rows.unit);
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// Slices of the numbers of a row that add up to the numbers. Slice i counts multiples of
/// 2^(-bits * i) units, at most 2^(bits - 1) of them.
struct SlicePlan {
  /// For sums of this many products.
  explicit SlicePlan(int64_t products);
  int bits;
  int64_t count;
};

struct SlicedRows {
  SmallVector<Value> slices; ///< bf16
  Value unit;                ///< of ScaledRows
};
} // namespace

SlicePlan::SlicePlan(int64_t products) {
  // bf16 has the integers up to 2^8, and f32 those up to 2^24.
  constexpr int kMaxBits = 9, kExactBits = 24, kPrecision = 23;
  const int sumBits = static_cast<int>(llvm::Log2_64_Ceil(products));
  // At least 2 bits up to kMaxExactProducts.
  bits = std::min((kExactBits - sumBits) / 2 + 1, kMaxBits);
  count = 1 + llvm::divideCeil(kPrecision - (bits - 1), bits);
}

static SlicedRows sliceRows(Emitter &emit, Value x, ArrayRef<int64_t> contracted,
                            const SlicePlan &plan) {
  auto [rest, unit] = scaleRows(emit, x, contracted, plan.bits - 1);
  SlicedRows rows = {{}, unit};
  for (int64_t slice = 0; slice < plan.count; ++slice) {
    Value multiple = round(emit, rest);
    rows.slices.push_back(emit.convert(multiple, emit.builder.getBF16Type()));
    if (slice + 1 < plan.count)
      rest = emit.scale(emit.sub(rest, multiple), powerOfTwo(plan.bits));
  }
  return rows;
}

/// Broadcasts a value by row of an operand to the product's shape, where the operand's free
/// dimensions begin at `firstFree`.
static Value toProduct(Emitter &emit, Value byRow, int64_t rank, ArrayRef<int64_t> batch,
                       ArrayRef<int64_t> contracted, int64_t firstFree, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> positions; // of the operand's rows
  for (int64_t dim : remainingDims(rank, contracted)) {
    const auto *it = llvm::find(batch, dim);
    positions.push_back(it == batch.end() ? firstFree++ : it - batch.begin());
  }
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, positions.size()));
  llvm::sort(order, [&](int64_t a, int64_t b) { return positions[a] < positions[b]; });
  llvm::sort(positions);
  return emit.broadcast(emit.transpose(byRow, order), positions, shape);
}

Value mlir::st::multiplyExactly(Emitter &emit, Value lhs, Value rhs, const DotDims &dims) {
  const SlicePlan plan(countElements(lhs, dims.lhsContract));
  const SlicedRows left = sliceRows(emit, lhs, dims.lhsContract, plan);
  const SlicedRows right = sliceRows(emit, rhs, dims.rhsContract, plan);
  Value sum; // in units of the last level
  for (int64_t level = 0; level < plan.count; ++level) {
    if (sum)
      sum = emit.shiftLeft(sum, emit.splatLike(sum, plan.bits));
    for (int64_t i = 0; i <= level; ++i) {
      Value product = toInteger(emit, emit.dot(left.slices[i], right.slices[level - i], dims, {},
                                               emit.builder.getF32Type()));
      sum = sum ? emit.add(sum, product) : product;
    }
  }
  Value result =
      emit.scale(toF32(emit, sum), powerOfTwo(-plan.bits * static_cast<int>(plan.count - 1)));
  ArrayRef<int64_t> shape = Emitter::shapeOf(result);
  const auto batch = static_cast<int64_t>(dims.lhsBatch.size());
  const int64_t lhsRank = Emitter::typeOf(lhs).getRank(), rhsRank = Emitter::typeOf(rhs).getRank();
  const int64_t lhsFree = lhsRank - batch - static_cast<int64_t>(dims.lhsContract.size());
  result = emit.mul(
      result, toProduct(emit, left.unit, lhsRank, dims.lhsBatch, dims.lhsContract, batch, shape));
  return emit.mul(result, toProduct(emit, right.unit, rhsRank, dims.rhsBatch, dims.rhsContract,
                                    batch + lhsFree, shape));
}
