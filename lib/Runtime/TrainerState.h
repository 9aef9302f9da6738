// trainer_state.json of a checkpoint: how far a run has come, and with what.
#ifndef ST_RUNTIME_TRAINERSTATE_H
#define ST_RUNTIME_TRAINERSTATE_H

#include "lib/Proto/executable.pb.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <map>
#include <string>

namespace st {

/// How far a run has come.
struct TrainerState {
  int64_t step = 0;     ///< steps done
  int64_t examples = 0; ///< rows of batches seen
  uint32_t seed = 0;
};

/// The CRC-32 of each tensor, as eight hexadecimal digits.
using Checksums = std::map<std::string, std::string>;

/// The content of the file:
///
///   {"format": 2, "step": 10, "examples": 80, "seed": 0,
///    "optimizer": {"kind": "adamw", "beta1": 0.9, …}, "crc32": {"w": "89abcdef", …}}
struct TrainerFile {
  TrainerState trainer;
  /// As the program that saved it says; unknown in files of format 1.
  bool hasOptimizer = false;
  std::string optimizer;
  std::map<std::string, double> constants;
  Checksums checksums;
};

std::string printTrainerFile(const TrainerFile &file);

/// Every key has to be there, once and of its type, and no other; "crc32" may be
/// left out, or any of its entries. Errors begin with the path.
absl::StatusOr<TrainerFile> readTrainerFile(const std::string &path);

/// The optimizer of a program, in the form of the file.
void describeOptimizer(const proto::Executable &program, TrainerFile &file);

/// An error where the program has another optimizer than the run that saved the
/// file. The result has a line "warning: …" for each constant that differs.
absl::StatusOr<std::string> compareOptimizer(const std::string &path, const TrainerFile &found,
                                             const proto::Executable &program);

} // namespace st

#endif // ST_RUNTIME_TRAINERSTATE_H
