// The time of a simulated step by phase and activity.
#ifndef ST_RUNTIME_STEPPHASES_H
#define ST_RUNTIME_STEPPHASES_H

#include "lib/Proto/executable.pb.h"
#include "st/Runtime/Executable.h"

#include <cstdint>
#include <map>
#include <string>

namespace st {

/// Picoseconds by "<phase>, <activity>", such as "backward, collective". A phase is that of a task
/// (Task.phase in executable.proto), an activity one of
///
///   launch      a task is being launched
///   compute     the device's engines work
///   collective  engines idle: messages within the rank's group are pending or awaited
///   transfer    engines idle: a message of another group is in flight
///   wait        engines idle: another group has not sent its message yet, or must catch up
///
/// "end of step" is the time in which a rank has finished and others have not.
using PhaseTimes = std::map<std::string, int64_t>;

/// The parts of the critical path. They add up to the step.
PhaseTimes criticalPathPhases(const proto::Executable &program, const StepTimeline &timeline);

/// The parts of one rank's step, which add up to `step`.
PhaseTimes rankPhases(const proto::Executable &program, const StepTimeline &timeline, int64_t rank,
                      int64_t step);

/// {"backward, collective": 1.25, …}, in milliseconds.
std::string printPhasesJson(const PhaseTimes &phases);

} // namespace st

#endif // ST_RUNTIME_STEPPHASES_H
