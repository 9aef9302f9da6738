// Converts a plan's step to the figures of a step's charts.
#ifndef ST_REPORT_PLANFIGURES_H
#define ST_REPORT_PLANFIGURES_H

#include "lib/Proto/plan.pb.h"
#include "lib/Report/StepFigures.h"

namespace st {

/// The class of a part of a step in the charts.
TimeClass classOfPart(const proto::PlanPart &part);

/// The tracks and the times by class of each device group. The step must have its timeline.
StepFigures figuresOfPlan(const proto::PlanStep &step);

} // namespace st

#endif // ST_REPORT_PLANFIGURES_H
