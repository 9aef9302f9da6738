// The JSON header of a safetensors file. Private to the reader and the writer.
#ifndef ST_SUPPORT_SAFETENSORSHEADER_H
#define ST_SUPPORT_SAFETENSORSHEADER_H

#include "lib/Support/Safetensors.h"

namespace st {

struct SafetensorsHeaderEntry {
  SafetensorsSpec spec;
  /// Offsets of the data from the start of the data section.
  uint64_t begin = 0;
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsHeaderEntry> entries;
  SafetensorsMetadata metadata;
};

/// Parses the header's text, strictly: unknown keys, repeated names and invalid JSON are errors.
/// Offsets are not yet compared with shapes or the file.
absl::StatusOr<SafetensorsHeader> parseSafetensorsHeader(absl::string_view text);

/// The text of a header for tensors with consecutive data, padded with blanks so that the data are
/// 8-byte aligned in the file.
absl::StatusOr<std::string> printSafetensorsHeader(absl::Span<const SafetensorsSpec> specs,
                                                   const SafetensorsMetadata &metadata);

} // namespace st

#endif // ST_SUPPORT_SAFETENSORSHEADER_H
