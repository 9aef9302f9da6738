#include "lib/Support/AtomicFile.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/Files.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace st {
namespace {

// Follows a link, so that renaming replaces its target and not the link.
std::string followLinks(const std::string &path) {
  char resolved[PATH_MAX];
  return ::realpath(path.c_str(), resolved) ? std::string(resolved) : path;
}

std::string temporaryName(const std::string &path) {
  static std::atomic<unsigned> counter{0};
  return absl::StrCat(path, ".tmp.", ::getpid(), ".", counter.fetch_add(1));
}

} // namespace

InPlace writesInPlace(const std::string &path) {
  struct stat info, open;
  if (::stat(path.c_str(), &info) != 0)
    return {false, -1};
  for (int stream : {STDOUT_FILENO, STDERR_FILENO})
    if (::fstat(stream, &open) == 0 && open.st_dev == info.st_dev && open.st_ino == info.st_ino)
      return {true, stream};
  return {!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode), -1};
}

int openInPlace(const std::string &path, InPlace how) {
  if (how.stream >= 0)
    return ::fcntl(how.stream, F_DUPFD_CLOEXEC, 0);
  // Non-blocking, so that a pipe without a reader is an error and not a hang.
  const int fd = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0)
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  return fd;
}

absl::StatusOr<std::unique_ptr<AtomicFile>> AtomicFile::create(const std::string &path,
                                                               unsigned mode) {
  if (path.empty())
    return absl::InvalidArgumentError("cannot write a file with an empty name");
  struct stat info;
  bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode))
    return systemError(path, "cannot write", EISDIR);

  std::string target = path, temporary;
  RemovedOnEarlyEnd note;
  int fd;
  if (const InPlace inPlace = writesInPlace(path); inPlace.holds) {
    fd = openInPlace(path, inPlace);
  } else {
    // Renaming over a file needs no right to write it, but a user who protected
    // a file expects it to survive.
    if (exists && ::access(path.c_str(), W_OK) != 0)
      return systemError(path, "cannot write", errno);
    target = followLinks(path);
    temporary = temporaryName(target);
    note = RemovedOnEarlyEnd(temporary);
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
  }
  if (fd < 0)
    return systemError(path, "cannot write", errno);
  return std::unique_ptr<AtomicFile>(new AtomicFile(target, temporary, std::move(note), fd));
}

absl::Status AtomicFile::probe(const std::string &path) {
  if (!writesInPlace(path).holds)
    return create(path).status();
  return ::access(path.c_str(), W_OK) == 0 ? absl::OkStatus()
                                           : systemError(path, "cannot write", errno);
}

AtomicFile::~AtomicFile() {
  if (fd >= 0)
    ::close(fd);
  if (!temporary.empty())
    ::unlink(temporary.c_str());
}

absl::Status AtomicFile::write(const void *data, size_t size) {
  const char *bytes = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t written = ::write(fd, bytes, size);
    if (written < 0 && errno == EINTR)
      continue;
    // The file system needs larger blocks, or a write ended within one.
    if (written < 0 && errno == EINVAL && isDirect) {
      if (!setDirect(false))
        return systemError(path, "cannot write", errno);
      continue;
    }
    if (written < 0)
      return systemError(path, "cannot write", errno);
    bytes += written;
    size -= static_cast<size_t>(written);
  }
  return absl::OkStatus();
}

bool AtomicFile::setDirect(bool isWanted) {
  if (temporary.empty())
    return !isWanted;
  if (isWanted == isDirect)
    return true;
#ifdef O_DIRECT
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, isWanted ? flags | O_DIRECT : flags & ~O_DIRECT) != 0)
    return false;
  isDirect = isWanted;
  return true;
#else
  return !isWanted;
#endif
}

void AtomicFile::startFlush() {
#ifdef SYNC_FILE_RANGE_WRITE
  // On a file system without it, only speed is lost.
  if (!temporary.empty())
    (void)::sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
#endif
}

absl::Status AtomicFile::flush() {
  // A pipe or a device has nothing to synchronise and returns EINVAL.
  if (!temporary.empty() && ::fsync(fd) != 0)
    return systemError(path, "cannot write", errno);
  return absl::OkStatus();
}

absl::Status AtomicFile::commit() {
  if (absl::Status status = flush(); !status.ok())
    return status;
  int closed = ::close(fd);
  fd = -1;
  if (closed != 0)
    return systemError(path, "cannot write", errno);
  if (!temporary.empty() && ::rename(temporary.c_str(), path.c_str()) != 0)
    return systemError(path, "cannot write", errno);
  temporary.clear();
  note.forget();
  return absl::OkStatus();
}

absl::Status writeFileAtomically(const std::string &path, absl::string_view content,
                                 unsigned mode) {
  absl::StatusOr<std::unique_ptr<AtomicFile>> file = AtomicFile::create(path, mode);
  if (!file.ok())
    return file.status();
  if (absl::Status status = (*file)->write(content); !status.ok())
    return status;
  return (*file)->commit();
}

} // namespace st
