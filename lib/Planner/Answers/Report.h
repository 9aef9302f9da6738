// Plans as data, tables and JSON.
#ifndef ST_PLANNER_REPORT_H
#define ST_PLANNER_REPORT_H

#include "lib/Planner/Search/Search.h"
#include "lib/Proto/plan.pb.h"

#include <string>

namespace st {

proto::PlanLayout describeLayout(const Layout &layout);
proto::PlanStep describeStep(const StepInputs &inputs, const Layout &layout,
                             const StepEstimate &step);
/// A report of one layout alone, which somebody gave.
proto::PlanReport describeRun(const StepInputs &inputs, const proto::PlanStep &step);
/// The best layout and the front are composed again, for their details.
absl::StatusOr<proto::PlanReport> describeSearch(const StepInputs &inputs,
                                                 const SearchResult &result);

/// One step: rates, timers and memory.
std::string printStep(const proto::PlanStep &step);
/// The front, a line a layout, and what bounds it.
std::string printFront(const proto::PlanReport &report);

/// One line of JSON; fields by their names in plan.proto.
std::string printJson(const google::protobuf::Message &message);

/// A parallel file that st-compile takes (docs/parallel-spec.md).
std::string emitParallelFile(const Layout &layout, const std::string &precision);

} // namespace st

#endif // ST_PLANNER_REPORT_H
