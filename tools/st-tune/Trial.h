// One trial: compile a layout, run it, read how fast it was.
#ifndef ST_TOOLS_ST_TUNE_TRIAL_H
#define ST_TOOLS_ST_TUNE_TRIAL_H

#include "tools/st-tune/Candidates.h"
#include "tools/st-tune/Results.h"
#include "tools/st-tune/Settings.h"
#include "tools/st-tune/WorkFolder.h"

namespace mlir::st {

/// What the key of a trial is a hash of: the model, the layout, and the commands that compile and
/// run it.
std::string trialKey(const TuneSettings &settings, const CandidateSet &set,
                     const ::st::Layout &layout);

/// Runs a trial. Whatever goes wrong with the layout is a row; an error is Cancelled, where this
/// process is to end, or says what this tool itself cannot do.
absl::StatusOr<TrialRow> runTrial(const TuneSettings &settings, const CandidateSet &set,
                                  const TuneCandidate &candidate, double limitSeconds,
                                  const WorkFolder &work);

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_TRIAL_H
