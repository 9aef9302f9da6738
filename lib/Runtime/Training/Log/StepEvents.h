// Values of a simulated or measured step for TensorBoard, in addition to those of a run on data.
#ifndef ST_RUNTIME_TRAINING_LOG_STEPEVENTS_H
#define ST_RUNTIME_TRAINING_LOG_STEPEVENTS_H

#include "lib/Proto/executable.pb.h"
#include "st/Runtime/Executable.h"

#include <map>
#include <string>

namespace st {

/// By tag:
///
///   throughput                TFLOP/s a device: two operations for each multiply-add of the
///                             program, so recomputed ones count; only of a simulated step
///   mem-max-allocated-bytes   of the device that uses most memory
///   timers/<phase>, <activity>/min, …/median, …/max
///                             milliseconds over the ranks, as in StepPhases.h; a rank without
///                             the phase has 0
std::map<std::string, double> stepEvents(const proto::Executable &program, const StepTime &time,
                                         const StepTimeline &timeline);

} // namespace st

#endif // ST_RUNTIME_TRAINING_LOG_STEPEVENTS_H
