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
/// A report of a single given layout.
proto::PlanReport describeRun(const StepInputs &inputs, const proto::PlanStep &step);
/// Composes the best layout and the front again for their details.
absl::StatusOr<proto::PlanReport> describeSearch(const StepInputs &inputs,
                                                 const SearchResult &result);

/// One step: rates, timers and memory.
std::string printStep(const proto::PlanStep &step);
/// The front, one line per layout, and its bound.
std::string printFront(const proto::PlanReport &report);

/// One line of JSON; fields by their names in plan.proto.
std::string printJson(const google::protobuf::Message &message);

/// A parallel file for st-compile (docs/parallel-spec.md).
std::string emitParallelFile(const Layout &layout, const std::string &precision);

} // namespace st

#endif // ST_PLANNER_REPORT_H
