//===- DropoutMask.cpp - Counter-based masks of dropout -------------------===//

#include "dialects/StableHLO/Utils/DropoutMask.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::st;
using stablehlo::ComparisonDirection;

/// The bit of an element's row and column that selects its part of a block.
constexpr uint32_t kOtherPart = 8;
constexpr unsigned kBits = 16;
constexpr uint32_t kMultiplier = 0xD256D193;

namespace {
/// The cipher's state and the element positions while rounds are emitted.
class MaskEmitter {
public:
  MaskEmitter(Emitter &emit, Value key, ArrayRef<int64_t> shape)
      : emit(emit), key(key), shape(shape) {
    word = emit.typeOf(key).getElementType();
    wide = IntegerType::get(word.getContext(), 64, IntegerType::Unsigned);
    scalarType = RankedTensorType::get({}, word);
    fullType = RankedTensorType::get(shape, word);
  }

  Value run(uint32_t site, uint32_t rate);

private:
  Value getKeyWord(int64_t i) { return emit.reshape(emit.sliceDim(key, 0, i, i + 1), {}); }
  Value full(Value scalar) { return emit.broadcast(scalar, {}, shape); }
  Value fullConstant(uint32_t value) { return emit.splat(fullType, value); }
  /// Returns true if positions along a dimension may have the bit of another part: rows and columns
  /// of more than 8.
  bool hasParts(size_t dim) const { return dim + 2 >= shape.size() && shape[dim] > kOtherPart; }
  Value getPosition(size_t dim) { return emit.iota(shape, word, static_cast<int64_t>(dim)); }
  Value getPart(size_t dim) { return emit.bitAnd(getPosition(dim), fullConstant(kOtherPart)); }
  /// An i1.
  Value isFirstPart(size_t dim) {
    return emit.compare(ComparisonDirection::EQ, getPart(dim), fullConstant(0));
  }
  /// The index of an element's block in the dimensions [first, end); null if their sizes are 1.
  Value rowMajorIndex(size_t first, size_t end);
  void drawBlock(uint32_t site);
  void round(Value roundKey);

  Emitter &emit;
  Value key;
  ArrayRef<int64_t> shape;
  Type word, wide;
  RankedTensorType scalarType, fullType;
  Value x0, x1; ///< x1 is null for zeros
};
} // namespace

Value MaskEmitter::rowMajorIndex(size_t first, size_t end) {
  Value index;
  int64_t stride = 1;
  for (size_t dim = end; dim-- > first;) {
    if (shape[dim] != 1) {
      Value term = getPosition(dim);
      if (hasParts(dim))
        term = emit.sub(term, getPart(dim));
      if (stride != 1)
        term = emit.scale(term, static_cast<double>(stride));
      index = index ? emit.add(term, index) : term;
    }
    stride *= shape[dim];
  }
  return index;
}

/// Exchanges the words: the first is multiplied, and the product's upper half is mixed with the key
/// and the other word.
void MaskEmitter::round(Value roundKey) {
  Value product = emit.scale(emit.convert(x0, wide), kMultiplier);
  Value thirtyTwo = emit.splat(RankedTensorType::get(shape, wide), 32);
  Value high = emit.convert(emit.shiftRightLogical(product, thirtyTwo), word);
  Value mixed = full(roundKey);
  if (x1)
    mixed = emit.bitXor(x1, mixed);
  x0 = emit.bitXor(mixed, high);
  x1 = emit.convert(product, word);
}

void MaskEmitter::drawBlock(uint32_t site) {
  constexpr unsigned rounds = 8;
  constexpr uint32_t keyIncrement = 0x9E3779B9, stepFactor = 0xBB67AE85;
  assert(site < kMaxRandomSites && "the sites' part of the counter is full");
  auto scalar = [&](uint32_t value) { return emit.splat(scalarType, value); };
  Value key = emit.add(getKeyWord(0), emit.scale(getKeyWord(1), stepFactor));
  const size_t sliceDims = randomSliceDims(shape);
  Value index = rowMajorIndex(sliceDims, shape.size());
  if (!index)
    index = fullConstant(0);
  uint32_t left = 0;
  if (Value slice = rowMajorIndex(0, sliceDims)) {
    x0 = emit.add(emit.scale(slice, kMaxRandomSites), fullConstant(site));
    x1 = index;
    round(key);
  } else {
    // The first word is the site only, so its product is a constant that is added to the keys.
    // Sites then differ only in scalars.
    const uint64_t product = uint64_t(site) * kMultiplier;
    x0 = emit.bitXor(index, full(emit.bitXor(key, scalar(product >> 32))));
    left = static_cast<uint32_t>(product);
  }
  for (uint32_t i = 1; i < rounds; ++i) {
    Value roundKey = emit.add(key, scalar(i * keyIncrement));
    round(i == 1 && left ? emit.bitXor(roundKey, scalar(left)) : roundKey);
  }
}

Value MaskEmitter::run(uint32_t site, uint32_t rate) {
  drawBlock(site);
  Value drawn = x0;
  const size_t rank = shape.size();
  if (rank > 0 && hasParts(rank - 1))
    drawn = emit.select(isFirstPart(rank - 1), x0, x1);
  // Halves are compared in the upper bits: the lower bits do not matter, as the rate has zeros
  // there.
  if (rank > 1 && hasParts(rank - 2))
    drawn = emit.select(isFirstPart(rank - 2), drawn, emit.shiftLeft(drawn, fullConstant(kBits)));
  return emit.compare(ComparisonDirection::GE, drawn, fullConstant(rate << kBits));
}

size_t st::randomSliceDims(ArrayRef<int64_t> shape) {
  size_t dims = shape.size();
  int64_t elements = 1;
  while (dims > 0 && !llvm::MulOverflow(elements, shape[dims - 1], elements) &&
         elements <= kMaxSliceElements)
    --dims;
  return dims;
}

bool st::hasDropoutMask(ArrayRef<int64_t> shape) {
  double slices = 1;
  for (int64_t size : shape.take_front(randomSliceDims(shape)))
    slices *= static_cast<double>(size);
  return slices <= kMaxRandomSlices;
}

uint32_t st::roundDropoutRate(double probability) {
  return static_cast<uint32_t>(std::min(std::round(std::ldexp(probability, kBits)), 65535.0));
}

Value st::emitDropoutMask(Emitter &emit, Value key, uint32_t site, ArrayRef<int64_t> shape,
                          uint32_t rate) {
  assert(rate < (1U << kBits) && "some elements are kept");
  return MaskEmitter(emit, key, shape).run(site, rate);
}

Value st::emitDropout(Emitter &emit, Value x, Value key, uint32_t site, uint32_t rate) {
  Value keep = emitDropoutMask(emit, key, site, emit.shapeOf(x), rate);
  const double kept = 1.0 - std::ldexp(static_cast<double>(rate), -static_cast<int>(kBits));
  return emit.select(keep, emit.scale(x, 1.0 / kept), emit.zerosLike(x));
}
