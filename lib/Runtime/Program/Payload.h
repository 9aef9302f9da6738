// A training binary: the prebuilt runner followed by a serialized Executable.
//
//   [runner ELF][payload][footer]
//
// The footer is the last 40 bytes of the file, integers little-endian:
//
//   0  u64  bytes of the runner
//   8  u64  bytes of the payload
//  16  u32  CRC-32 (zlib) of the runner
//  20  u32  CRC-32 of the payload
//  24  u32  CRC-32 of bytes 0 .. 23 and 28 .. 39 of this footer
//  28  u32  version of this layout
//  32  8 characters "ST-TRAIN"
//
// A CRC-32 detects every change of up to 32 adjacent bits, and the lengths must add up to the
// file's, so a truncated or damaged binary is rejected before its program is read.
#ifndef ST_RUNTIME_PAYLOAD_H
#define ST_RUNTIME_PAYLOAD_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <string>

namespace st {

/// The runner followed by the payload and the footer, as a file's content.
std::string appendPayload(absl::string_view runner, absl::string_view payload);

/// The payload within the content of a training binary. Errors are one line without the file's
/// name.
absl::StatusOr<absl::string_view> findPayload(absl::string_view file);

/// The same without verifying the checksums; empty if there is none.
absl::string_view payloadWithin(absl::string_view file);

/// The CRC-32s of the footer: "1a2b3c4d, program 5e6f7a8b"; empty if there is no footer.
std::string checksumsOf(absl::string_view file);

/// Writes `runnerPath` with `payload` appended to `outputPath`, executable and atomically.
absl::Status writeTrainingBinary(const std::string &runnerPath, const std::string &outputPath,
                                 absl::string_view payload);

/// The payload of the training binary at `path`. Errors start with the path.
absl::StatusOr<std::string> readPayload(const std::string &path);

} // namespace st

#endif // ST_RUNTIME_PAYLOAD_H
