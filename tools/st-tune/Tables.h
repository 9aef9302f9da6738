// What st-tune prints at the end.
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

/// What trials are ranked by: samples a second, 0 of those that failed.
double rankOf(const TrialRow &row, bool byEndToEnd);

/// The trial with the highest rank, the first of several; null where all failed.
const MeasuredTrial *findBest(const std::vector<MeasuredTrial> &trials, bool byEndToEnd);

/// Of pairs of trials that succeeded: how many are in the predicted order of time a sample.
struct OrderedPairs {
  size_t right = 0, all = 0;
};
OrderedPairs compareOrder(const std::vector<MeasuredTrial> &trials, bool byEndToEnd);

/// A line a trial: predicted and measured time of a step, both throughputs, or why it failed.
std::string printTrials(const std::vector<MeasuredTrial> &baseline,
                        const std::vector<MeasuredTrial> &trials);

/// The columns of DeepSpeed's autotuner, a line a space, "global" for all of them, and the baseline
/// first; in-step and end-to-end throughput of the best have columns of their own.
std::string printSpaces(const std::vector<MeasuredTrial> &baseline,
                        const std::vector<MeasuredTrial> &trials, bool byEndToEnd);

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_TABLES_H
