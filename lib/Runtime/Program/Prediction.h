// The predicted time and work of a step, compared with the actual ones.
#ifndef ST_RUNTIME_PREDICTION_H
#define ST_RUNTIME_PREDICTION_H

#include "lib/Proto/executable.pb.h"
#include "st/Runtime/Client.h"

#include <string>
#include <vector>

namespace st {

/// The timing of a step.
struct TimedStep {
  StepTime time;
  StepTimeline timeline;
};

/// Times a step on a client that accepts programs for timing only, and stores the predicted time
/// and work in the program; stores nothing if they depend on data. `timed`, unless null, receives
/// all results.
absl::Status predict(Client &client, proto::Executable &program, TimedStep *timed = nullptr);

/// Returns one line if a step matches its prediction: `time`, and the work in `executed` unless
/// null. Otherwise returns a table of differences: for each task and quantity the device with the
/// largest deviation, with work before times. Empty if the program has no prediction.
std::string comparePrediction(const proto::Executable &program, const StepTime &time,
                              const StepWork *executed);

/// One line about a measured step: the prediction, and the median of the measured seconds. Excludes
/// the first step if there are others, because libraries choose algorithms and record graphs in it.
/// Empty if the program has no prediction or nothing was measured.
std::string compareMeasured(const proto::Executable &program, std::vector<double> seconds);

} // namespace st

#endif // ST_RUNTIME_PREDICTION_H
