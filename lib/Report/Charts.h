// The pictures of a page about a step, as SVG within it.
#ifndef ST_REPORT_CHARTS_H
#define ST_REPORT_CHARTS_H

#include "lib/Report/StepFigures.h"

#include <string>

namespace st {

/// A row a device group: what its first device did when, and under it where the critical path is.
std::string timelineChart(const StepFigures &figures);

/// A bar a device group: the step of its mean device by class.
std::string classChart(const StepFigures &figures);

/// What the fullest device holds over the step, by class. Empty where that is not known.
std::string memoryChart(const StepFigures &figures);

} // namespace st

#endif // ST_REPORT_CHARTS_H
