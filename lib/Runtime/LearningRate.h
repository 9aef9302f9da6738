// The learning rate of each step.
#ifndef ST_RUNTIME_LEARNINGRATE_H
#define ST_RUNTIME_LEARNINGRATE_H

#include <algorithm>
#include <cstdint>

namespace st {

/// Rises linearly over the first `warmup` steps to `peak`, then stays, or falls
/// linearly so that it would reach zero one step after `total`. A total of 0
/// means that it stays.
struct LearningRateSchedule {
  double peak = 0;
  int64_t warmup = 0;
  int64_t total = 0;

  /// Steps are counted from 1.
  double at(int64_t step) const {
    if (step <= warmup)
      return peak * static_cast<double>(step) / static_cast<double>(warmup);
    if (total == 0)
      return peak;
    const double left = static_cast<double>(std::max<int64_t>(0, total - step + 1));
    return peak * left / static_cast<double>(std::max<int64_t>(1, total - warmup));
  }
};

} // namespace st

#endif // ST_RUNTIME_LEARNINGRATE_H
