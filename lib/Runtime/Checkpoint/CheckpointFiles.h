// The files of a checkpoint, private to its readers and writers; Checkpoint.h describes the
// renaming protocol.
#ifndef ST_RUNTIME_CHECKPOINT_CHECKPOINTFILES_H
#define ST_RUNTIME_CHECKPOINT_CHECKPOINTFILES_H

#include "lib/Runtime/State/States.h"
#include "lib/Runtime/Tokenizers/TokenizerFiles.h"

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <string>

namespace st {

constexpr absl::string_view kModelFile = "model.safetensors";
constexpr absl::string_view kOptimizerFile = "optimizer.safetensors";
constexpr absl::string_view kAdapterFile = "adapter_model.safetensors";
constexpr absl::string_view kAdapterConfigFile = "adapter_config.json";
constexpr absl::string_view kConfigFile = "config.json";
constexpr absl::string_view kTrainerFile = "trainer_state.json";

/// The files of a checkpoint that is not sharded, in the order in which they are renamed.
constexpr absl::string_view kCheckpointFiles[] = {
    kModelFile,     kAdapterFile, kOptimizerFile, kAdapterConfigFile, kConfigFile,
    kTokenizerJson, kVocabJson,   kMergesTxt,     kVocabTxt,          kTrainerFile};

/// The kinds of tensors: the names of their files, without suffix.
constexpr absl::string_view kTensorKinds[] = {"model", "adapter_model", "optimizer"};

/// Suffix of a new file until it replaces the old one.
constexpr absl::string_view kNext = ".next";

/// The file that a tensor belongs to.
absl::string_view fileOf(const StateTensor &tensor);

/// Returns true if the checkpoint has files of a kind. Only adapters may be absent.
bool hasKind(absl::string_view kind, const std::vector<StateTensor> &states);

/// Returns true if the folder holds a checkpoint, the old or the new one (see Checkpoint.h).
bool holdsCheckpoint(const std::string &folder);

/// Returns true if a file of a checkpoint may have this name.
bool isCheckpointName(absl::string_view name);

/// Completes a save whose trainer_state.json.next exists. Gives all its files their final names,
/// this one last, and removes the files of the old checkpoint that the new one does not have.
absl::Status finishMove(const std::string &folder);

/// Removes the leftovers of killed saves from a locked folder. Call it after finishMove.
void removeLeftovers(const std::string &folder);

/// Removes all files of a checkpoint. The file that makes the folder a checkpoint goes first, so an
/// interrupted removal never leaves a damaged checkpoint.
void removeFiles(const std::string &folder);

/// Flushes a folder's directory entries to disk.
absl::Status syncFolder(const std::string &path);

/// Returns a checksum in the form of Checksums.
std::string checksumOf(absl::Span<const uint8_t> bytes);
inline std::string checksumOf(absl::string_view text) {
  return checksumOf({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

} // namespace st

#endif // ST_RUNTIME_CHECKPOINT_CHECKPOINTFILES_H
