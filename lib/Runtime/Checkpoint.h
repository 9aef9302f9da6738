// Checkpoints: a folder that other tools and other layouts can read.
//
//   model.safetensors      the parameters, whole, under their names
//   optimizer.safetensors  the optimizer's tensors, whole
//   trainer_state.json     how far the run has come
//   config.json, vocab.txt as the model folder had them
#ifndef ST_RUNTIME_CHECKPOINT_H
#define ST_RUNTIME_CHECKPOINT_H

#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/States.h"
#include "lib/Support/Safetensors.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace st {

/// How far a run has come.
struct TrainerState {
  int64_t step = 0;     ///< steps done
  int64_t examples = 0; ///< rows of batches seen
  uint32_t seed = 0;
};

/// A folder that will hold a checkpoint. Claiming it makes it where it is missing
/// and proves that it can be written; one that was made and never saved to
/// vanishes again.
class CheckpointFolder {
public:
  static absl::StatusOr<std::unique_ptr<CheckpointFolder>> claim(const std::string &path);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder &) = delete;
  CheckpointFolder &operator=(const CheckpointFolder &) = delete;

  /// Gathers every state and writes the files. Each is complete before the first
  /// takes its place, and all carry the step, so that a mixture of two
  /// checkpoints is recognised. An error where replicas of a tensor differ.
  absl::Status save(const proto::Executable &program, const std::vector<StateTensor> &states,
                    Executable &executable, const TrainerState &trainer);

private:
  CheckpointFolder(std::string path, bool made) : path(std::move(path)), made(made) {}
  std::string path;
  bool made;
};

/// A checkpoint of the same model, of whatever layout.
class CheckpointReader {
public:
  /// Checks all of it against the model. An error names the file and the tensor
  /// that is missing, unknown, of another type or shape, or damaged. Who edited a
  /// tensor on purpose removes its "crc32" from trainer_state.json.
  static absl::StatusOr<std::unique_ptr<CheckpointReader>>
  open(const std::string &path, const std::vector<StateTensor> &states);

  const TrainerState &trainer() const { return trainerState; }

  /// Copies every tensor to all who hold a part of it.
  absl::Status restore(const std::vector<StateTensor> &states, Executable &executable) const;

private:
  CheckpointReader() = default;
  TrainerState trainerState;
  std::vector<std::unique_ptr<SafetensorsReader>> files;
};

} // namespace st

#endif // ST_RUNTIME_CHECKPOINT_H
