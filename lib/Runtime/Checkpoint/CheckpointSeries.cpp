#include "lib/Runtime/Checkpoint/CheckpointSeries.h"
#include "lib/Runtime/Checkpoint/CheckpointFiles.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace st {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kPrefix = "step-";

// All folders with the name of a checkpoint, valid or not.
std::vector<SeriesEntry> listFolders(const std::string &path) {
  std::vector<SeriesEntry> found;
  std::error_code ignored;
  for (const auto &entry : fs::directory_iterator(path, ignored)) {
    const std::string name = entry.path().filename().string();
    absl::string_view digits = name;
    int64_t step = 0;
    if (absl::ConsumePrefix(&digits, kPrefix) && absl::SimpleAtoi(digits, &step) && step >= 0 &&
        folderOfStep(path, step) == absl::StrCat(path, "/", name))
      found.push_back({step, folderOfStep(path, step)});
  }
  std::sort(found.begin(), found.end(),
            [](const SeriesEntry &a, const SeriesEntry &b) { return a.step > b.step; });
  return found;
}

// Removes our files, and the folder if it holds no others.
void removeCheckpoint(const std::string &folder) {
  removeFiles(folder);
  ::rmdir(folder.c_str());
}

} // namespace

std::string folderOfStep(const std::string &path, int64_t step) {
  return absl::StrCat(path, "/", kPrefix, absl::StrFormat("%07d", step));
}

std::vector<SeriesEntry> listSeries(const std::string &path) {
  std::vector<SeriesEntry> entries = listFolders(path);
  entries.erase(
      std::remove_if(entries.begin(), entries.end(),
                     [](const SeriesEntry &entry) { return !holdsCheckpoint(entry.path); }),
      entries.end());
  return entries;
}

absl::StatusOr<std::unique_ptr<CheckpointSeries>> CheckpointSeries::claim(const std::string &path,
                                                                          int64_t keep) {
  RemovedOnEarlyEnd note(path);
  const bool made = ::mkdir(path.c_str(), 0777) == 0;
  if (!made && errno != EEXIST)
    return systemError(path, "cannot create the folder", errno);
  std::unique_ptr<CheckpointSeries> series(new CheckpointSeries(path, keep, made));
  if (made)
    series->note = std::move(note);
  ST_ASSIGN_OR_RETURN(series->lock, FolderLock::take(path));
  ST_RETURN_IF_ERROR(AtomicFile::probe(absl::StrCat(path, "/", kTrainerFile)));
  if (!series->lock.isHeld())
    return series;
  removeLeftovers(path); // of the probe above, in a run that was killed
  for (const SeriesEntry &entry : listFolders(path)) {
    if (!holdsCheckpoint(entry.path)) {
      removeCheckpoint(entry.path);
      continue;
    }
    ST_RETURN_IF_ERROR(finishMove(entry.path));
    removeLeftovers(entry.path);
  }
  return series;
}

CheckpointSeries::~CheckpointSeries() {
  if (made)
    ::rmdir(path.c_str());
}

absl::StatusOr<std::unique_ptr<CheckpointFolder>> CheckpointSeries::claimStep(int64_t step) const {
  return CheckpointFolder::claim(folderOfStep(path, step));
}

absl::Status CheckpointSeries::endSave(int64_t step) {
  ST_RETURN_IF_ERROR(syncFolder(path));
  made = false;
  note.forget();
  removeOld(step);
  return absl::OkStatus();
}

void CheckpointSeries::removeOld(int64_t justSaved) const {
  std::vector<SeriesEntry> entries = listSeries(path);
  for (int64_t count = static_cast<int64_t>(entries.size()); keep > 0 && count > keep; --count) {
    const auto oldest =
        std::find_if(entries.rbegin(), entries.rend(),
                     [&](const SeriesEntry &entry) { return entry.step != justSaved; });
    removeCheckpoint(oldest->path);
    entries.erase(std::next(oldest).base());
  }
}

absl::StatusOr<std::unique_ptr<CheckpointReader>>
openNewest(const std::string &path, const proto::Executable &program,
           const std::vector<StateTensor> &states, int threads,
           const std::function<void(const std::string &)> &warn) {
  for (const SeriesEntry &entry : listSeries(path)) {
    auto reader = CheckpointReader::open(entry.path, program, states, threads);
    if (reader.ok() || !absl::IsDataLoss(reader.status()))
      return reader;
    warn(absl::StrCat("warning: ", escapeControls(reader.status().message()),
                      "; continuing from the previous checkpoint\n"));
  }
  return std::unique_ptr<CheckpointReader>();
}

} // namespace st
