// Finds the best layout of a model on a cluster, and explains why others lost.
#ifndef ST_PLANNER_SEARCH_H
#define ST_PLANNER_SEARCH_H

#include "lib/Planner/Search/SearchSpace.h"
#include "lib/Planner/Step/Step.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace st {

/// The outcome of a layout.
struct Candidate {
  enum Fate : uint8_t {
    Best,
    OnFront, ///< no other layout is better in time per sample, memory and devices
    Slower,  ///< another one is faster
    Full,    ///< it does not fit
    Refused, ///< it cannot run
    Bounded, ///< not composed: its lower bounds are worse than another layout
  };
  Layout layout;
  Fate fate = Slower;
  double boundMs = 0, boundBytes = 0; ///< lower bounds of its time and memory
  double ms = 0, bytes = 0;           ///< 0 if not composed
  std::string reason;                 ///< one sentence on why it lost; empty for the best

  double msPerSample() const { return ms / static_cast<double>(layout.globalBatch()); }
  double boundMsPerSample() const { return boundMs / static_cast<double>(layout.globalBatch()); }
};

struct SearchResult {
  std::vector<Candidate> candidates;
  std::optional<size_t> best;
  std::vector<size_t> front; ///< by time per sample, fastest first
  /// Lower bound of the times of all layouts that could run, scaled to the batch of the best
  /// layout.
  double boundMs = 0;
  size_t composed = 0;
  /// Fully compiled and simulated layouts, in the order of their composed times.
  std::vector<size_t> simulated;

  /// Maximum distance of the best from the fastest possible step, as a fraction of the best.
  double gap() const { return best ? 1 - boundMs / candidates[*best].ms : 0; }
};

using Progress = std::function<void(size_t done, size_t all, double bestMs)>;

/// Finds the layout that fits with the lowest time per sample, and the front of that time against
/// memory and devices. Processes layouts in the order of a lower bound of their time, which is
/// refined in steps: the products at the fitted peak rate; the closed form of the schedule with
/// sketched blocks (Sketch.h), then with compiled ones; the composition. Drops a layout when
/// another one that fits beats its bounds of time and memory, unless it may be among the fastest.
/// Fails if no block of the model compiles, or if the space has more than kMaxLayouts.
absl::StatusOr<SearchResult> searchLayouts(const StepInputs &inputs, const SearchSpace &space,
                                           const Progress &progress = nullptr);

} // namespace st

#endif // ST_PLANNER_SEARCH_H
