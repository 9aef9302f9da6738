// The memory of a device by class.
#ifndef ST_PLANNER_MEMORY_H
#define ST_PLANNER_MEMORY_H

#include "lib/Planner/ModelSplit.h"
#include "lib/Proto/cluster.pb.h"
#include "lib/Proto/profile.pb.h"

#include <string>
#include <utility>
#include <vector>

namespace st {

/// Bytes of one device by class.
struct DeviceMemory {
  double parameters = 0, gradients = 0, optimizer = 0, activations = 0, workspace = 0,
         communication = 0, context = 0, fragmentation = 0;

  double total() const {
    return parameters + gradients + optimizer + activations + workspace + communication + context +
           fragmentation;
  }
  /// (name, bytes) of each class.
  std::vector<std::pair<const char *, double>> classes() const;
};

enum class Fit : uint8_t { Fits, WithinMargin, DoesNotFit };
const char *fitName(Fit fit);
/// Whether a device with `room` bytes has enough; "within the margin" where only without the
/// fragmentation.
Fit judgeFit(const DeviceMemory &memory, double room);

/// What the memory of a layout depends on. Members outlive it.
struct MemoryInputs {
  const PlannedModel &model;
  const proto::ClusterDescription &cluster;
  const proto::ImplementationProfile &profile;
  const Layout &layout;
  const ModelSplit &split;
  const proto::ProgramWork &work; ///< of the blocks as the layout recomputes
  const proto::ProgramWork &kept; ///< without recomputation
  double optimizerBytes = 8;      ///< of a parameter, besides its master weight
};

/// Of a device of a group with at most `inFlight` micro-batches, over all chunks, between forward
/// and backward.
DeviceMemory sumMemory(const MemoryInputs &inputs, int64_t group, int64_t inFlight);

} // namespace st

#endif // ST_PLANNER_MEMORY_H
