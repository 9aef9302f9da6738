#include "dialects/VHLO/ExportedFile.h"

#include "llvm/Support/Endian.h"

#include <optional>

using namespace mlir;

/// The number at `offset`, or std::nullopt if the file is too short.
template <class Number> static std::optional<uint64_t> readAt(StringRef file, uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(Number))
    return std::nullopt;
  return llvm::support::endian::read<Number, llvm::endianness::little>(file.data() + offset);
}

// A flatbuffer starts with the offset of its root table. A table starts with the distance back to
// its list of field offsets, which has a header of two numbers. The field of an array contains the
// distance to the array: its length, then its elements.
StringRef mlir::vhlo::findExportedArtifact(StringRef file) {
  constexpr uint64_t kField = 13; // mlir_module_serialized
  std::optional<uint64_t> table = readAt<uint32_t>(file, 0);
  std::optional<uint64_t> back = table ? readAt<uint32_t>(file, *table) : std::nullopt;
  if (!back || *back > *table)
    return "";
  uint64_t fields = *table - *back;
  std::optional<uint64_t> size = readAt<uint16_t>(file, fields);
  std::optional<uint64_t> place = readAt<uint16_t>(file, fields + 4 + 2 * kField);
  if (!size || *size < 6 + 2 * kField || !place || *place == 0)
    return "";
  std::optional<uint64_t> distance = readAt<uint32_t>(file, *table + *place);
  uint64_t array = *table + *place + distance.value_or(0);
  std::optional<uint64_t> length = distance ? readAt<uint32_t>(file, array) : std::nullopt;
  if (!length || *length > file.size() - array - sizeof(uint32_t))
    return "";
  return file.substr(array + sizeof(uint32_t), *length);
}
