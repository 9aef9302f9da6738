// Pauses between polls of a GPU.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMANDS_BACKOFF_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMANDS_BACKOFF_H

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace st::cuda {

/// One of `sharers` threads that wait for one GPU. All driver calls, including those that submit
/// other work, go through the GPU's context. A single waiter polls continuously and sometimes
/// yields its processor. With several, each polls a few times and then pauses for an eighth of the
/// time that it has waited, up to a millisecond.
class Backoff {
public:
  explicit Backoff(int64_t sharers) : isAlone(sharers <= 1) {}

  /// The pause before the next poll; 0: none.
  std::chrono::microseconds next() {
    ++asked;
    if (isAlone)
      return asked % kAloneAtOnce == 0 ? kMin : std::chrono::microseconds(0);
    if (asked <= kSharedAtOnce)
      return std::chrono::microseconds(0);
    const std::chrono::microseconds pause = std::clamp(paused / 8, kMin, kMax);
    paused += pause;
    return pause;
  }

  static constexpr int64_t kAloneAtOnce = 256, kSharedAtOnce = 8;
  static constexpr std::chrono::microseconds kMin{20}, kMax{1000};

private:
  bool isAlone;
  int64_t asked = 0;
  std::chrono::microseconds paused{0};
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMANDS_BACKOFF_H
