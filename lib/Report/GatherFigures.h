// From a program and its timed step to what a page shows.
#ifndef ST_REPORT_GATHERFIGURES_H
#define ST_REPORT_GATHERFIGURES_H

#include "lib/Proto/executable.pb.h"
#include "lib/Report/StepFigures.h"
#include "lib/Runtime/Prediction.h"

namespace st {

/// The program holds the prediction of this very timing.
StepFigures gatherFigures(const proto::Executable &program, const TimedStep &timed,
                          const MemoryUse &memory);

} // namespace st

#endif // ST_REPORT_GATHERFIGURES_H
