// The charts of a page about a step, as SVG within it.
#ifndef ST_REPORT_CHARTS_H
#define ST_REPORT_CHARTS_H

#include "lib/Report/StepFigures.h"

#include <string>

namespace st {

/// A row per device group: the activity of its first device, and below it the critical path.
std::string timelineChart(const StepFigures &figures);

/// A bar per device group: the step of its average device by class.
std::string classChart(const StepFigures &figures);

/// The memory of the fullest device over the step, by class. Empty if unknown.
std::string memoryChart(const StepFigures &figures);

} // namespace st

#endif // ST_REPORT_CHARTS_H
