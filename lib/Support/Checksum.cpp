#include "lib/Support/Checksum.h"

#include <libdeflate.h>

namespace st {

uint32_t crc32(absl::Span<const uint8_t> bytes, uint32_t previous) {
  // The library answers a null pointer with the initial value, as zlib does.
  return bytes.empty() ? previous : libdeflate_crc32(previous, bytes.data(), bytes.size());
}

uint32_t crc32(absl::string_view text, uint32_t previous) {
  return crc32({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, previous);
}

} // namespace st
