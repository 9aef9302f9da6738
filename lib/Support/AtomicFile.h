// Output files that appear only when they are complete.
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

/// Writes a temporary file in the target's folder and renames it over the target on commit(). A
/// reader therefore sees the old content or the complete new one, and a failed run leaves no file.
/// A target that exists and is not a regular file (a pipe, /dev/null, /dev/stdout) is written in
/// place. A pipe without a reader is an error: the call does not wait for one. Errors name the
/// target and the operating system's reason.
class AtomicFile {
public:
  /// `mode` is the permission of the new file before the umask.
  static absl::StatusOr<std::unique_ptr<AtomicFile>> create(const std::string &path,
                                                            unsigned mode = 0666);

  /// Returns the error that create would return, without any effect on a pipe's reader.
  static absl::Status probe(const std::string &path);

  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  /// Removes the temporary file unless commit() succeeded.
  ~AtomicFile();

  absl::Status write(const void *data, size_t size);
  absl::Status write(absl::string_view text) { return write(text.data(), text.size()); }

  /// The granularity of direct writes, in the file and in memory.
  static constexpr size_t kDirectBlock = 4096;

  /// Selects direct writes, which bypass the system's page cache. The next writes must then
  /// begin and end at multiples of kDirectBlock, in the file and in memory. Returns false if the
  /// file system has no direct writes.
  bool setDirect(bool isWanted);

  /// Starts writing the content so far to disk, so that flush() waits for less.
  void startFlush();

  /// Forces the content to disk, so that commit returns quickly.
  absl::Status flush();

  /// Forces the content to disk and renames the file. Nothing may be written afterwards.
  absl::Status commit();

private:
  AtomicFile(std::string path, std::string temporary, RemovedOnEarlyEnd note, int fd)
      : path(std::move(path)), temporary(std::move(temporary)), note(std::move(note)), fd(fd) {}

  std::string path;
  /// Empty if the target is written in place.
  std::string temporary;
  RemovedOnEarlyEnd note;
  int fd;
  bool isDirect = false;
};

/// True if a path is written in place: it is not a regular file, or it is the file of standard
/// output or error (/dev/stdout), whose content would be lost.
struct InPlace {
  bool holds;
  int stream; ///< the standard stream's descriptor, or -1
};
InPlace writesInPlace(const std::string &path);

/// Opens such a path for writing; returns -1 and sets errno on failure.
int openInPlace(const std::string &path, InPlace how);

/// Writes `content` as the complete file at `path`, atomically.
absl::Status writeFileAtomically(const std::string &path, absl::string_view content,
                                 unsigned mode = 0666);

} // namespace st

#endif // ST_SUPPORT_ATOMICFILE_H
