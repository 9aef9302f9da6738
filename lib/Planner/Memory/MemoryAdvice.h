// What to change first where a layout does not fit.
#ifndef ST_PLANNER_MEMORYADVICE_H
#define ST_PLANNER_MEMORYADVICE_H

#include "lib/Planner/Step/Step.h"

#include <string>

namespace st {

/// One sentence: of the changes that keep the devices, the first that makes the layout fit, those
/// that cost least time first; else the one that frees most. Each is composed. Empty where the step
/// fits.
std::string adviseOnMemory(const StepInputs &inputs, const Layout &layout,
                           const StepEstimate &step);

} // namespace st

#endif // ST_PLANNER_MEMORYADVICE_H
