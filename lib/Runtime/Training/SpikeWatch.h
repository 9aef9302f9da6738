// Detects losses far above the recent ones.
#ifndef ST_RUNTIME_TRAINING_SPIKEWATCH_H
#define ST_RUNTIME_TRAINING_SPIKEWATCH_H

#include "absl/status/status.h"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace st {

/// The reaction of a run to a loss spike.
struct SpikeOptions {
  /// "": none, but a NaN or infinite loss ends the run. "stop": the run ends with an error. "skip":
  /// the run restores the newest checkpoint and repeats the steps since, without the batch of the
  /// spike. "rewind": the same, without any batch since that checkpoint.
  std::string action;
  double deviations = 10; ///< distance from the median of a spike; see SpikeWatch
  int64_t window = 100;   ///< number of steps for the median

  bool isWatching() const { return !action.empty(); }
  bool restores() const { return action == "skip" || action == "rewind"; }
};

/// An error names the flag.
absl::Status checkSpikeOptions(const SpikeOptions &options);

/// Keeps the losses of the last `window` steps. A loss is a spike when it is NaN, infinite, or
/// above median + deviations * s. Here s = 1.4826 * (median absolute deviation) estimates the
/// standard deviation of normal noise; s is at least 1 % of the median's magnitude.
/// The finite test starts once kFewest losses are known.
class SpikeWatch {
public:
  static constexpr int64_t kFewest = 16;

  explicit SpikeWatch(const SpikeOptions &options) : options(options) {}

  /// The largest loss that is not a spike; infinity while fewer than kFewest losses are known.
  double bound() const;

  /// Returns true if the loss of a step is a spike; records it otherwise.
  bool isSpike(double loss);

  /// The recorded losses, latest last. `restore` brings a watch back to this state.
  std::vector<double> losses() const { return {recent.begin(), recent.end()}; }
  void restore(const std::vector<double> &losses);

private:
  SpikeOptions options;
  std::deque<double> recent;
};

} // namespace st

#endif // ST_RUNTIME_TRAINING_SPIKEWATCH_H
