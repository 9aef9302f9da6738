// The first change to make if a layout does not fit.
#ifndef ST_PLANNER_MEMORYADVICE_H
#define ST_PLANNER_MEMORYADVICE_H

#include "lib/Planner/Step/Step.h"

#include <string>

namespace st {

/// One sentence. Tries changes that keep the devices, in increasing order of their cost in time,
/// and composes a step for each. Names the first change for which the layout fits, or else the one
/// that frees the most memory. Empty if the step fits.
std::string adviseOnMemory(const StepInputs &inputs, const Layout &layout,
                           const StepEstimate &step);

} // namespace st

#endif // ST_PLANNER_MEMORYADVICE_H
