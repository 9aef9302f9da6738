// Computes the figures of a page from a program and its timed step.
#ifndef ST_REPORT_GATHERFIGURES_H
#define ST_REPORT_GATHERFIGURES_H

#include "lib/Proto/executable.pb.h"
#include "lib/Report/StepFigures.h"
#include "lib/Runtime/Program/Prediction.h"

namespace st {

TimeClass classOfPhase(const std::string &phase);
/// The label of an entry of a group's schedule: "forward0, micro-batch 2".
std::string labelOf(const proto::Executable &program, const proto::Group &group, int64_t entry);

/// The program holds the prediction of this same timing.
StepFigures gatherFigures(const proto::Executable &program, const TimedStep &timed,
                          const MemoryUse &memory);

} // namespace st

#endif // ST_REPORT_GATHERFIGURES_H
