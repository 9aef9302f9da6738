// The checkpoints of a run that saves again and again.
//
//   DIR/step-0000100   a checkpoint, as Checkpoint.h has it
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

/// The checkpoints of a folder, the newest first; empty where it has none or is not there.
std::vector<SeriesEntry> listSeries(const std::string &path);

/// A folder of checkpoints that one run writes.
class CheckpointSeries {
public:
  /// Makes the folder where it is missing, keeps other runs out of it as long as the object
  /// lives, proves that it can be written, and removes what killed saves left behind. Of the
  /// checkpoints the `keep` newest stay after each save; 0: all. A folder that was made and
  /// never saved to vanishes again.
  static absl::StatusOr<std::unique_ptr<CheckpointSeries>> claim(const std::string &path,
                                                                 int64_t keep);
  ~CheckpointSeries();
  CheckpointSeries(const CheckpointSeries &) = delete;
  CheckpointSeries &operator=(const CheckpointSeries &) = delete;

  /// Saves as CheckpointFolder does, then removes old checkpoints.
  absl::Status save(const proto::Executable &program, const std::vector<StateTensor> &states,
                    Executable &executable, const TrainerState &trainer,
                    const std::optional<LearningRateSchedule> &schedule);

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

/// The newest whole checkpoint of a series, or null where it has none: a damaged one is left
/// aside with a line "warning: …" to `warn`, and the one before it is taken. An error where one
/// is whole and does not fit the program.
absl::StatusOr<std::unique_ptr<CheckpointReader>>
openNewest(const std::string &path, const proto::Executable &program,
           const std::vector<StateTensor> &states,
           const std::function<void(const std::string &)> &warn);

} // namespace st

#endif // ST_RUNTIME_CHECKPOINT_CHECKPOINTSERIES_H
