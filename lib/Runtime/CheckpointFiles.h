// The files of a checkpoint. Private to those who read and write it; Checkpoint.h
// says how the names change hands.
#ifndef ST_RUNTIME_CHECKPOINTFILES_H
#define ST_RUNTIME_CHECKPOINTFILES_H

#include "lib/Runtime/States.h"

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <string>

namespace st {

constexpr absl::string_view kModelFile = "model.safetensors";
constexpr absl::string_view kOptimizerFile = "optimizer.safetensors";
constexpr absl::string_view kConfigFile = "config.json";
constexpr absl::string_view kVocabularyFile = "vocab.txt";
constexpr absl::string_view kTrainerFile = "trainer_state.json";

/// In the order in which they take their names.
constexpr absl::string_view kCheckpointFiles[] = {kModelFile, kOptimizerFile, kConfigFile,
                                                  kVocabularyFile, kTrainerFile};

/// What a new file's name ends in until it takes its place.
constexpr absl::string_view kNext = ".next";

/// The file that a tensor belongs to.
absl::string_view fileOf(const StateTensor &tensor);

/// As in Checksums.
std::string checksumOf(absl::Span<const uint8_t> bytes);

} // namespace st

#endif // ST_RUNTIME_CHECKPOINTFILES_H
