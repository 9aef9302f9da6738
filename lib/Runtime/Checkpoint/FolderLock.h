// Prevents two runs from writing into the same folder.
#ifndef ST_RUNTIME_CHECKPOINT_FOLDERLOCK_H
#define ST_RUNTIME_CHECKPOINT_FOLDERLOCK_H

#include "absl/status/statusor.h"

#include <string>

namespace st {

/// An advisory lock (flock) of a folder. The system releases it when the process ends for any
/// reason. On a file system without locks the folder has no protection against other runs.
class FolderLock {
public:
  FolderLock() = default;
  FolderLock(FolderLock &&other) noexcept : fd(other.fd) { other.fd = -1; }
  FolderLock &operator=(FolderLock &&other) noexcept;
  ~FolderLock() { release(); }

  /// Fails immediately if another run holds the lock or the folder cannot be opened.
  static absl::StatusOr<FolderLock> take(const std::string &path);

  bool isHeld() const { return fd >= 0; }

private:
  void release();
  int fd = -1;
};

} // namespace st

#endif // ST_RUNTIME_CHECKPOINT_FOLDERLOCK_H
