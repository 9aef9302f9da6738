// Files that a run reads, and errors with a file's name.
#ifndef ST_SUPPORT_FILES_H
#define ST_SUPPORT_FILES_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace st {

/// Returns true if a file or folder of that name exists; follows links.
bool exists(const std::string &path);

/// "<path>: <what>"
absl::Status inFile(const std::string &path, absl::string_view what);

/// "<path>: <what>: <the operating system's reason>"
absl::Status systemError(const std::string &path, absl::string_view what, int error);

/// The content of a regular file of at most `limit` bytes. Errors begin with the path.
absl::StatusOr<std::string> readFile(const std::string &path, uint64_t limit);

/// A regular file mapped into memory for reading. Errors begin with the path.
class MappedFile {
public:
  static absl::StatusOr<std::unique_ptr<MappedFile>> open(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  absl::string_view content() const { return {static_cast<const char *>(base), size}; }

private:
  MappedFile(void *base, size_t size) : base(base), size(size) {}
  void *base; ///< null for an empty file
  size_t size;
};

/// A hint to the system to read a part of a mapped file from disk. Does not wait.
void prefetchMapped(absl::Span<const uint8_t> part);

} // namespace st

#endif // ST_SUPPORT_FILES_H
