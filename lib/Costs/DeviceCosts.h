// Costs on one device from the peaks of its engines and links, for passes that compare ops and
// collectives. Ops use a roofline (Williams, Waterman, Patterson, "Roofline: an insightful visual
// performance model", 2009), collectives rings (Patarasuk, Yuan, "Bandwidth optimal all-reduce
// algorithms", 2009). The simulator adds the costs of tiles, queues and contention.
#ifndef ST_COSTS_DEVICECOSTS_H
#define ST_COSTS_DEVICECOSTS_H

#include "lib/Costs/Costs.h"

#include <vector>

namespace st {

/// Peak work of a device per microsecond, and its start-up times.
struct DevicePeaks {
  double flops = 0, flops16 = 0; ///< operations of products in 32 and 16 bits
  double vectorBytes = 0;        ///< results of elementwise ops within a core
  double memoryBytes = 0;        ///< traffic of the device's memory
  /// Link to the next device of a ring, per axis of the mesh. 0 without a link: the axis has one
  /// position, or its ranks share a device.
  std::vector<double> linkBytes;
  double launchUs = 0;  ///< the time to start a kernel or a collective
  double messageUs = 0; ///< the latency of each message of a collective

  /// Round figures for an unknown target, in the proportions of a typical device. A byte takes a
  /// microsecond on a link along any axis; a launch takes 512 microseconds.
  static DevicePeaks unit(int axes);
};

class DeviceCosts : public Costs {
public:
  explicit DeviceCosts(DevicePeaks devicePeaks);

  OpTime op(const proto::OpWork &work) const override;
  OpTime collective(absl::string_view kind, double bytes,
                    const GroupPlacement &placement) const override;
  /// Uses the fastest links, or the slowest between nodes; each device has separate links.
  double transfer(double bytes, bool crossesNodes, int sharers) const override;
  OpTime memoryPass(double bytes, double launches) const override;
  double peakFlops(proto::ElementType type) const override;
  double fastestProduct(proto::ElementType type) const override { return peakFlops(type); }

private:
  /// Bytes per microsecond along an axis. Ranks that share a device count as nearest devices;
  /// without links they exchange data through the device's memory.
  double rateOf(int axis) const {
    return peaks.linkBytes[axis] > 0 ? peaks.linkBytes[axis] : fastest;
  }

  const DevicePeaks peaks;
  double fastest = 0, slowest = 0; ///< of the links
};

} // namespace st

#endif // ST_COSTS_DEVICECOSTS_H
