// Copies a step's inputs into the arenas, and its results out of them.
#ifndef ST_RUNTIME_TRAINING_FEEDER_H
#define ST_RUNTIME_TRAINING_FEEDER_H

#include "lib/Proto/executable.pb.h"
#include "lib/Runtime/Data/BatchSource.h"
#include "st/Runtime/Executable.h"

#include <map>
#include <string>

namespace st {

/// Scalar inputs of a step from the host.
struct StepScalars {
  uint32_t seed = 0;
  int64_t step = 0; ///< counted from 1
  double learningRate = 0;
};

class Feeder {
public:
  /// The program must have passed validateExecutable and outlive the feeder.
  Feeder(const proto::Executable &program, Executable &executable);

  /// Writes all inputs of a step: batch inputs by name, the random key as (seed, step),
  /// "learning_rate" and "step". An error names the batch tensor that is missing or does not have
  /// the program's type.
  absl::Status feed(const Batch &batch, const StepScalars &scalars);

  /// The loss of the last step, from the first rank that has it.
  absl::StatusOr<float> readLoss() const;

  /// The scalar f32 metrics of the last step, by name.
  absl::StatusOr<std::map<std::string, float>> readMetrics() const;

  /// Returns true if steps can be skipped: gradients of a scaled loss may not be finite.
  bool skipsSteps() const { return skipped != nullptr; }
  /// Number of steps skipped since training began; 0 if the program never skips.
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

/// The distinct batch inputs of a program over all groups, with properties from its model; the
/// caller sets the seed. An error if groups disagree on an input.
absl::StatusOr<BatchSpec> batchSpecOf(const proto::Executable &program);

} // namespace st

#endif // ST_RUNTIME_TRAINING_FEEDER_H
