// What things cost: the one interface of whatever chooses by time.
#ifndef ST_COSTS_COSTS_H
#define ST_COSTS_COSTS_H

#include "lib/Proto/work.pb.h"
#include "lib/Timing/CollectiveTime.h"

#include <string>

namespace st {

/// Microseconds of an op on two clocks: the host queues work ahead of the device.
struct OpTime {
  double host = 0;
  double device = 0;

  OpTime &operator+=(const OpTime &other) {
    host += other.host;
    device += other.device;
    return *this;
  }
  OpTime operator*(double factor) const { return {host * factor, device * factor}; }
};

/// Costs on one kind of device in one kind of cluster. All times are microseconds.
class Costs {
public:
  virtual ~Costs() = default;

  /// An op of a compiled program that is no collective. `isGradient` ops and others may run in
  /// another number of launches.
  virtual OpTime op(const proto::OpWork &work) const = 0;
  /// A collective of this kind ("all_reduce", ...) on `bytes`, of the whole tensor.
  virtual OpTime collective(const std::string &kind, double bytes,
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
