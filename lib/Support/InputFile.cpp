#include "lib/Support/InputFile.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace st {
namespace {

absl::Status systemError() { return absl::UnavailableError(std::strerror(errno)); }

absl::Status tooLong(size_t limit) {
  return absl::ResourceExhaustedError(
      absl::StrCat("expected at most ", limit, " bytes, found more"));
}

/// A descriptor that closes with its scope, unless it is standard input.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd > 0)
      ::close(fd);
  }
};

// /dev/null ends and a terminal has a user; other devices may be endless.
bool isEndless(int fd, const struct stat &info) {
  if (S_ISBLK(info.st_mode))
    return true;
  struct stat null;
  return S_ISCHR(info.st_mode) && !::isatty(fd) &&
         !(::stat("/dev/null", &null) == 0 && null.st_rdev == info.st_rdev);
}

} // namespace

absl::StatusOr<std::string> readInputFile(const std::string &path, size_t limit) {
  Descriptor file{path == "-" ? 0 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  struct stat info;
  if (file.fd < 0 || ::fstat(file.fd, &info) != 0)
    return systemError();
  if (S_ISDIR(info.st_mode))
    return absl::InvalidArgumentError("expected a file, found a folder");
  if (isEndless(file.fd, info))
    return absl::InvalidArgumentError("expected a file, found a device");
  if (S_ISREG(info.st_mode) && static_cast<size_t>(info.st_size) > limit)
    return tooLong(limit);
  constexpr size_t chunk = 1 << 16;
  std::string content;
  if (S_ISREG(info.st_mode))
    content.reserve(static_cast<size_t>(info.st_size) + chunk);
  while (true) {
    const size_t size = content.size();
    content.resize(size + chunk);
    ssize_t count = ::read(file.fd, content.data() + size, chunk);
    if (count < 0 && errno != EINTR)
      return systemError();
    content.resize(size + static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0)
      return content;
    if (content.size() > limit)
      return tooLong(limit);
  }
}

} // namespace st
