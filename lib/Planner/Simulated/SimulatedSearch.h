// The best layout on devices that a simulator times.
#ifndef ST_PLANNER_SIMULATEDSEARCH_H
#define ST_PLANNER_SIMULATEDSEARCH_H

#include "lib/Planner/Search/Search.h"

namespace st {

/// How much a search on simulated devices may do.
struct SimulatedEffort {
  size_t simulated = 3; ///< layouts that are compiled whole, at most
  /// Layouts that are composed, at most; 0: all but those whose certain bound leaves them out.
  size_t composed = 0;
};

/// Composes layouts of a space that can run, then compiles the fastest that fit whole and has them
/// simulated. The best is one of these; what does not compile is replaced by the next. Times and
/// bytes of candidates that were simulated are exact. `inputs.simulated` is there.
///
/// `boundMs` of a candidate is certain: its launches, its products at the peak rate and its update
/// at that of the memory. What is slower by that than all that may be simulated is left out.
///
/// A composition costs a second, so layouts are taken in the order of an estimate: the closed form
/// of the schedule with blocks at the peaks of the device. Where `effort.composed` sets a limit,
/// what is composed says by how much estimates are short at least; a layout whose estimate times
/// that share is slower than all that may be simulated is left out as well, and so is what comes
/// after that many others. The gap of the result counts these by their certain bound.
absl::StatusOr<SearchResult> searchSimulated(const StepInputs &inputs, const SearchSpace &space,
                                             const SimulatedEffort &effort,
                                             const Progress &progress = nullptr);

} // namespace st

#endif // ST_PLANNER_SIMULATEDSEARCH_H
