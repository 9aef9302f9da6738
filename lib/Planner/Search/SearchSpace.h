// The layouts that a search considers.
#ifndef ST_PLANNER_SEARCHSPACE_H
#define ST_PLANNER_SEARCHSPACE_H

#include "lib/Planner/Layout.h"
#include "lib/Planner/Step/Blocks.h"
#include "lib/Proto/cluster.pb.h"

#include <vector>

namespace st {

/// What a search may choose. An empty list leaves the choice to the search.
struct SearchSpace {
  int64_t devices = 1;
  int64_t mostDevices = 0; ///< if more than `devices`: all whole nodes between, and parts of one
  int64_t globalBatch = 1;
  int64_t mostGlobalBatch = 0; ///< if more than `globalBatch`: any batch between
  /// Devices that the shards and stages of one replica may take; 0: all.
  int64_t mostReplicaDevices = 0;
  std::vector<int64_t> tensor, stages, replicas, virtualStages, microBatch;
  std::vector<int64_t> zero = {0};
  std::vector<Recompute> recompute = {Recompute::None, Recompute::Selective, Recompute::Full};
  std::vector<PipelineSchedule> schedules = {PipelineSchedule::OneForwardOneBackward,
                                             PipelineSchedule::Interleaved};
  std::vector<bool> sequenceParallel = {false, true};
  std::vector<bool> offloadOptimizer = {false};
  std::vector<RankOrder> placements; ///< of those that are alike on a cluster, the first
  /// So many of the fastest that fit are composed, whether they are on the front or not.
  size_t fastest = 1;
  int64_t mostMicroBatch = 64;
  int64_t mostVirtualStages = 8;

  bool hasBatchRange() const { return mostGlobalBatch > globalBatch; }
  bool hasDeviceRange() const { return mostDevices > devices; }
};

/// More layouts than this are no space to search.
constexpr size_t kMostLayouts = 1000000;

/// All layouts of a space, those that cannot run included, up to kMostLayouts. They fill the
/// devices with the batch. Within a range of batches, micro-batches are powers of two unless they
/// are listed, and their number is doubled from the least to the most, which are considered with
/// multiples of the stages as well.
std::vector<Layout> enumerateLayouts(const SearchSpace &space, const PlannedModel &model,
                                     const proto::ClusterDescription &cluster);

} // namespace st

#endif // ST_PLANNER_SEARCHSPACE_H
