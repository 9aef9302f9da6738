// Random bits from counters: threefry2x32 and philox4x32 of 64-bit states, as XLA lays them out.
// Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3 (SC 2011).

#include "passes/Kernels/Lowering/LowerTensorOps.h"

using namespace mlir;
using namespace mlir::st;
using Direction = stablehlo::ComparisonDirection;

namespace {
class BitGenerator {
public:
  BitGenerator(Emitter &emit, stablehlo::RngBitGeneratorOp op)
      : emit(emit), op(op), outputType(Emitter::typeOf(op.getOutput())),
        ui32(IntegerType::get(op.getContext(), 32, IntegerType::Unsigned)),
        ui64(IntegerType::get(op.getContext(), 64, IntegerType::Unsigned)) {}

  SmallVector<Value> threeFry();
  SmallVector<Value> philox();

private:
  using Words = SmallVector<Value, 4>;

  Emitter &emit;
  stablehlo::RngBitGeneratorOp op;
  RankedTensorType outputType;
  Type ui32, ui64;

  bool isWide() const { return outputType.getElementTypeBitWidth() == 64; }
  Value constant(Value like, uint64_t value) {
    unsigned width = Emitter::typeOf(like).getElementTypeBitWidth();
    return emit.constant(
        DenseElementsAttr::get(Emitter::typeOf(like), APInt(64, value).trunc(width)));
  }
  Value state(int64_t word) { return emit.sliceDim(op.getInitialState(), 0, word, word + 1); }
  /// Broadcasts a state word to a shape.
  Value spread(Value word, ArrayRef<int64_t> shape) {
    return emit.broadcast(emit.reshape(word, {}), {}, shape);
  }
  /// start, start + 1, … in row-major order.
  Value count(Value start, ArrayRef<int64_t> shape) {
    int64_t size = RankedTensorType::get(shape, ui64).getNumElements();
    return emit.reshape(emit.add(spread(start, {size}), emit.iota({size}, ui64, 0)), shape);
  }
  Value low(Value x) { return emit.convert(emit.bitAnd(x, constant(x, 0xffffffffu)), ui32); }
  Value high(Value x) { return emit.convert(emit.shiftRightLogical(x, constant(x, 32)), ui32); }
  Value join(Value first, Value second) {
    Value upper = emit.convert(second, ui64);
    return emit.bitOr(emit.convert(first, ui64), emit.shiftLeft(upper, constant(upper, 32)));
  }
  Value rotate(Value x, unsigned distance) {
    return emit.bitOr(emit.shiftLeft(x, constant(x, distance)),
                      emit.shiftRightLogical(x, constant(x, 32 - distance)));
  }
  Words threeFryOf(Value key, Value counters);
  Value stateOf(ArrayRef<Value> words) { return emit.concatenate(words, 0); }
  Value stack(ArrayRef<Value> values, int64_t dim);
};
} // namespace

BitGenerator::Words BitGenerator::threeFryOf(Value key, Value counters) {
  constexpr unsigned kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  Value all = spread(key, Emitter::shapeOf(counters)), k0 = low(all), k1 = high(all);
  Value keys[3] = {k0, k1, emit.bitXor(emit.bitXor(k0, k1), constant(k0, 0x1BD11BDA))};
  Value x = emit.add(low(counters), k0), y = emit.add(high(counters), k1);
  for (unsigned round = 0; round < 20; ++round) {
    x = emit.add(x, y);
    y = emit.bitXor(rotate(y, kRotations[round % 8]), x);
    if (round % 4 != 3)
      continue;
    unsigned injection = (round + 1) / 4;
    x = emit.add(x, keys[injection % 3]);
    y = emit.add(y, emit.add(keys[(injection + 1) % 3], constant(y, injection)));
  }
  return {x, y};
}

/// Concatenates the values along a new dimension after `dim`, then merges the two.
Value BitGenerator::stack(ArrayRef<Value> values, int64_t dim) {
  SmallVector<int64_t> shape(Emitter::shapeOf(values[0])), one(shape);
  one.insert(one.begin() + dim + 1, 1);
  SmallVector<Value> parts;
  for (Value value : values)
    parts.push_back(emit.reshape(value, one));
  shape[dim] *= static_cast<int64_t>(values.size());
  return emit.reshape(emit.concatenate(parts, dim + 1), shape);
}

/// A counter yields one 64-bit element, or two 32-bit elements that are adjacent along one
/// dimension: the first of even size, else the first of the largest.
SmallVector<Value> BitGenerator::threeFry() {
  Value key = state(0), counter = state(1);
  SmallVector<int64_t> shape(outputType.getShape());
  int64_t counts = outputType.getNumElements();
  Value bits;
  if (isWide() || shape.empty()) {
    Words words = threeFryOf(key, count(counter, shape));
    bits = isWide() ? join(words[0], words[1]) : words[0];
  } else {
    auto *even = llvm::find_if(shape, [](int64_t size) { return size % 2 == 0; });
    int64_t paired = (even != shape.end() ? even : llvm::max_element(shape)) - shape.begin();
    SmallVector<int64_t> halves(shape);
    halves[paired] = (halves[paired] + 1) / 2;
    counts = RankedTensorType::get(halves, ui32).getNumElements();
    bits = emit.sliceDim(stack(threeFryOf(key, count(counter, halves)), paired), paired, 0,
                         shape[paired]);
  }
  Value next = emit.add(counter, constant(counter, static_cast<uint64_t>(counts)));
  return {stateOf({key, next}), emit.convert(bits, outputType.getElementType())};
}

/// A counter yields two 64-bit elements or four others, in row-major order.
SmallVector<Value> BitGenerator::philox() {
  bool hasHigh = Emitter::shapeOf(op.getInitialState())[0] == 3;
  Value key = state(0), counter = state(1), upper = state(hasHigh ? 2 : 0);
  int64_t size = outputType.getNumElements(), each = isWide() ? 2 : 4,
          counts = llvm::divideCeil(size, each);
  Value sum = count(counter, {counts}), start = spread(counter, {counts});
  Value carry = emit.convert(emit.compare(Direction::LT, sum, start), ui64);
  Value top = emit.add(spread(upper, {counts}), carry), all = spread(key, {counts});
  Words x = {low(sum), high(sum), low(top), high(top)};
  Value k0 = low(all), k1 = high(all);
  for (int round = 0; round < 10; ++round) {
    auto times = [&](Value word, uint64_t factor) {
      Value wide = emit.convert(word, ui64);
      return emit.mul(wide, constant(wide, factor));
    };
    Value first = times(x[0], 0xD2511F53), second = times(x[2], 0xCD9E8D57);
    x = {emit.bitXor(emit.bitXor(high(second), x[1]), k0), low(second),
         emit.bitXor(emit.bitXor(high(first), x[3]), k1), low(first)};
    k0 = emit.add(k0, constant(k0, 0x9E3779B9));
    k1 = emit.add(k1, constant(k1, 0xBB67AE85));
  }
  Value bits = isWide() ? stack({join(x[0], x[1]), join(x[2], x[3])}, 0) : stack(x, 0);
  bits = emit.reshape(emit.sliceDim(bits, 0, 0, size), outputType.getShape());
  Value next = emit.add(counter, constant(counter, static_cast<uint64_t>(counts)));
  SmallVector<Value> words = {key, next};
  if (hasHigh)
    words.push_back(
        emit.add(upper, emit.convert(emit.compare(Direction::LT, next, counter), ui64)));
  return {stateOf(words), emit.convert(bits, outputType.getElementType())};
}

Replacement mlir::st::lowerRandomBits(Emitter &emit, stablehlo::RngBitGeneratorOp op) {
  RankedTensorType state = Emitter::typeOf(op.getInitialState()),
                   outputType = Emitter::typeOf(op.getOutput());
  if (auto type = dyn_cast<FloatType>(outputType.getElementType())) {
    // The bits of floats.
    auto bits = IntegerType::get(op.getContext(), type.getWidth(), IntegerType::Unsigned);
    auto drawn = stablehlo::RngBitGeneratorOp::create(emit.builder, emit.loc,
                                                      TypeRange{state, outputType.clone(bits)},
                                                      op.getRngAlgorithm(), op.getInitialState());
    return SmallVector<Value>{
        drawn.getOutputState(),
        stablehlo::BitcastConvertOp::create(emit.builder, emit.loc, outputType, drawn.getOutput())};
  }
  bool isThreeFry = op.getRngAlgorithm() == stablehlo::RngAlgorithm::THREE_FRY;
  int64_t words = state.getRank() == 1 ? state.getDimSize(0) : 0;
  if (!state.getElementType().isUnsignedInteger(64) ||
      !isa<IntegerType>(outputType.getElementType()) || outputType.getElementType().isInteger(1) ||
      outputType.getNumElements() == 0 || (words != 2 && (isThreeFry || words != 3)))
    return std::nullopt;
  BitGenerator generator(emit, op);
  return isThreeFry ? generator.threeFry() : generator.philox();
}
