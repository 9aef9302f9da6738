// What was simulated of a search, as data and as a table.
#ifndef ST_PLANNER_SIMULATEDREPORT_H
#define ST_PLANNER_SIMULATEDREPORT_H

#include "lib/Planner/Search/Search.h"
#include "lib/Proto/plan.pb.h"

#include <string>

namespace st {

/// Adds to a report what became of the layouts that were compiled whole.
void describeSimulated(const StepInputs &inputs, const SearchResult &result,
                       proto::PlanReport &report);

/// A line a layout: composed and simulated time, and memory to the byte.
std::string printSimulated(const proto::PlanReport &report);

} // namespace st

#endif // ST_PLANNER_SIMULATEDREPORT_H
