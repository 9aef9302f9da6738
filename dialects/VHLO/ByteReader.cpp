#include "dialects/VHLO/ByteReader.h"

#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace mlir::vhlo;

uint8_t ByteReader::byte() {
  ArrayRef<uint8_t> one = bytes(1);
  return one.empty() ? 0 : one.front();
}

ArrayRef<uint8_t> ByteReader::bytes(uint64_t count) {
  if (count > rest.size())
    fault("damaged bytecode: expected " + Twine(count) + " more bytes, found " +
          Twine(rest.size()));
  if (failed())
    return {};
  ArrayRef<uint8_t> taken = rest.take_front(count);
  rest = rest.drop_front(count);
  return taken;
}

StringRef ByteReader::cString() {
  const uint8_t *end = llvm::find(rest, 0);
  if (end == rest.end()) {
    fault("damaged bytecode: a string has no end");
    return "";
  }
  ArrayRef<uint8_t> text = bytes(end - rest.begin());
  byte();
  return StringRef(reinterpret_cast<const char *>(text.data()), text.size());
}

uint64_t ByteReader::number() {
  uint8_t first = byte();
  if (failed())
    return 0;
  unsigned extra = first == 0 ? 8 : llvm::countr_zero(first);
  uint64_t value = first == 0 ? 0 : first;
  ArrayRef<uint8_t> others = bytes(extra);
  for (auto [i, next] : llvm::enumerate(others))
    value |= uint64_t(next) << 8 * (first == 0 ? i : i + 1);
  return first == 0 ? value : value >> (extra + 1);
}

int64_t ByteReader::signedNumber() {
  uint64_t value = number();
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}

std::pair<uint64_t, bool> ByteReader::numberAndFlag() {
  uint64_t value = number();
  return {value >> 1, value & 1};
}

uint64_t ByteReader::count() {
  uint64_t value = number();
  if (value <= rest.size())
    return value;
  fault("damaged bytecode: expected " + Twine(value) + " entries in " + Twine(rest.size()) +
        " bytes");
  return 0;
}

std::pair<unsigned, ArrayRef<uint8_t>> ByteReader::section() {
  constexpr uint8_t kAligned = 0x80, kPadding = 0xCB;
  uint8_t id = byte();
  uint64_t length = number();
  if (id & kAligned) {
    uint64_t alignment = number();
    if (!llvm::isPowerOf2_64(alignment))
      fault("damaged bytecode: a section is aligned to " + Twine(alignment));
    while (!failed() && (rest.data() - file) % alignment != 0)
      if (byte() != kPadding)
        fault("damaged bytecode: expected padding before a section");
  }
  ArrayRef<uint8_t> content = bytes(length);
  return {id & ~unsigned(kAligned), content};
}
