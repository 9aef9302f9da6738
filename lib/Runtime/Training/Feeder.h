// Puts what a step reads into the arenas and takes out what it reports.
#ifndef ST_RUNTIME_TRAINING_FEEDER_H
#define ST_RUNTIME_TRAINING_FEEDER_H

#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/Data/BatchSource.h"
#include "st/Runtime/Executable.h"

#include <map>
#include <string>

namespace st {

/// What the host decides for one step.
struct StepScalars {
  uint32_t seed = 0;
  int64_t step = 0; ///< counted from 1
  double learningRate = 0;
};

class Feeder {
public:
  /// The program must have passed validateExecutable and outlive the feeder.
  Feeder(const proto::Executable &program, Executable &executable);

  /// Writes all inputs of a step: batch inputs by name, the random key as (seed,
  /// step), "learning_rate" and "step". An error names the batch tensor that is
  /// missing or of another type than the program's.
  absl::Status feed(const Batch &batch, const StepScalars &scalars);

  /// The loss of the last step, from the first rank that has it.
  absl::StatusOr<float> readLoss() const;

  /// The scalar f32 metrics of the last step, by name.
  absl::StatusOr<std::map<std::string, float>> readMetrics() const;

  /// Whether steps are left out: gradients of a scaled loss may not be finite.
  bool skipsSteps() const { return skipped != nullptr; }
  /// How many steps were left out since training began; 0 of a program that leaves out none.
  absl::StatusOr<int64_t> readSkippedSteps() const;

private:
  absl::Status write(const proto::Group &group, const proto::Input &input,
                     absl::Span<const uint8_t> global);
  absl::StatusOr<float> readScalar(int64_t rank, int64_t offset) const;

  const proto::Executable &program;
  Executable &executable;
  const proto::Group *lossGroup = nullptr;
  const proto::Output *loss = nullptr;
  const proto::Group *skippedGroup = nullptr;
  const proto::State *skipped = nullptr;
};

/// The distinct batch inputs of a program over all groups, and what its model
/// says about them; the seed is left to the caller. An error where groups
/// disagree about an input.
absl::StatusOr<BatchSpec> batchSpecOf(const proto::Executable &program);

} // namespace st

#endif // ST_RUNTIME_TRAINING_FEEDER_H
