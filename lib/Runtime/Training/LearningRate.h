// The learning rate of each step.
#ifndef ST_RUNTIME_TRAINING_LEARNINGRATE_H
#define ST_RUNTIME_TRAINING_LEARNINGRATE_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <optional>
#include <string>

namespace st {

/// The decay of the rate after the warm-up, under Megatron-LM's names. The last two are only the
/// end of a stable rate ("WSD").
enum class DecayStyle { Constant, Linear, Cosine, InverseSquareRoot, Exponential, MinusSquareRoot };

/// "constant", "linear", "cosine", "inverse-square-root", "exponential" or "minus_sqrt".
absl::string_view nameOf(DecayStyle style);
std::optional<DecayStyle> decayStyleNamed(absl::string_view name);

/// The rate rises linearly from 0 over the first `warmup` steps to `peak`, stays there until step
/// `decayBegin`, falls until step `decayEnd`, and is `floor` from then on. Megatron-LM's formulas
/// (megatron/core/optimizer_param_scheduler.py), with steps counted from 1. If batches grow, all
/// lengths are in samples instead of steps.
struct LearningRateSchedule {
  DecayStyle style = DecayStyle::Constant;
  double peak = 0;
  double floor = 0;
  int64_t warmup = 0;
  int64_t decayBegin = 0, decayEnd = 0; ///< unused by Constant
  bool countsSamples = false;

  /// `step`: with countsSamples, the samples consumed with this step.
  double at(int64_t step) const;

  bool operator==(const LearningRateSchedule &other) const;

  /// "cosine from 1e-4 to 1e-5, warm-up 100 steps, decay until step 1000"
  std::string describe() const;
};

/// The schedule's options on the command line.
struct LearningRateOptions {
  std::optional<double> peak; ///< --lr; default: the program's learning rate
  double floor = 0;           ///< --min-lr
  std::string style;          ///< --lr-decay-style; empty: constant, or linear with totalSteps

  // At most one of three.
  int64_t warmupSteps = 0;   ///< --warmup
  int64_t warmupSamples = 0; ///< --lr-warmup-samples
  double warmupFraction = 0; ///< --lr-warmup-fraction, of the decay's length

  // At most one of three.
  int64_t decaySteps = 0;   ///< --lr-decay-steps
  int64_t decaySamples = 0; ///< --lr-decay-samples
  int64_t totalSteps = 0;   ///< --total-steps: linear to 0 one step after this one

  // With the style "WSD" (warm-up, stable, decay; Hu et al., "MiniCPM", 2024): the decay at the end
  // of the decay's length. One of the lengths.
  std::string stableStyle;        ///< --lr-wsd-decay-style; empty: exponential
  int64_t stableDecaySteps = 0;   ///< --lr-wsd-decay-steps
  int64_t stableDecaySamples = 0; ///< --lr-wsd-decay-samples

  // For a run that continues from a checkpoint with another schedule.
  bool overridesCheckpoint = false; ///< --override-lr-scheduler: this schedule wins
  bool isCheckpoints = false; ///< --use-checkpoint-lr-scheduler: the checkpoint's schedule wins
  bool isOfBinary = false;    ///< all options are from the binary; must equal the checkpoint's

  /// Returns true if any option was given.
  bool isGiven() const;
};

/// The schedule of a run of `trainSteps` steps (0: unknown), the default length of the decay.
/// `batch` is the number of samples per step, `programPeak` the learning rate that the program was
/// compiled with. An error names the flag.
absl::StatusOr<LearningRateSchedule> resolveSchedule(const LearningRateOptions &options,
                                                     double programPeak, int64_t batch,
                                                     int64_t trainSteps);

/// The same in samples, for a run of `trainSamples` (0: unknown) whose batches grow. Flags that
/// count steps are errors.
absl::StatusOr<LearningRateSchedule>
resolveSampleSchedule(const LearningRateOptions &options, double programPeak, int64_t trainSamples);

} // namespace st

#endif // ST_RUNTIME_TRAINING_LEARNINGRATE_H
