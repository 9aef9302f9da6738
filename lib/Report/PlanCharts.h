// The pictures of a page about a plan, as SVG within it.
#ifndef ST_REPORT_PLANCHARTS_H
#define ST_REPORT_PLANCHARTS_H

#include "lib/Proto/plan.pb.h"

#include <string>

namespace st {

/// A point a composed layout, by its time and its memory; the front is joined, the device's memory
/// is a dashed line. Points far from the best are left out.
std::string frontChart(const proto::PlanReport &report);

/// How many composed layouts frontChart leaves out.
int hiddenLayouts(const proto::PlanReport &report);

/// A bar a device group: the memory of one of its devices by class.
std::string memoryBars(const proto::PlanStep &step, double limitMib);

/// The classes of memory with the colours of the bars.
std::string memoryLegend(const proto::PlanStep &step);

} // namespace st

#endif // ST_REPORT_PLANCHARTS_H
