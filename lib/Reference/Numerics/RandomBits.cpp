#include "lib/Reference/Numerics/RandomBits.h"

#include "lib/Reference/Numerics/IndexIterator.h"

#include <array>
#include <cstring>

// Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011: the functions
// threefry2x32-20 and philox4x32-10. Counters are assigned to elements as in XLA.
namespace mlir::st::ref {
namespace {

using Words2 = std::array<uint32_t, 2>;
using Words4 = std::array<uint32_t, 4>;

Words2 toWords(uint64_t value) {
  return {static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)};
}

uint64_t fromWords(uint32_t low, uint32_t high) { return low | static_cast<uint64_t>(high) << 32; }

Words2 threeFry(Words2 key, Words2 x) {
  constexpr int kRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDA};
  x = {x[0] + keys[0], x[1] + keys[1]};
  for (uint32_t round = 0; round < 20; ++round) {
    int rotation = kRotations[round % 8];
    x[0] += x[1];
    x[1] = (x[1] << rotation | x[1] >> (32 - rotation)) ^ x[0];
    if (uint32_t injection = (round + 1) / 4; round % 4 == 3)
      x = {x[0] + keys[injection % 3], x[1] + keys[(injection + 1) % 3] + injection};
  }
  return x;
}

Words4 philox(Words2 key, Words4 x) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53) * x[0], second = uint64_t(0xCD9E8D57) * x[2];
    x = {static_cast<uint32_t>(second >> 32) ^ x[1] ^ key[0], static_cast<uint32_t>(second),
         static_cast<uint32_t>(first >> 32) ^ x[3] ^ key[1], static_cast<uint32_t>(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return x;
}

/// Puts the low bytes of a word into element `i` of the result.
void store(Tensor &result, std::byte *bytes, int64_t i, uint64_t word) {
  size_t width = ::st::byteWidth(result.getType());
  std::memcpy(bytes + i * static_cast<int64_t>(width), &word, width);
}

/// A counter gives one 64-bit element, or two adjacent 32-bit elements along one dimension: the
/// first of even size, else the first of the largest.
size_t pairedDimension(ArrayRef<int64_t> shape) {
  size_t largest = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] % 2 == 0)
      return i;
    if (shape[i] > shape[largest])
      largest = i;
  }
  return largest;
}

uint64_t fillThreeFry(Tensor &result, uint64_t key, uint64_t counter) {
  std::byte *bytes = result.mutableData<std::byte>();
  ArrayRef<int64_t> shape = result.getShape();
  if (::st::byteWidth(result.getType()) == 8) {
    for (int64_t i = 0; i < result.getNumElements(); ++i) {
      Words2 words = threeFry(toWords(key), toWords(counter + static_cast<uint64_t>(i)));
      store(result, bytes, i, fromWords(words[0], words[1]));
    }
    return static_cast<uint64_t>(result.getNumElements());
  }
  if (shape.empty()) {
    store(result, bytes, 0, threeFry(toWords(key), toWords(counter))[0]);
    return 1;
  }
  size_t paired = pairedDimension(shape);
  Shape halves(shape), strides = rowMajorStrides(shape);
  halves[paired] = (halves[paired] + 1) / 2;
  uint64_t count = 0;
  forEachIndex(halves, [&](ArrayRef<int64_t> half) {
    Words2 words = threeFry(toWords(key), toWords(counter + count++));
    Shape index(half);
    for (size_t i = 0; i < 2; ++i) {
      index[paired] = 2 * half[paired] + static_cast<int64_t>(i);
      if (index[paired] < shape[paired])
        store(result, bytes, linearize(index, strides), words[i]);
    }
  });
  return count;
}

/// A counter gives two 64-bit elements or four others, in row-major order.
uint64_t fillPhilox(Tensor &result, uint64_t key, uint64_t low, uint64_t high) {
  std::byte *bytes = result.mutableData<std::byte>();
  bool isWide = ::st::byteWidth(result.getType()) == 8;
  int64_t each = isWide ? 2 : 4, size = result.getNumElements();
  uint64_t count = 0;
  for (int64_t first = 0; first < size; first += each, ++count) {
    uint64_t sum = low + count;
    Words2 lowWords = toWords(sum), highWords = toWords(high + (sum < low ? 1 : 0));
    Words4 words = philox(toWords(key), {lowWords[0], lowWords[1], highWords[0], highWords[1]});
    for (int64_t i = 0; i < each && first + i < size; ++i)
      store(result, bytes, first + i,
            isWide ? fromWords(words[2 * i], words[2 * i + 1]) : words[i]);
  }
  return count;
}

} // namespace

Tensor randomBits(BitGenerator generator, const Tensor &state, ElementType type,
                  ArrayRef<int64_t> shape, Tensor &newState) {
  size_t words = state.getByteSize() / sizeof(uint64_t);
  bool isValid = words == 2 || (words == 3 && generator == BitGenerator::Philox);
  if (!isValid || isComplexType(type) || type == ElementType::BOOL)
    return Tensor();
  Tensor result(type, shape);
  newState = state.clone();
  uint64_t *next = newState.mutableData<uint64_t>();
  if (generator == BitGenerator::ThreeFry) {
    next[1] += fillThreeFry(result, next[0], next[1]);
    return result;
  }
  uint64_t count = fillPhilox(result, next[0], next[1], next[words == 3 ? 2 : 0]);
  next[1] += count;
  if (words == 3 && next[1] < count)
    ++next[2];
  return result;
}

} // namespace mlir::st::ref
