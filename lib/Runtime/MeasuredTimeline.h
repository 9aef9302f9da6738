// The activity of ranks in a measured step.
#ifndef ST_RUNTIME_MEASUREDTIMELINE_H
#define ST_RUNTIME_MEASUREDTIMELINE_H

#include "lib/Proto/executable.pb.h"
#include "st/Runtime/Executable.h"

#include "absl/strings/string_view.h"

namespace st {

/// Returns true if a span with this label is a message between ranks: a collective, or a send or
/// receive of another stage.
bool isMessageLabel(absl::string_view label);

/// The runs of each rank's schedule in a traced step (Executable::tracedStep), instead of a
/// simulated timeline. A rank has a row "tasks" with a span for each entry of its schedule, and
/// other rows with the work of its streams. At each instant the first of these activities that a
/// span has counts:
///
///   compute      anything but a message
///   collective   a message within the rank's group
///   wait         a send or receive of another stage, with the time until the other side is ready
///
/// and `launch` without a span. A run begins where the one before it ends. Ranks have no
/// segments, and the timeline has no critical path and no traffic. A rank without its tasks has no
/// runs.
StepTimeline measuredTimeline(const proto::Executable &program, const StepTrace &trace);

} // namespace st

#endif // ST_RUNTIME_MEASUREDTIMELINE_H
