// A plan as one page that a browser opens without a network.
#ifndef ST_REPORT_PLANPAGE_H
#define ST_REPORT_PLANPAGE_H

#include "lib/Proto/plan.pb.h"

#include <string>

namespace st {

/// HTML that is also XML: the best layout, the Pareto front of time and memory, the timeline of its
/// step, where the time goes, memory by class, and why other layouts lost. A report without
/// candidates has no front. The element with id "plan" has the best layout as JSON.
std::string printPlanPage(const proto::PlanReport &report);

} // namespace st

#endif // ST_REPORT_PLANPAGE_H
