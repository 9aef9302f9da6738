// Output files that appear complete or not at all.
#ifndef ST_SUPPORT_ATOMICFILE_H
#define ST_SUPPORT_ATOMICFILE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "lib/Support/ProcessEnd.h"

#include <cstddef>
#include <memory>
#include <string>

namespace st {

/// Writes a temporary file beside the target and renames it over the target on
/// commit(). A reader therefore sees the old content or the whole new one, and
/// a run that fails leaves nothing behind. A target that exists and is no
/// regular file (a pipe, /dev/null, /dev/stdout) is written in place; a pipe that nobody reads is
/// an error and no wait. Errors name the target and the reason of the operating system.
class AtomicFile {
public:
  /// `mode` is the permission of the new file before the umask.
  static absl::StatusOr<std::unique_ptr<AtomicFile>> create(const std::string &path,
                                                            unsigned mode = 0666);

  /// The error that create would give, without any effect on a pipe's reader.
  static absl::Status probe(const std::string &path);

  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  /// Removes the temporary file unless commit() succeeded.
  ~AtomicFile();

  absl::Status write(const void *data, size_t size);
  absl::Status write(absl::string_view text) { return write(text.data(), text.size()); }

  /// Forces the content to disk, so that commit takes no time.
  absl::Status flush();

  /// Forces the content to disk and puts the file in its place. Nothing may be
  /// written afterwards.
  absl::Status commit();

private:
  AtomicFile(std::string path, std::string temporary, RemovedOnEarlyEnd note, int fd)
      : path(std::move(path)), temporary(std::move(temporary)), note(std::move(note)), fd(fd) {}

  std::string path;
  /// Empty where the target is written in place.
  std::string temporary;
  RemovedOnEarlyEnd note;
  int fd;
};

/// Whether a path is written where it is: it is no regular file, or it is what
/// standard output or error goes to (/dev/stdout), which would lose what is there.
struct InPlace {
  bool holds;
  int stream; ///< the standard stream's descriptor, or -1
};
InPlace writesInPlace(const std::string &path);

/// Opens such a path for writing; -1 and errno where that fails.
int openInPlace(const std::string &path, InPlace how);

/// Writes `content` as the whole of the file at `path`, atomically.
absl::Status writeFileAtomically(const std::string &path, absl::string_view content,
                                 unsigned mode = 0666);

} // namespace st

#endif // ST_SUPPORT_ATOMICFILE_H
