// A step on simulated devices, composed of the tasks of small programs.
#ifndef ST_PLANNER_SIMULATEDSTEP_H
#define ST_PLANNER_SIMULATEDSTEP_H

#include "lib/Planner/Step/Step.h"

namespace st {

/// Implements estimateStep if `inputs.simulated` is set, for a layout that checkLayout accepts.
/// Memory is that of the compiler's plan; the runtime of other devices counts as 0.
absl::StatusOr<StepEstimate> estimateSimulatedStep(const StepInputs &inputs, const Layout &layout,
                                                   bool keepRuns);

} // namespace st

#endif // ST_PLANNER_SIMULATEDSTEP_H
