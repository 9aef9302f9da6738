// Checkpoints: a folder that other tools and other layouts can read.
//
//   model.safetensors      the unsharded parameters, under their names
//   adapter_model.safetensors, adapter_config.json
//                          the adapters of --lora, as PEFT reads them
//   optimizer.safetensors  the optimizer's unsharded tensors
//                          each in one file, or sharded: model-00001-of-00003.safetensors, …
//                          and model.safetensors.index.json, as in Hugging Face's folders
//   trainer_state.json     the progress of the run
//   config.json            the model folder's, for the class that was trained
//   tokenizer.json, vocab.json, merges.txt, vocab.txt
//                          as the model folder had them
//
// A save replaces the old checkpoint in two steps. First it writes all files under names
// that end in ".next", trainer_state.json.next last; from then on the new checkpoint is
// valid. Then it gives each file its final name, trainer_state.json last. So while
// trainer_state.json.next exists, a reader prefers the ".next" form of each file. Without
// it, ".next" files are leftovers. A save removes the files of the old checkpoint that
// the new one does not list, and leaves other files unchanged.
#ifndef ST_RUNTIME_CHECKPOINT_CHECKPOINT_H
#define ST_RUNTIME_CHECKPOINT_CHECKPOINT_H

#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/Checkpoint/CheckpointWriter.h"
#include "lib/Runtime/Checkpoint/FolderLock.h"
#include "lib/Runtime/Checkpoint/TrainerState.h"
#include "lib/Runtime/State/States.h"
#include "lib/Support/ProcessEnd.h"
#include "lib/Support/Safetensors.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace st {

/// A folder that will hold a checkpoint. claim() creates it if it is missing, locks it against
/// other runs, tests that it is writable and removes the leftovers of killed saves. The destructor
/// removes a folder that claim() created if no save followed.
class CheckpointFolder {
public:
  static absl::StatusOr<std::unique_ptr<CheckpointFolder>> claim(const std::string &path);
  ~CheckpointFolder();
  CheckpointFolder(const CheckpointFolder &) = delete;
  CheckpointFolder &operator=(const CheckpointFolder &) = delete;

  /// Removes incomplete files from the folder. Call it before each save, and before another process
  /// writes to the folder.
  absl::Status prepare();

  /// In process 0: writes the checkpoint, together with help() in all other processes. If the
  /// process ends before this returns, CheckpointReader finds either the old or the new checkpoint,
  /// complete. An error if replicas of a tensor differ.
  absl::Status save(const SaveJob &job);

  /// In another process: writes its files of the checkpoint in the folder `path`.
  static absl::Status help(const std::string &path, const SaveJob &job);

private:
  CheckpointFolder(std::string path, bool made) : path(std::move(path)), made(made) {}
  std::string path;
  bool made;
  RemovedOnEarlyEnd note;
  FolderLock lock;
};

/// A checkpoint of the same model, saved under any layout.
class CheckpointReader {
public:
  /// Checks all files, first for damage (DataLoss), then against the program. An error names the
  /// file and the key or tensor that is missing, unknown, damaged, of another type or shape, or of
  /// another function (see readModelConfig) or optimizer. To edit a file on purpose, remove
  /// "crc32", "files" and "self_crc32" from trainer_state.json. open() and restore() use `threads`
  /// threads.
  static absl::StatusOr<std::unique_ptr<CheckpointReader>>
  open(const std::string &path, const proto::Executable &program,
       const std::vector<StateTensor> &states, int threads);

  const TrainerState &trainer() const { return file.trainer; }

  /// The schedule of the run that saved it, if recorded.
  const std::optional<LearningRateSchedule> &schedule() const { return file.schedule; }

  /// Differences that are not errors, as lines that begin with "warning: ".
  const std::string &warnings() const { return text; }

  /// Copies every tensor to all ranks of this process that hold a part of it.
  absl::Status restore(const std::vector<StateTensor> &states, Executable &executable) const;

private:
  explicit CheckpointReader(int threads) : threads(threads) {}
  absl::Status readFiles(const std::string &folder, const std::vector<StateTensor> &states);
  absl::Status openTensors(const std::string &folder, absl::string_view kind);
  absl::Status checkTensorData() const;
  absl::Status checkListedFile(const std::string &folder, const std::string &name,
                               const std::string &checksum) const;
  absl::Status checkTensors(const std::string &folder, absl::string_view kind,
                            const std::vector<StateTensor> &states) const;
  absl::Status checkModel(const std::string &path, const proto::Executable &program);
  absl::Status checkChecksums(const std::string &path, const std::vector<StateTensor> &states);
  int threads;
  TrainerFile file;
  std::string text;
  std::map<std::string, std::unique_ptr<SafetensorsReader>> tensors; ///< by the file's name
};

} // namespace st

#endif // ST_RUNTIME_CHECKPOINT_CHECKPOINT_H
