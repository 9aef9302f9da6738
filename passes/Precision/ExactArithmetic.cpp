#include "passes/Precision/ExactArithmetic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

static Value round(Emitter &emit, Value x) {
  return hlo::RoundNearestEvenOp::create(emit.builder, emit.loc, x.getType(), x);
}

static Value toInteger(Emitter &emit, Value x) {
  return emit.convert(x, emit.builder.getI64Type());
}

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

/// The magnitudes that limbs represent: below 2^kTop, in multiples of 2^kBottom.
static constexpr int kTop = 50, kBottom = -70;

FixedPoint::FixedPoint(int64_t addends) {
  // One bit is for the sign, and one for rounding up.
  constexpr int kMostBits = 40, kSumBits = 62;
  bits = std::min(kMostBits, kSumBits - static_cast<int>(llvm::Log2_64_Ceil(addends)));
  count = llvm::divideCeil(kTop - kBottom, bits);
}

int FixedPoint::unitExponent(int64_t limb) const {
  return kTop - bits * static_cast<int>(limb + 1);
}

SmallVector<Value> FixedPoint::toLimbs(Emitter &emit, Value x) const {
  SmallVector<Value> limbs;
  // No step rounds but round(): what a limb leaves of a float is a float.
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
    Value part = emit.scale(emit.convert(value, emit.builder.getF32Type()),
                            powerOfTwo(unitExponent(static_cast<int64_t>(limb))));
    sum = sum ? emit.add(part, sum) : part;
  }
  Value isSmall = emit.compare(hlo::ComparisonDirection::LT, largest,
                               emit.splatLike(largest, powerOfTwo(kTop)));
  Value infinity = emit.splatLike(largest, std::numeric_limits<double>::infinity());
  return emit.select(isSmall, sum, emit.mul(largest, infinity));
}

Value mlir::st::sumExactly(Emitter &emit, Value x, ArrayRef<int64_t> dims) {
  const FixedPoint form(countElements(x, dims));
  SmallVector<Value> sums;
  for (Value limb : form.toLimbs(emit, x))
    sums.push_back(emit.reduceAdd(limb, dims));
  return form.fromLimbs(emit, sums, emit.reduceMax(emit.abs(x), dims));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// Slices of the numbers of a row that add up to the numbers, relative to the row's scale: slice i
/// counts multiples of 2^(-bits * i), at most 2^(bits - 1) of them.
struct SlicePlan {
  /// For sums of this many products.
  explicit SlicePlan(int64_t products);
  int bits;
  int64_t count;
};

struct SlicedRows {
  SmallVector<Value> slices; ///< bf16
  Value unit;                ///< of slice 0, by row: a power of two; NaN if the row is not finite
};
} // namespace

SlicePlan::SlicePlan(int64_t products) {
  // bf16 has the integers up to 2^8, and f32 those up to 2^24.
  constexpr int kMostBits = 9, kExactBits = 24, kPrecision = 23;
  const int sumBits = static_cast<int>(llvm::Log2_64_Ceil(products));
  bits = std::clamp((kExactBits - sumBits) / 2 + 1, 2, kMostBits);
  count = 1 + llvm::divideCeil(kPrecision - (bits - 1), bits);
}

/// f32 powers of two with these biased exponents.
static Value powersOfTwo(Emitter &emit, Value exponents) {
  constexpr int kMantissaBits = 23;
  Value bits = emit.shiftLeft(exponents, emit.splatLike(exponents, kMantissaBits));
  auto type = RankedTensorType::get(Emitter::shapeOf(bits), emit.builder.getF32Type());
  return hlo::BitcastConvertOp::create(emit.builder, emit.loc, type, bits);
}

/// The biased exponents of f32 numbers without a sign.
static Value biasedExponents(Emitter &emit, Value x) {
  constexpr int kMantissaBits = 23;
  auto type = RankedTensorType::get(Emitter::shapeOf(x), emit.builder.getI32Type());
  Value bits = hlo::BitcastConvertOp::create(emit.builder, emit.loc, type, x);
  return emit.shiftRightLogical(bits, emit.splatLike(bits, kMantissaBits));
}

static SlicedRows sliceRows(Emitter &emit, Value x, ArrayRef<int64_t> contracted,
                            const SlicePlan &plan) {
  constexpr int kBias = 127, kLargestExponent = 254;
  Value largest = emit.reduceMax(emit.abs(x), contracted);
  Value exponent = biasedExponents(emit, largest);
  // Both powers of two below are normal numbers.
  exponent = emit.max(exponent, emit.splatLike(exponent, plan.bits));
  exponent = emit.min(exponent, emit.splatLike(exponent, kLargestExponent));
  // A number below 2^e has at most 2^(bits - 1) units of 2^(e - bits + 1).
  const int toUnit = kBias - 1 + plan.bits - 1;
  Value scale =
      powersOfTwo(emit, emit.sub(emit.splatLike(exponent, kBias + toUnit), exponent));
  Value unit =
      powersOfTwo(emit, emit.add(exponent, emit.splatLike(exponent, kBias - toUnit)));
  SlicedRows rows;
  // 0 for a finite number.
  rows.unit = emit.add(unit, emit.scale(largest, 0));
  SmallVector<int64_t> kept = remainingDims(Emitter::typeOf(x).getRank(), contracted);
  Value rest = emit.mul(x, emit.broadcast(scale, kept, Emitter::shapeOf(x)));
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
  Value result = emit.scale(emit.convert(sum, emit.builder.getF32Type()),
                            powerOfTwo(-plan.bits * static_cast<int>(plan.count - 1)));
  ArrayRef<int64_t> shape = Emitter::shapeOf(result);
  const auto batch = static_cast<int64_t>(dims.lhsBatch.size());
  const int64_t lhsRank = Emitter::typeOf(lhs).getRank(), rhsRank = Emitter::typeOf(rhs).getRank();
  const int64_t lhsFree = lhsRank - batch - static_cast<int64_t>(dims.lhsContract.size());
  result = emit.mul(result, toProduct(emit, left.unit, lhsRank, dims.lhsBatch, dims.lhsContract,
                                      batch, shape));
  return emit.mul(result, toProduct(emit, right.unit, rhsRank, dims.rhsBatch, dims.rhsContract,
                                    batch + lhsFree, shape));
}
