// The layouts that a search considers.
#ifndef ST_PLANNER_SEARCHSPACE_H
#define ST_PLANNER_SEARCHSPACE_H

#include "lib/Planner/Layout.h"
#include "lib/Planner/Step/Blocks.h"
#include "lib/Proto/cluster.pb.h"

#include <vector>

namespace st {

/// The choices of a search. An empty list means no restriction.
struct SearchSpace {
  int64_t devices = 1;
  int64_t maxDevices = 0; ///< if above `devices`: all full nodes between, and parts of one node
  int64_t globalBatch = 1;
  int64_t maxGlobalBatch = 0; ///< if above `globalBatch`: any batch between
  /// Maximum number of devices for the shards and stages of one replica; 0: all.
  int64_t maxReplicaDevices = 0;
  std::vector<int64_t> tensor, stages, replicas, virtualStages, microBatch;
  /// Without values, sequences are split only if they are long (`kLongSequence`), and experts over
  /// replicas wherever a model has experts.
  std::vector<int64_t> context, expert;
  /// The data that devices may send for attention if they share sequences.
  std::vector<ContextAttention> contextAttention = {ContextAttention::Heads, ContextAttention::Keys,
                                                    ContextAttention::Ring};
  std::vector<int64_t> zero = {0};
  std::vector<Recompute> recompute = {Recompute::None, Recompute::Selective, Recompute::Full};
  std::vector<PipelineSchedule> schedules = {PipelineSchedule::OneForwardOneBackward,
                                             PipelineSchedule::Interleaved};
  std::vector<bool> sequenceParallel = {false, true};
  std::vector<bool> offloadOptimizer = {false};
  std::vector<RankOrder> placements; ///< of equivalent orders on a cluster, only the first is kept
  /// This number of fastest layouts that fit is composed, on the front or not.
  size_t fastest = 1;
  int64_t maxMicroBatch = 64;
  int64_t maxVirtualStages = 8;

  bool hasBatchRange() const { return maxGlobalBatch > globalBatch; }
  bool hasDeviceRange() const { return maxDevices > devices; }
};

/// Sequences of at least this length may be split over devices even if the user does not ask for
/// it, into parts of at least kMinPart tokens. Per token, attention's work grows with the sequence
/// length and its communication does not, so shorter parts rarely pay.
constexpr int64_t kLongSequence = 16384, kMinPart = 4096;

/// Maximum number of layouts in a space.
constexpr size_t kMaxLayouts = 1000000;

/// Lists all layouts of a space, including those that cannot run, up to kMaxLayouts. They fill the
/// devices with the batch. In a range of batches, micro-batches are powers of two unless they are
/// listed. Their number doubles from the minimum to the maximum; both and multiples of the stages
/// are considered too.
std::vector<Layout> enumerateLayouts(const SearchSpace &space, const PlannedModel &model,
                                     const proto::ClusterDescription &cluster);

} // namespace st

#endif // ST_PLANNER_SEARCHSPACE_H
