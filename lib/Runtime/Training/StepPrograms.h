// The training programs of a binary, one for each size of a growing batch.
#ifndef ST_RUNTIME_TRAINING_STEPPROGRAMS_H
#define ST_RUNTIME_TRAINING_STEPPROGRAMS_H

#include "lib/Runtime/Data/BatchSource.h"
#include "lib/Runtime/Data/RecordedBatches.h"
#include "lib/Runtime/Training/Feeder.h"
#include "lib/Support/BatchRamp.h"

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace st {

struct StepProgram {
  const proto::Executable *program = nullptr;
  Executable *executable = nullptr;
  std::unique_ptr<Feeder> feeder;
  std::optional<StepTime> time; ///< simulated; unset for a smaller batch until it has run
};

/// Programs over the same states. Without a ramp-up there is only the one of the full batch.
class StepPrograms {
public:
  explicit StepPrograms(const proto::Executable &program) : program(program) {}

  /// `ramp`: the value of --rampup-batch-size, empty: none. An error names the flag if the binary
  /// has no program for one of its sizes.
  absl::Status open(const std::string &ramp, const BatchSpec &spec);
  absl::Status load(Executable &executable);

  const std::optional<BatchRamp> &ramp() const { return growth; }
  /// The rows of the step that begins after `examples` rows; 1 for a program without batches.
  int64_t rowsAt(int64_t examples) const { return growth ? growth->at(examples) : full; }
  StepProgram &ofRows(int64_t rows) { return programs.at(rows); }
  bool isFull(int64_t rows) const { return rows == full; }

  /// The batches that the data source must deliver. With a ramp-up, a step takes several of these
  /// batches, so the order of the samples does not depend on the ramp-up.
  BatchSpec sourceSpec(BatchSpec spec) const;
  /// The number of the source's batches in a full one.
  int64_t sourceBatches() const { return full / unit; }
  /// Rows `examples` to `examples + rows` of the source; also added to `recorded` if it is not
  /// null.
  absl::StatusOr<Batch> read(const BatchSource &source, int64_t examples, int64_t rows,
                             RecordedBatches *recorded) const;

private:
  const proto::Executable &program;
  std::optional<BatchRamp> growth;
  int64_t full = 1, unit = 1; ///< rows
  std::map<int64_t, StepProgram> programs;
};

/// Concatenates the batches. All have the same tensors [B, ...].
Batch joinBatches(const std::vector<Batch> &batches);

} // namespace st

#endif // ST_RUNTIME_TRAINING_STEPPROGRAMS_H
