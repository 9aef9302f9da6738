// The best layout of a model on a cluster, and why the others lost.
#ifndef ST_PLANNER_SEARCH_H
#define ST_PLANNER_SEARCH_H

#include "lib/Planner/Search/SearchSpace.h"
#include "lib/Planner/Step/Step.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace st {

/// What became of a layout.
struct Candidate {
  enum Fate : uint8_t {
    Best,
    OnFront, ///< no other layout is better in time a sample, memory and devices
    Slower,  ///< another one is faster
    Full,    ///< it does not fit
    Refused, ///< it cannot run
    Bounded, ///< not composed: its lower bounds are worse than what another layout reaches
  };
  Layout layout;
  Fate fate = Slower;
  double boundMs = 0, boundBytes = 0; ///< lower bounds of its time and of its memory
  double ms = 0, bytes = 0;           ///< 0 where it was not composed
  std::string reason;                 ///< one sentence on why it lost; empty for the best

  double msPerSample() const { return ms / static_cast<double>(layout.globalBatch()); }
  double boundMsPerSample() const { return boundMs / static_cast<double>(layout.globalBatch()); }
};

struct SearchResult {
  std::vector<Candidate> candidates;
  std::optional<size_t> best;
  std::vector<size_t> front; ///< by time a sample, the fastest first
  /// Of all layouts that could run: none is faster than this, with the batch of the best.
  double boundMs = 0;
  size_t composed = 0;
  /// Compiled whole and timed by a simulator, in the order of their composed times.
  std::vector<size_t> simulated;

  /// How far the best may be from the fastest step that the bound allows, as a share of the best.
  double gap() const { return best ? 1 - boundMs / candidates[*best].ms : 0; }
};

using Progress = std::function<void(size_t done, size_t all, double bestMs)>;

/// Finds the layout that fits with the least time a sample, and the front of that time against
/// memory and devices. Layouts are taken in the order of a lower bound of their time, which becomes
/// better in steps: the products at the fitted peak rate; the closed form of the schedule with
/// sketched blocks (Sketch.h), and with compiled ones; the composition. What another layout that
/// fits is not worse than in bounds of time and memory goes no further, unless it may be among the
/// fastest. Fails where no block of the model compiles, or for a space of more than kMostLayouts.
absl::StatusOr<SearchResult> searchLayouts(const StepInputs &inputs, const SearchSpace &space,
                                           const Progress &progress = nullptr);

} // namespace st

#endif // ST_PLANNER_SEARCH_H
