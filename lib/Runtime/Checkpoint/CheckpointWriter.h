// Writes the files of a checkpoint, in all processes of a run.
#ifndef ST_RUNTIME_CHECKPOINT_CHECKPOINTWRITER_H
#define ST_RUNTIME_CHECKPOINT_CHECKPOINTWRITER_H

#include "lib/Runtime/BackgroundTask.h"
#include "lib/Runtime/Checkpoint/PieceWriter.h"
#include "lib/Runtime/Checkpoint/ShardPlan.h"
#include "lib/Runtime/Checkpoint/TrainerState.h"
#include "lib/Runtime/State/StateSnapshot.h"
#include "lib/Support/ProcessEnd.h"
#include "lib/Support/Safetensors.h"
#include "st/Runtime/Communicator.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace st {

/// The inputs of a save. A background thread may write it during training: the snapshot does not
/// change, and messages to other processes use kSavingChannel.
struct SaveJob {
  const proto::Executable &program;
  const std::vector<StateTensor> &states;
  Communicator &communicator;
  StateSnapshot &snapshot;
  TrainerState trainer;
  std::optional<LearningRateSchedule> schedule;
  int64_t shardBytes = 0; ///< maximum bytes of tensors in a file with several tensors
};

/// Writes one checkpoint into a folder, under names that end in ".next" (see Checkpoint.h). All
/// processes of a run write together: each writes the files that planShards assigns to it, and
/// sends the blocks of other files to their writers. A shard must be complete within the time that
/// a process waits for another one.
class CheckpointWriter {
public:
  CheckpointWriter(std::string folder, const SaveJob &job);
  /// Removes its files, unless publish() succeeded or process 0 owns them.
  ~CheckpointWriter();

  /// Writes the states. In process 0 it also writes the indexes and collects the checksums of all
  /// processes in `file`. In another process it transfers the ownership of the files to process 0
  /// with its last message. An error if replicas of a tensor differ, or if another process failed.
  absl::Status writeStates(TrainerFile &file);

  /// In process 0: addText() writes another file. publish() comes last: it writes the file that
  /// completes the checkpoint, and moves the files of all processes into place.
  absl::Status addText(absl::string_view name, absl::string_view content);
  absl::Status publish(const TrainerFile &file);

private:
  /// A block that several processes hold, with the checksum of its elements.
  using BlockChecksums = std::map<std::pair<std::string, size_t>, std::map<int64_t, std::string>>;
  /// A block of a tensor that this process writes: a replica in this process, or received bytes.
  struct Source {
    const StateBlock *of;
    const StateReplica *here;
    std::vector<uint8_t> received;
  };

  std::string nextOf(absl::string_view file) const;
  void noteFile(absl::string_view file);
  absl::Status release();
  absl::Status writeShards();
  absl::Status exchangeShard(const ShardFile &shard);
  absl::StatusOr<SafetensorsWriter *> createFile(const ShardFile &shard);
  absl::Status commitFirst();
  absl::Status gather(const StateTensor &tensor, int64_t writer);
  absl::Status gatherBlock(const StateTensor &tensor, size_t number, int64_t writer);
  absl::Status append(const StateTensor &tensor, std::string &checksum);
  absl::Status fillPiece(const StateTensor &tensor, int64_t begin, int64_t end,
                         absl::Span<uint8_t> bytes);
  void releaseSources();
  absl::Status reportBlocks();
  absl::Status collectChecksums(TrainerFile &file);
  absl::Status collectBlocks(int64_t process);
  absl::Status addIndexes(TrainerFile &file);

  std::string folder;
  const SaveJob &job;
  int64_t self;
  std::vector<ShardFile> shards; ///< of models, then of optimizers
  /// Complete files that are not yet synchronised to disk under their names.
  std::deque<std::pair<const ShardFile *, std::unique_ptr<SafetensorsWriter>>> open;
  std::unique_ptr<BackgroundTask> flushing; ///< of the newest of these; destroyed first
  Checksums tensors, files;                 ///< written by this process
  BlockChecksums blocks;                    ///< held by this process
  std::vector<Source> sources;              ///< of the tensor that is written
  PieceWriter pieces;                       ///< of the newest file
  absl::Status failure;                     ///< the first one of a file or a comparison
  std::vector<std::string> reports;         ///< of the files of this process
  std::vector<std::string> written;         ///< the ".next" files
  std::vector<RemovedOnEarlyEnd> notes;     ///< of these
  bool isReleased = false;
};

} // namespace st

#endif // ST_RUNTIME_CHECKPOINT_CHECKPOINTWRITER_H
