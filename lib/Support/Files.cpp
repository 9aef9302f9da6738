#include "lib/Support/Files.h"

#include "absl/strings/str_cat.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace st {
namespace {

// A regular file that is open for reading.
class OpenFile {
public:
  explicit OpenFile(const std::string &path)
      // Not blocking, so that a pipe without a writer is an error and not a hang.
      : fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    if (fd < 0 || ::fstat(fd, &info) != 0)
      status = systemError(path, "cannot read", errno);
    else if (!S_ISREG(info.st_mode))
      status = inFile(path, "not a regular file");
  }
  ~OpenFile() {
    if (fd >= 0)
      ::close(fd);
  }
  OpenFile(const OpenFile &) = delete;
  OpenFile &operator=(const OpenFile &) = delete;

  uint64_t size() const { return static_cast<uint64_t>(info.st_size); }

  int fd;
  absl::Status status;

private:
  struct stat info = {};
};

} // namespace

bool exists(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0;
}

absl::Status inFile(const std::string &path, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": ", what));
}

absl::Status systemError(const std::string &path, absl::string_view what, int error) {
  return absl::UnavailableError(absl::StrCat(
      path, ": ", what, ": ", error == ENXIO ? "this pipe has no reader" : std::strerror(error)));
}

absl::StatusOr<std::string> readFile(const std::string &path, uint64_t limit) {
  OpenFile file(path);
  if (!file.status.ok())
    return file.status;
  if (file.size() > limit)
    return inFile(path, absl::StrCat("expected at most ", limit, " bytes, found ", file.size()));
  std::string content(file.size(), '\0');
  for (size_t done = 0; done < content.size();) {
    const ssize_t got = ::read(file.fd, &content[done], content.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return systemError(path, "cannot read", errno);
    if (got == 0)
      return inFile(path, "it became shorter while it was read");
    done += static_cast<size_t>(got);
  }
  return content;
}

absl::StatusOr<std::unique_ptr<MappedFile>> MappedFile::open(const std::string &path) {
  OpenFile file(path);
  if (!file.status.ok())
    return file.status;
  void *base = nullptr;
  if (file.size() > 0)
    base = ::mmap(nullptr, file.size(), PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (base == MAP_FAILED)
    return systemError(path, "cannot read", errno);
  return std::unique_ptr<MappedFile>(new MappedFile(base, file.size()));
}

void prefetchMapped(absl::Span<const uint8_t> part) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin = reinterpret_cast<uintptr_t>(part.data()) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(part.data() + part.size());
  if (begin < end)
    (void)::madvise(reinterpret_cast<void *>(begin), end - begin, MADV_WILLNEED);
}

MappedFile::~MappedFile() {
  if (base)
    ::munmap(base, size);
}

} // namespace st
