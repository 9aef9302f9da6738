// One trial: compile a layout, run it, read its speed.
#ifndef ST_TOOLS_ST_TUNE_TRIAL_H
#define ST_TOOLS_ST_TUNE_TRIAL_H

#include "tools/st-tune/Candidates.h"
#include "tools/st-tune/Results.h"
#include "tools/st-tune/Settings.h"
#include "tools/st-tune/WorkFolder.h"

namespace mlir::st {

/// The input of a trial's key, a hash: the model, the layout, and the commands that compile and run
/// it.
std::string trialKey(const TuneSettings &settings, const CandidateSet &set,
                     const ::st::Layout &layout);

/// Runs a trial. A failure of the layout is a row. An error is Cancelled if this process must end,
/// or a failure of this tool itself.
absl::StatusOr<TrialRow> runTrial(const TuneSettings &settings, const CandidateSet &set,
                                  const TuneCandidate &candidate, double limitSeconds,
                                  const WorkFolder &work);

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_TRIAL_H
