#include "lib/Runtime/Checkpoint/FolderLock.h"

#include "lib/Support/Files.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace st {

FolderLock &FolderLock::operator=(FolderLock &&other) noexcept {
  std::swap(fd, other.fd);
  return *this;
}

void FolderLock::release() {
  if (fd >= 0)
    ::close(fd);
  fd = -1;
}

absl::StatusOr<FolderLock> FolderLock::take(const std::string &path) {
  FolderLock lock;
  lock.fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock.fd < 0)
    return systemError(path, "cannot open", errno);
  if (::flock(lock.fd, LOCK_EX | LOCK_NB) == 0)
    return lock;
  if (errno == EWOULDBLOCK)
    return inFile(
        path, "another run saves its checkpoints here; expected a separate folder for each run");
  lock.release();
  return lock;
}

} // namespace st
