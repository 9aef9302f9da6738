// What things cost: the one interface of whatever chooses by time.
#ifndef ST_COSTS_COSTS_H
#define ST_COSTS_COSTS_H

#include "lib/Proto/work.pb.h"
#include "lib/Timing/GroupPlacement.h"

#include "absl/strings/string_view.h"

namespace st {

/// Microseconds of an op on two clocks: the host queues work ahead of the device.
struct OpTime {
  double host = 0; ///< of launches; where the device launches its own kernels, that
  double device = 0;
  /// How long the device's memory is busy with it, beside what else uses it. 0 where costs do not
  /// tell.
  double memory = 0;

  /// On a device that does one after the other.
  double total() const { return host + device; }
  OpTime &operator+=(const OpTime &other) {
    host += other.host;
    device += other.device;
    memory += other.memory;
    return *this;
  }
  OpTime operator*(double factor) const {
    return {host * factor, device * factor, memory * factor};
  }
};

/// Costs on one kind of device in one kind of cluster. All times are microseconds.
class Costs {
public:
  virtual ~Costs() = default;

  /// An op of a compiled program that is no collective, launched by itself. `isGradient` ops and
  /// others may run in another number of launches. Of work that has no bytes, as that of an op
  /// within a kernel, the device's time is that of its operations.
  virtual OpTime op(const proto::OpWork &work) const = 0;
  /// A collective of this kind ("all_reduce", ...) on `bytes`, of the whole tensor; of a
  /// "collective_permute" those of the part that a device sends.
  virtual OpTime collective(absl::string_view kind, double bytes,
                            const GroupPlacement &placement) const = 0;
  /// A message from one device to another.
  virtual double transfer(double bytes, bool crossesNodes, int sharers) const = 0;
  /// A pass over `bytes` of the device's memory in `launches` launches.
  virtual OpTime memoryPass(double bytes, double launches) const = 0;
  /// The share of full speed at which matrix units take the sizes of a product.
  virtual double sizeFactor(const proto::OpWork &work) const { return 1; }
  /// The peak rate of products in this type, FLOP/s: what no program exceeds.
  virtual double peakFlops(proto::ElementType type) const = 0;
  /// What no product exceeds under these costs, FLOP/s.
  virtual double fastestProduct(proto::ElementType type) const = 0;
};

} // namespace st

#endif // ST_COSTS_COSTS_H
