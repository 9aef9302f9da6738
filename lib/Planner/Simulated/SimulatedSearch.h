// Finds the best layout on simulated devices.
#ifndef ST_PLANNER_SIMULATEDSEARCH_H
#define ST_PLANNER_SIMULATEDSEARCH_H

#include "lib/Planner/Search/Search.h"

namespace st {

/// Effort of a search on simulated devices.
struct SimulatedEffort {
  size_t simulated = 3; ///< maximum number of fully compiled layouts
  /// Maximum number of composed layouts; 0: all except those that their guaranteed bound excludes.
  size_t composed = 0;
};

/// Composes the layouts of a space that can run. Then compiles and simulates the fastest that fit;
/// the next one replaces a layout that does not compile. The best is one of these. Times and bytes
/// of simulated candidates are exact. `inputs.simulated` must be set.
///
/// `boundMs` is a guaranteed lower bound of a candidate: its launches, its products at the peak
/// rate, and its update at the memory bandwidth. Excludes layouts whose bound exceeds the times of
/// all layouts to simulate.
///
/// A composition takes a second, so layouts are processed in the order of an estimate: the closed
/// form of the schedule with blocks at the peaks of the device. With a limit of `effort.composed`,
/// the composed layouts give the minimum ratio of time to estimate. A layout whose scaled estimate
/// is slower than all layouts to simulate is excluded too, and so are layouts beyond the limit. The
/// gap of the result counts these by their guaranteed bound.
absl::StatusOr<SearchResult> searchSimulated(const StepInputs &inputs, const SearchSpace &space,
                                             const SimulatedEffort &effort,
                                             const Progress &progress = nullptr);

} // namespace st

#endif // ST_PLANNER_SIMULATEDSEARCH_H
