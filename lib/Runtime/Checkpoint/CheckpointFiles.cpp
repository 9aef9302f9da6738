#include "lib/Runtime/Checkpoint/CheckpointFiles.h"
#include "lib/Runtime/Checkpoint/ShardPlan.h"
#include "lib/Runtime/Checkpoint/TrainerState.h"

#include "absl/functional/function_ref.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "lib/Support/Checksum.h"
#include "lib/Support/Files.h"
#include "lib/Support/ProcessEnd.h"
#include "lib/Support/Safetensors.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace st {
namespace {

constexpr absl::string_view kTemporary = ".tmp.";

// Returns true for "<file>.next", and for "<file>[.next].tmp.<process>.<number>", a temporary file
// of AtomicFile.
bool isLeftover(absl::string_view name) {
  const size_t mark = name.rfind(kTemporary);
  if (mark != absl::string_view::npos) {
    const absl::string_view numbers = name.substr(mark + kTemporary.size());
    if (!std::all_of(numbers.begin(), numbers.end(),
                     [](char c) { return c == '.' || absl::ascii_isdigit(c); }))
      return false;
    name = name.substr(0, mark);
    absl::ConsumeSuffix(&name, kNext);
    return isCheckpointName(name);
  }
  return absl::ConsumeSuffix(&name, kNext) && isCheckpointName(name);
}

// The names in a folder that a predicate accepts; empty if the folder cannot be read.
std::vector<std::string> listNames(const std::string &folder,
                                   absl::FunctionRef<bool(absl::string_view)> accepts) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(folder, ignored))
    if (std::string name = entry.path().filename().string(); accepts(name))
      names.push_back(std::move(name));
  return names;
}

} // namespace

absl::string_view fileOf(const StateTensor &tensor) {
  if (tensor.state->role() != "parameter")
    return kOptimizerFile;
  return absl::StartsWith(tensor.state->name(), kAdapterPrefix) ? kAdapterFile : kModelFile;
}

bool hasKind(absl::string_view kind, const std::vector<StateTensor> &states) {
  return kind != "adapter_model" ||
         std::any_of(states.begin(), states.end(),
                     [](const StateTensor &tensor) { return fileOf(tensor) == kAdapterFile; });
}

std::string checksumOf(absl::Span<const uint8_t> bytes) {
  return absl::StrFormat("%08x", crc32(bytes));
}

bool holdsCheckpoint(const std::string &folder) {
  const std::string path = absl::StrCat(folder, "/", kTrainerFile);
  return exists(path) || exists(absl::StrCat(path, kNext));
}

bool isCheckpointName(absl::string_view name) {
  return isShardName(name) || std::find(std::begin(kCheckpointFiles), std::end(kCheckpointFiles),
                                        name) != std::end(kCheckpointFiles);
}

absl::Status finishMove(const std::string &folder) {
  SignalsWait wait;
  const std::string last = absl::StrCat(folder, "/", kTrainerFile),
                    lastNext = absl::StrCat(last, kNext);
  if (!exists(lastNext))
    return absl::OkStatus();
  for (const std::string &name : listNames(folder, isLeftover)) {
    absl::string_view file = name;
    if (!absl::ConsumeSuffix(&file, kNext) || file == kTrainerFile)
      continue;
    const std::string path = absl::StrCat(folder, "/", file);
    if (::rename(absl::StrCat(folder, "/", name).c_str(), path.c_str()) != 0)
      return systemError(path, "cannot replace", errno);
  }
  // Removes the files of the old checkpoint that the new one does not list. A checkpoint lists
  // none only if a user removed its checksums.
  if (const auto trainer = readTrainerFile(lastNext); trainer.ok() && !trainer->files.empty())
    for (const std::string &name : listNames(folder, isCheckpointName))
      if (name != kTrainerFile && trainer->files.count(name) == 0 &&
          ::unlink(absl::StrCat(folder, "/", name).c_str()) != 0 && errno != ENOENT)
        return systemError(absl::StrCat(folder, "/", name), "cannot replace", errno);
  // The files must be on disk before the name that makes them a checkpoint.
  ST_RETURN_IF_ERROR(syncFolder(folder));
  if (::rename(lastNext.c_str(), last.c_str()) != 0)
    return systemError(last, "cannot replace", errno);
  return syncFolder(folder);
}

void removeLeftovers(const std::string &folder) {
  // A failed removal only wastes space.
  for (const std::string &name : listNames(folder, isLeftover))
    ::unlink(absl::StrCat(folder, "/", name).c_str());
}

void removeFiles(const std::string &folder) {
  ::unlink(absl::StrCat(folder, "/", kTrainerFile).c_str());
  ::unlink(absl::StrCat(folder, "/", kTrainerFile, kNext).c_str());
  for (const std::string &name : listNames(folder, isCheckpointName))
    ::unlink(absl::StrCat(folder, "/", name).c_str());
  removeLeftovers(folder);
}

absl::Status syncFolder(const std::string &path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return systemError(path, "cannot open", errno);
  // Some file systems cannot synchronise a folder, and do not need to.
  const bool good = ::fsync(fd) == 0 || errno == EINVAL;
  const absl::Status status = good ? absl::OkStatus() : systemError(path, "cannot write", errno);
  ::close(fd);
  return status;
}

} // namespace st
