// The output of st-tune at the end.
#ifndef ST_TOOLS_ST_TUNE_TABLES_H
#define ST_TOOLS_ST_TUNE_TABLES_H

#include "tools/st-tune/Candidates.h"
#include "tools/st-tune/Results.h"

#include <string>
#include <vector>

namespace mlir::st {

struct MeasuredTrial {
  TuneCandidate candidate;
  TrialRow row;
};

/// The figure that ranks trials: samples a second, 0 for failed trials.
double rankOf(const TrialRow &row, bool byEndToEnd);

/// The trial with the highest rank, the first of several; null if all failed.
const MeasuredTrial *findBest(const std::vector<MeasuredTrial> &trials, bool byEndToEnd);

/// The number of pairs of successful trials in the predicted order of time per sample.
struct OrderedPairs {
  size_t right = 0, all = 0;
};
OrderedPairs compareOrder(const std::vector<MeasuredTrial> &trials, bool byEndToEnd);

/// A line per trial: predicted and measured time of a step and both throughputs, or the failure.
std::string printTrials(const std::vector<MeasuredTrial> &baseline,
                        const std::vector<MeasuredTrial> &trials);

/// The columns of DeepSpeed's autotuner, one line per space, "global" for all of them, and the
/// baseline first; separate columns have the in-step and end-to-end throughput of the best trial.
std::string printSpaces(const std::vector<MeasuredTrial> &baseline,
                        const std::vector<MeasuredTrial> &trials, bool byEndToEnd);

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_TABLES_H
