// Megatron-LM's ramp-up of the global batch (--rampup-batch-size START INCREMENT SAMPLES).
#ifndef ST_SUPPORT_BATCHRAMP_H
#define ST_SUPPORT_BATCHRAMP_H

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <string>
#include <vector>

namespace st {

/// The batch begins with `start` rows and grows by `increment` at equal distances until, after
/// `samples` consumed rows, it has `full` rows. The formulas are those of
/// RampupBatchSizeNumMicroBatchesCalculator (megatron/core/num_microbatches_calculator.py).
struct BatchRamp {
  int64_t start = 0, increment = 0, samples = 0, full = 0;

  /// Parses three numbers that are separated by commas or spaces. An error names the flag.
  static absl::StatusOr<BatchRamp> parse(absl::string_view text, int64_t full);

  /// The form that parse() reads: "4,4,100".
  std::string text() const;

  /// The rows of the step that begins after `consumed` rows.
  int64_t at(int64_t consumed) const;

  /// The sizes below `full`, ascending.
  std::vector<int64_t> sizes() const;

  /// The largest number of rows that divides all sizes.
  int64_t unit() const;

  /// The steps of a run over `trainSamples` rows. The last step may exceed them during the ramp-up;
  /// after it, an incomplete last batch is omitted.
  int64_t countSteps(int64_t trainSamples) const;

  /// The name of the executable's program for a batch size.
  static std::string nameOf(int64_t size);
};

} // namespace st

#endif // ST_SUPPORT_BATCHRAMP_H
