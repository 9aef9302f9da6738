// Work that a host queues on a device, in host time and device time.
#ifndef ST_PLANNER_QUEUEDWORK_H
#define ST_PLANNER_QUEUEDWORK_H

#include "lib/Costs/Costs.h"

#include <algorithm>

namespace st {

/// Ops in order. The host queues them one after the other. The device starts each when it is queued
/// and the previous one is done. Times are microseconds. Three numbers are enough to append such
/// work, as in the (max, +) algebra of event systems (Baccelli et al., "Synchronization and
/// Linearity", 1992).
struct QueuedWork {
  double host = 0;   ///< of the host, without waits
  double device = 0; ///< of the device, without waits
  double span = 0;   ///< until the device is done, if both start at once and the device is idle

  QueuedWork() = default;
  QueuedWork(const OpTime &op) : host(op.host), device(op.device), span(op.host + op.device) {}

  QueuedWork &operator+=(const QueuedWork &next) {
    span = std::max(span + next.device, host + next.span);
    host += next.host;
    device += next.device;
    return *this;
  }

  /// Repeats the work `count` times.
  QueuedWork repeated(double count) const {
    if (count <= 0)
      return {};
    QueuedWork all;
    all.host = host * count;
    all.device = device * count;
    all.span = span + (count - 1) * std::max(host, device);
    return all;
  }
};

} // namespace st

#endif // ST_PLANNER_QUEUEDWORK_H
