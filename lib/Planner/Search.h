// The best layout of a model on a cluster, and why the others lost.
#ifndef ST_PLANNER_SEARCH_H
#define ST_PLANNER_SEARCH_H

#include "lib/Planner/Step.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace st {

/// What a search may choose. An empty list leaves the choice to the search.
struct SearchSpace {
  int64_t devices = 1;
  int64_t globalBatch = 1;
  std::vector<int64_t> tensor, stages, replicas, virtualStages, microBatch;
  std::vector<int64_t> zero = {0};
  std::vector<Recompute> recompute = {Recompute::None, Recompute::Selective, Recompute::Full};
  std::vector<PipelineSchedule> schedules = {PipelineSchedule::OneForwardOneBackward,
                                             PipelineSchedule::Interleaved};
  std::vector<bool> sequenceParallel = {false, true};
  std::vector<bool> offloadOptimizer = {false};
  int64_t mostMicroBatch = 64;
  int64_t mostVirtualStages = 8;
};

/// What became of a layout.
struct Candidate {
  enum Fate : uint8_t {
    Best,
    OnFront,   ///< no other layout is better in both time and memory
    Slower,    ///< another one is faster
    Full,      ///< it does not fit
    Refused,   ///< it cannot run
    Bounded,   ///< not composed: its lower bounds are worse than what another layout reaches
  };
  Layout layout;
  Fate fate = Slower;
  double boundMs = 0, boundBytes = 0; ///< lower bounds of its time and of its memory
  double ms = 0, bytes = 0;           ///< 0 where it was not composed
  std::string reason;                 ///< one sentence on why it lost; empty for the best
};

struct SearchResult {
  std::vector<Candidate> candidates; ///< in the order in which they were tried
  std::optional<size_t> best;
  std::vector<size_t> front; ///< by time, the fastest first
  /// Of all layouts that could run: none is faster than this.
  double boundMs = 0;
  size_t composed = 0;

  /// How far the best may be from the fastest step that the bound allows, as a share of the best.
  double gap() const { return best ? 1 - boundMs / candidates[*best].ms : 0; }
};

/// All layouts of a space that fill its devices with its batch, those that cannot run included.
std::vector<Layout> enumerateLayouts(const SearchSpace &space, const PlannedModel &model);

using Progress = std::function<void(size_t done, size_t all, double bestMs)>;

/// Finds the fastest layout that fits, and the front of time against memory. A layout is composed unless its
/// lower bounds are worse than a layout that is known to fit: the products at the fitted peak rate
/// with the schedule's closed form, and the bytes of parameters, gradients and optimizer state. Fails where no
/// block of the model compiles.
absl::StatusOr<SearchResult> searchLayouts(const StepInputs &inputs, const SearchSpace &space,
                                           const Progress &progress = nullptr);

} // namespace st

#endif // ST_PLANNER_SEARCH_H
