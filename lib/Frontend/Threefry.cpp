//===- Threefry.cpp - Counter-based random bits ---------------------------===//

#include "lib/Frontend/Threefry.h"

using namespace mlir;
using namespace mlir::st;

/// The bit of an element's column that tells which word of a block is its own.
constexpr uint32_t kSecondWord = 8;

namespace {
/// The cipher's state and key schedule while rounds are emitted.
class Threefry {
public:
  Threefry(Emitter &emit, Value key, ArrayRef<int64_t> shape) : emit(emit), shape(shape) {
    Type word = emit.typeOf(key).getElementType();
    scalarType = RankedTensorType::get({}, word);
    fullType = RankedTensorType::get(shape, word);
    for (int64_t i : {0, 1})
      schedule[i] = emit.reshape(emit.sliceDim(key, 0, i, i + 1), {});
    constexpr uint32_t parity = 0x1BD11BDA;
    schedule[2] =
        emit.bitXor(emit.bitXor(schedule[0], schedule[1]), emit.splat(scalarType, parity));
  }

  Value run(uint32_t site);

private:
  /// The index in the dimensions [first, end), in the last one of the tensor that of the block;
  /// null where they are of size 1.
  Value rowMajorIndex(size_t first, size_t end);
  /// The index in the last dimension, and how far the column that an element's block is numbered
  /// by lies before it.
  Value columns();
  Value behindFirst() { return emit.bitAnd(columns(), emit.splat(fullType, kSecondWord)); }
  Value rotateLeft(Value x, unsigned amount);
  void round(unsigned rotation);
  /// Adds the schedule's words `group` and `group + 1`, and `group` itself.
  void injectKey(unsigned group);
  Value full(Value scalar) { return emit.broadcast(scalar, {}, shape); }

  Emitter &emit;
  ArrayRef<int64_t> shape;
  RankedTensorType scalarType, fullType;
  Value schedule[3];
  Value x0, x1;
};
} // namespace

Value Threefry::columns() {
  return emit.iota(shape, fullType.getElementType(), static_cast<int64_t>(shape.size()) - 1);
}

Value Threefry::rowMajorIndex(size_t first, size_t end) {
  Value index;
  int64_t stride = 1;
  for (size_t dim = end; dim-- > first;) {
    if (shape[dim] != 1) {
      Value term = dim + 1 == shape.size()
                       ? emit.sub(columns(), behindFirst())
                       : emit.iota(shape, fullType.getElementType(), static_cast<int64_t>(dim));
      if (stride != 1)
        term = emit.scale(term, static_cast<double>(stride));
      index = index ? emit.add(term, index) : term;
    }
    stride *= shape[dim];
  }
  return index;
}

Value Threefry::rotateLeft(Value x, unsigned amount) {
  return emit.bitOr(emit.shiftLeft(x, emit.splat(fullType, amount)),
                    emit.shiftRightLogical(x, emit.splat(fullType, 32 - amount)));
}

void Threefry::round(unsigned rotation) {
  x0 = emit.add(x0, x1);
  x1 = emit.bitXor(rotateLeft(x1, rotation), x0);
}

void Threefry::injectKey(unsigned group) {
  Value second = emit.add(schedule[(group + 1) % 3], emit.splat(scalarType, group));
  x0 = emit.add(x0, full(schedule[group % 3]));
  x1 = emit.add(x1, full(second));
}

Value Threefry::run(uint32_t site) {
  constexpr unsigned rotations[] = {13, 15, 26, 6, 17, 29, 16, 24};
  constexpr unsigned rounds = 13, roundsPerGroup = 4;
  assert(site < kMaxRandomSites && "the sites' part of the counter is full");
  size_t sliceDims = randomSliceDims(shape);
  x0 = full(emit.add(schedule[0], emit.splat(scalarType, site)));
  if (Value slice = rowMajorIndex(0, sliceDims))
    x0 = emit.add(x0, emit.scale(slice, kMaxRandomSites));
  Value index = rowMajorIndex(sliceDims, shape.size());
  x1 = full(schedule[1]);
  if (index)
    x1 = emit.add(index, x1);
  for (unsigned i = 0; i < rounds; ++i) {
    if (i > 0 && i % roundsPerGroup == 0)
      injectKey(i / roundsPerGroup);
    round(rotations[i % std::size(rotations)]);
  }
  if (shape.empty() || shape.back() <= kSecondWord)
    return x0;
  Value isFirst =
      emit.compare(stablehlo::ComparisonDirection::EQ, behindFirst(), emit.splat(fullType, 0));
  return emit.select(isFirst, x0, x1);
}

size_t st::randomSliceDims(ArrayRef<int64_t> shape) {
  size_t dims = shape.size();
  int64_t elements = 1;
  while (dims > 0 && !llvm::MulOverflow(elements, shape[dims - 1], elements) &&
         elements <= kMaxSliceElements)
    --dims;
  return dims;
}

Value st::emitRandomWords(Emitter &emit, Value key, uint32_t site, ArrayRef<int64_t> shape) {
  return Threefry(emit, key, shape).run(site);
}
