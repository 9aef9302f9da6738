// The charts of a page about a plan, as SVG within it.
#ifndef ST_REPORT_PLANCHARTS_H
#define ST_REPORT_PLANCHARTS_H

#include "lib/Proto/plan.pb.h"

#include <string>

namespace st {

/// A point per composed layout, by its time and its memory. The front is connected, and the
/// device's memory is a dashed line. Points far from the best are omitted.
std::string frontChart(const proto::PlanReport &report);

/// The number of composed layouts that frontChart omits.
int hiddenLayouts(const proto::PlanReport &report);

/// A bar per device group: the memory of one of its devices by class.
std::string memoryBars(const proto::PlanStep &step, double limitMib);

/// The classes of memory with the colours of the bars.
std::string memoryLegend(const proto::PlanStep &step);

} // namespace st

#endif // ST_REPORT_PLANCHARTS_H
