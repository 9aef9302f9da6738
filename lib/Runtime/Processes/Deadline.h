// Deadlines.
#ifndef ST_LIB_RUNTIME_DEADLINE_H
#define ST_LIB_RUNTIME_DEADLINE_H

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace st {

using Clock = std::chrono::steady_clock;

/// `seconds` from now, limited to a year, which means "forever" and cannot overflow the
/// clock.
inline Clock::time_point deadlineAfter(double seconds) {
  constexpr double kYear = 365.0 * 24 * 3600;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(std::min(seconds, kYear)));
}

/// Milliseconds until the deadline for poll, at most one hour.
inline int millisecondsUntil(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
  return static_cast<int>(std::clamp<int64_t>(left.count(), 0, 3600 * 1000));
}

} // namespace st

#endif // ST_LIB_RUNTIME_DEADLINE_H
