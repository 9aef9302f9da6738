// The CRC-32 of zlib, PNG and Ethernet (polynomial 0xEDB88320, reflected).
#ifndef ST_SUPPORT_CHECKSUM_H
#define ST_SUPPORT_CHECKSUM_H

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <cstdint>
#include <libdeflate.h>

namespace st {

/// Continues a CRC-32: `previous` is the checksum of the bytes before `bytes`.
inline uint32_t crc32(absl::Span<const uint8_t> bytes, uint32_t previous = 0) {
  // For a null pointer the library returns the initial value, as zlib does.
  return bytes.empty() ? previous : libdeflate_crc32(previous, bytes.data(), bytes.size());
}

inline uint32_t crc32(absl::string_view text, uint32_t previous = 0) {
  return crc32({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, previous);
}

} // namespace st

#endif // ST_SUPPORT_CHECKSUM_H
