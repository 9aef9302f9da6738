// Work that a host queues on a device, on both clocks.
#ifndef ST_PLANNER_QUEUEDWORK_H
#define ST_PLANNER_QUEUEDWORK_H

#include "lib/Costs/Costs.h"

#include <algorithm>

namespace st {

/// Ops in order. The host queues one after the other; the device starts each when it is queued and
/// the one before is done. Times are microseconds. Three numbers are enough to put such work in
/// sequence, as in the (max, +) algebra of event systems (Baccelli et al., "Synchronization and
/// Linearity", 1992): `span` grows by what the later work has left to do after each point at which
/// the device waited for the host.
struct QueuedWork {
  double host = 0;   ///< of the host, without waits
  double device = 0; ///< of the device, without waits
  double span =
      0; ///< until the device is done, where both clocks start alike and the device is idle

  QueuedWork() = default;
  QueuedWork(const OpTime &op) : host(op.host), device(op.device), span(op.host + op.device) {}

  QueuedWork &operator+=(const QueuedWork &next) {
    span = std::max(span + next.device, host + next.span);
    host += next.host;
    device += next.device;
    return *this;
  }

  /// The same work `count` times.
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
