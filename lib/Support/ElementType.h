// The element types of tensors in files and at run time.
#ifndef ST_SUPPORT_ELEMENTTYPE_H
#define ST_SUPPORT_ELEMENTTYPE_H

#include "absl/strings/string_view.h"

#include <cstddef>
#include <cstdint>
#include <optional>

namespace st {

enum class ElementType : uint8_t {
  F64,
  F32,
  F16,
  BF16,
  I64,
  I32,
  I16,
  I8,
  U64,
  U32,
  U16,
  U8,
  BOOL,
  C64,  // Complex numbers of two F32 and
  C128, // of two F64.
};

/// The size of one element in bytes; a BOOL takes one byte (0 or 1).
size_t byteWidth(ElementType type);

/// The name that safetensors uses, such as "BF16".
absl::string_view elementTypeName(ElementType type);

/// The inverse of elementTypeName; empty for a name it never returns.
std::optional<ElementType> parseElementType(absl::string_view name);

} // namespace st

#endif // ST_SUPPORT_ELEMENTTYPE_H
