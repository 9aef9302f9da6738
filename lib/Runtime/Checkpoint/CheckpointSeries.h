// The checkpoints of a run that saves repeatedly.
//
//   DIR/step-0000100   a checkpoint, as in Checkpoint.h
//   DIR/step-0000200
#ifndef ST_RUNTIME_CHECKPOINT_CHECKPOINTSERIES_H
#define ST_RUNTIME_CHECKPOINT_CHECKPOINTSERIES_H

#include "lib/Runtime/Checkpoint/Checkpoint.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace st {

/// One folder of a series.
struct SeriesEntry {
  int64_t step = 0;
  std::string path;
};

/// The folder of the checkpoint of a step.
std::string folderOfStep(const std::string &path, int64_t step);

/// The checkpoints of a folder, newest first; empty if there are none or the folder does not exist.
std::vector<SeriesEntry> listSeries(const std::string &path);

/// A folder of checkpoints that one run writes.
class CheckpointSeries {
public:
  /// Creates the folder if it is missing, locks it against other runs for the object's lifetime,
  /// tests that it is writable, and removes the leftovers of killed saves. After each save, the
  /// `keep` newest checkpoints remain; 0 keeps all. The destructor removes a folder that this
  /// created if no save followed.
  static absl::StatusOr<std::unique_ptr<CheckpointSeries>> claim(const std::string &path,
                                                                 int64_t keep);
  ~CheckpointSeries();
  CheckpointSeries(const CheckpointSeries &) = delete;
  CheckpointSeries &operator=(const CheckpointSeries &) = delete;

  /// The folder for the checkpoint of a step.
  absl::StatusOr<std::unique_ptr<CheckpointFolder>> claimStep(int64_t step) const;
  /// Removes old checkpoints. Call it after the checkpoint of the step is saved.
  absl::Status endSave(int64_t step);

private:
  CheckpointSeries(std::string path, int64_t keep, bool made)
      : path(std::move(path)), keep(keep), made(made) {}
  void removeOld(int64_t justSaved) const;

  std::string path;
  int64_t keep;
  bool made;
  RemovedOnEarlyEnd note;
  FolderLock lock;
};

/// The newest valid checkpoint of a series, or null if there is none. A damaged checkpoint is
/// skipped with a line "warning: …" to `warn`. An error if a valid checkpoint does not fit the
/// program.
absl::StatusOr<std::unique_ptr<CheckpointReader>>
openNewest(const std::string &path, const proto::Executable &program,
           const std::vector<StateTensor> &states, int threads,
           const std::function<void(const std::string &)> &warn);

} // namespace st

#endif // ST_RUNTIME_CHECKPOINT_CHECKPOINTSERIES_H
