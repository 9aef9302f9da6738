// What a step was timed to do when it was compiled, and what it does.
#ifndef ST_RUNTIME_PREDICTION_H
#define ST_RUNTIME_PREDICTION_H

#include "lib/Proto/executable.pb.h"
#include "st/Runtime/Client.h"

#include <string>
#include <vector>

namespace st {

/// A step as it was timed.
struct TimedStep {
  StepTime time;
  StepTimeline timeline;
};

/// Times a step on a client that takes programs for their timing only, and writes what it takes and
/// does into the program: nothing where that depends on data. `timed` gets all that is known of it,
/// unless null.
absl::Status predict(Client &client, proto::Executable &program, TimedStep *timed = nullptr);

/// One line where a step is as predicted: `time`, and what it did, `executed`, unless null. Else a
/// table of where the two part: of each task and quantity the device that is furthest off, what a
/// task does before how long it takes. Empty where the program holds no prediction.
std::string comparePrediction(const proto::Executable &program, const StepTime &time,
                              const StepWork *executed);

/// One line about a measured step: the prediction, and the median of the measured seconds. Leaves
/// out the first step if there are others, because libraries choose algorithms and record graphs in
/// it. Empty if the program has no prediction or nothing was measured.
std::string compareMeasured(const proto::Executable &program, std::vector<double> seconds);

} // namespace st

#endif // ST_RUNTIME_PREDICTION_H
