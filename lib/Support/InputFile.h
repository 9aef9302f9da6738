// Reading the input files of users.
#ifndef ST_SUPPORT_INPUTFILE_H
#define ST_SUPPORT_INPUTFILE_H

#include "absl/status/statusor.h"

#include <cstddef>
#include <string>

namespace st {

/// A limit above the size of any configuration or description.
constexpr size_t kMaxConfigBytes = size_t(16) << 20;

/// The content of the file at `path`, at most `limit` bytes; "-" is standard input. A folder, an
/// endless device or a longer file is an error, before its content takes memory. The error is only
/// the reason, without the path.
absl::StatusOr<std::string> readInputFile(const std::string &path, size_t limit);

} // namespace st

#endif // ST_SUPPORT_INPUTFILE_H
