// The interface for costs. Every choice that depends on time uses it.
#ifndef ST_COSTS_COSTS_H
#define ST_COSTS_COSTS_H

#include "lib/Proto/work.pb.h"
#include "lib/Timing/GroupPlacement.h"

#include "absl/strings/string_view.h"

namespace st {

/// Microseconds of an op on two clocks: the host queues work ahead of the device.
struct OpTime {
  double host = 0; ///< time of launches on the host, or on a device that launches its own kernels
  double device = 0;
  /// Time that the op alone occupies the device's memory. 0 if the costs do not model it.
  double memory = 0;

  /// Time on a device that does not overlap the two.
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

  /// An op of a compiled program that is not a collective, launched separately. Gradients and other
  /// ops may need different numbers of launches. For work without bytes, such as an op within a
  /// kernel, the device's time is that of its operations.
  virtual OpTime op(const proto::OpWork &work) const = 0;
  /// A collective of this kind ("all_reduce", ...) on `bytes` of the full tensor; for a
  /// "collective_permute" the bytes that a device sends.
  virtual OpTime collective(absl::string_view kind, double bytes,
                            const GroupPlacement &placement) const = 0;
  /// A message from one device to another.
  virtual double transfer(double bytes, bool crossesNodes, int sharers) const = 0;
  /// A pass over `bytes` of the device's memory in `launches` launches.
  virtual OpTime memoryPass(double bytes, double launches) const = 0;
  /// The share of the peak rate that matrix units reach for the sizes of a product.
  virtual double sizeFactor(const proto::OpWork &work) const { return 1; }
  /// The peak rate of products in this type, FLOP/s: an upper bound for any program.
  virtual double peakFlops(proto::ElementType type) const = 0;
  /// The highest rate that any product reaches under these costs, FLOP/s.
  virtual double fastestProduct(proto::ElementType type) const = 0;
};

} // namespace st

#endif // ST_COSTS_COSTS_H
