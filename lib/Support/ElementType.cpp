#include "lib/Support/ElementType.h"

#include <iterator>

namespace st {
namespace {

struct ElementTypeInfo {
  absl::string_view name;
  size_t bytes;
};

// Indexed by ElementType.
constexpr ElementTypeInfo kInfo[] = {
    {"F64", 8}, {"F32", 4}, {"F16", 2},  {"BF16", 2}, {"I64", 8},
    {"I32", 4}, {"I16", 2}, {"I8", 1},   {"U64", 8},  {"U32", 4},
    {"U16", 2}, {"U8", 1},  {"BOOL", 1}, {"C64", 8},  {"C128", 16},
};

} // namespace

size_t byteWidth(ElementType type) { return kInfo[static_cast<size_t>(type)].bytes; }

absl::string_view elementTypeName(ElementType type) {
  return kInfo[static_cast<size_t>(type)].name;
}

std::optional<ElementType> parseElementType(absl::string_view name) {
  for (size_t i = 0; i < std::size(kInfo); ++i)
    if (kInfo[i].name == name)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

} // namespace st
