// The best layout on devices that a simulator times.
#ifndef ST_PLANNER_SIMULATEDSEARCH_H
#define ST_PLANNER_SIMULATEDSEARCH_H

#include "lib/Planner/Search.h"

namespace st {

/// Composes every layout of a space that can run, then compiles the fastest `count` that fit whole
/// and has them simulated. The best is one of these; what does not compile is replaced by the next.
/// Times and bytes of candidates that were simulated are exact. `inputs.simulated` is there. Fails
/// where no layout of the space can be composed for a reason that is not the layout's.
absl::StatusOr<SearchResult> searchSimulated(const StepInputs &inputs, const SearchSpace &space,
                                             size_t count, const Progress &progress = nullptr);

} // namespace st

#endif // ST_PLANNER_SIMULATEDSEARCH_H
