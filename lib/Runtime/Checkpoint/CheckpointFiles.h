// The files of a checkpoint. Private to those who read and write it; Checkpoint.h
// says how the names change hands.
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
constexpr absl::string_view kConfigFile = "config.json";
constexpr absl::string_view kTrainerFile = "trainer_state.json";

/// In the order in which they take their names.
constexpr absl::string_view kCheckpointFiles[] = {kModelFile,     kOptimizerFile, kConfigFile,
                                                  kTokenizerJson, kVocabJson,     kMergesTxt,
                                                  kVocabTxt,      kTrainerFile};

/// What a new file's name ends in until it takes its place.
constexpr absl::string_view kNext = ".next";

/// The file that a tensor belongs to.
absl::string_view fileOf(const StateTensor &tensor);

/// Whether the folder holds a checkpoint, the old one or the new one (see Checkpoint.h).
bool holdsCheckpoint(const std::string &folder);

/// Gives the files of a checkpoint that holds, and whose save was cut short, their final names.
absl::Status finishMove(const std::string &folder);

/// Removes what killed saves left in a folder whose lock is held, once finishMove is done.
void removeLeftovers(const std::string &folder);

/// Forces names of a folder to disk.
absl::Status syncFolder(const std::string &path);

/// As in Checksums.
std::string checksumOf(absl::Span<const uint8_t> bytes);
inline std::string checksumOf(absl::string_view text) {
  return checksumOf({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

} // namespace st

#endif // ST_RUNTIME_CHECKPOINT_CHECKPOINTFILES_H
