// Simulated layouts of a search, as data and as a table.
#ifndef ST_PLANNER_SIMULATEDREPORT_H
#define ST_PLANNER_SIMULATEDREPORT_H

#include "lib/Planner/Search/Search.h"
#include "lib/Proto/plan.pb.h"

#include <string>

namespace st {

/// Adds the outcomes of fully compiled layouts to a report.
void describeSimulated(const StepInputs &inputs, const SearchResult &result,
                       proto::PlanReport &report);

/// One line per layout: composed and simulated time, and exact memory.
std::string printSimulated(const proto::PlanReport &report);

} // namespace st

#endif // ST_PLANNER_SIMULATEDREPORT_H
