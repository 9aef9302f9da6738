// trainer_state.json of a checkpoint: the progress of a run and its settings.
#ifndef ST_RUNTIME_CHECKPOINT_TRAINERSTATE_H
#define ST_RUNTIME_CHECKPOINT_TRAINERSTATE_H

#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/Training/LearningRate.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace st {

/// The progress of a run.
struct TrainerState {
  int64_t step = 0;     ///< steps done
  int64_t examples = 0; ///< batch rows consumed
  /// With a ramp-up: the rows that changed no parameter, because their step was skipped or they
  /// were omitted after a loss spike.
  int64_t skippedExamples = 0;
  uint32_t seed = 0;
  std::vector<double> recentLosses; ///< of the latest steps, as SpikeWatch keeps them
};

/// CRC-32 checksums by name, as eight hexadecimal digits.
using Checksums = std::map<std::string, std::string>;

/// The content of the file:
///
///   {"format": 3, "step": 10, "examples": 80, "seed": 0,
///    "recent_losses": [7.25, 7.1], "learning_rate": {"style": "linear", "peak": 1e-4, …},
///    "optimizer": {"kind": "adamw", "beta1": 0.9, …},
///    "crc32": {"w": "89abcdef", …}, "files": {"config.json": "01234567", …},
///    "self_crc32": "76543210"}
///
/// A run whose batches grow has "skipped_examples", if there are any, and "unit": "samples" in
/// "learning_rate".
///
/// Format 1 has no "optimizer"; only format 3 has "recent_losses" (of runs that watch their
/// loss), "learning_rate", "files" and "self_crc32".
struct TrainerFile {
  TrainerState trainer;
  /// The schedule of the run; none if the program reads no learning rate.
  std::optional<LearningRateSchedule> schedule;
  /// The optimizer of the program that saved the file; unknown in format 1.
  bool hasOptimizer = false;
  std::string optimizer;
  std::map<std::string, double> constants;
  Checksums checksums; ///< of tensors
  Checksums files;     ///< of text files, and of the headers of safetensors files
};

std::string printTrainerFile(const TrainerFile &file);

/// Every key must occur exactly once with its type, and no other key may occur. The checksums,
/// "learning_rate", and entries of "crc32" and "files" are optional. "self_crc32" is the last key
/// and covers all text before it. Errors begin with the path; damage is DataLoss.
absl::StatusOr<TrainerFile> readTrainerFile(const std::string &path);

/// Stores a program's optimizer in the form of the file.
void describeOptimizer(const proto::Executable &program, TrainerFile &file);

/// An error if the program's optimizer differs from that of the run that saved the file. Otherwise
/// returns a line "warning: …" for each constant that differs.
absl::StatusOr<std::string> compareOptimizer(const std::string &path, const TrainerFile &found,
                                             const proto::Executable &program);

} // namespace st

#endif // ST_RUNTIME_CHECKPOINT_TRAINERSTATE_H
