#include "lib/Runtime/Checkpoint/CheckpointFiles.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "lib/Support/Files.h"
#include "lib/Support/ProcessEnd.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <zlib.h>

namespace st {
namespace {

// "<file>[.next].tmp.<process>.<number>", the form of AtomicFile's temporary names.
bool isTemporary(absl::string_view name) {
  const bool isOurs =
      std::any_of(std::begin(kCheckpointFiles), std::end(kCheckpointFiles),
                  [&](absl::string_view file) { return absl::ConsumePrefix(&name, file); });
  absl::ConsumePrefix(&name, kNext);
  return isOurs && absl::ConsumePrefix(&name, ".tmp.") &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return c == '.' || absl::ascii_isdigit(c); });
}

} // namespace

absl::string_view fileOf(const StateTensor &tensor) {
  return tensor.state->role() == "parameter" ? kModelFile : kOptimizerFile;
}

std::string checksumOf(absl::Span<const uint8_t> bytes) {
  return absl::StrFormat("%08x", crc32_z(0, bytes.data(), bytes.size()));
}

bool holdsCheckpoint(const std::string &folder) {
  const std::string path = absl::StrCat(folder, "/", kTrainerFile);
  return exists(path) || exists(absl::StrCat(path, kNext));
}

absl::Status finishMove(const std::string &folder) {
  SignalsWait wait;
  const auto pathOf = [&](absl::string_view file) { return absl::StrCat(folder, "/", file); };
  if (!exists(absl::StrCat(pathOf(kTrainerFile), kNext)))
    return absl::OkStatus();
  for (absl::string_view file : kCheckpointFiles) {
    const std::string path = pathOf(file), next = absl::StrCat(path, kNext);
    if (exists(next) && ::rename(next.c_str(), path.c_str()) != 0)
      return systemError(path, "cannot replace", errno);
  }
  return syncFolder(folder);
}

void removeLeftovers(const std::string &folder) {
  for (absl::string_view file : kCheckpointFiles)
    ::unlink(absl::StrCat(folder, "/", file, kNext).c_str());
  std::error_code ignored; // A file that cannot be removed takes space and does no harm.
  for (const auto &entry : std::filesystem::directory_iterator(folder, ignored))
    if (isTemporary(entry.path().filename().string()))
      std::filesystem::remove(entry.path(), ignored);
}

absl::Status syncFolder(const std::string &path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return systemError(path, "cannot open", errno);
  // Some file systems cannot synchronise a folder, and need not.
  const bool good = ::fsync(fd) == 0 || errno == EINVAL;
  const absl::Status status = good ? absl::OkStatus() : systemError(path, "cannot write", errno);
  ::close(fd);
  return status;
}

} // namespace st
