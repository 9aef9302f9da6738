// A step on devices that a simulator times, composed of the tasks of small programs.
#ifndef ST_PLANNER_SIMULATEDSTEP_H
#define ST_PLANNER_SIMULATEDSTEP_H

#include "lib/Planner/Step/Step.h"

namespace st {

/// What estimateStep does where `inputs.simulated` is there, for a layout that checkLayout has
/// passed. Memory is that of the compiler's plan: what the runtime of other devices takes besides
/// is 0.
absl::StatusOr<StepEstimate> estimateSimulatedStep(const StepInputs &inputs, const Layout &layout,
                                                   bool keepRuns);

} // namespace st

#endif // ST_PLANNER_SIMULATEDSTEP_H
