// Constants of a cluster and profile, fitted to measured steps.
#ifndef ST_PLANNER_FIT_H
#define ST_PLANNER_FIT_H

#include "lib/Planner/Step/Predict.h"

#include <string>
#include <vector>

namespace st {

/// Mean absolute value of predicted / measured - 1, the largest, and Kendall's tau.
struct FitErrors {
  double mean = 0, worst = 0, tau = 0;
  size_t worstRow = 0;
};

/// Errors of predictions; both lists have one entry per row.
FitErrors compareWithRows(const std::vector<double> &predicted,
                          const std::vector<double> &measured);

/// Changes the named constants to minimise the mean absolute logarithm of predicted / measured
/// (Nelder and Mead, "A simplex method for function minimization", 1965, on logarithms of the
/// constants). Skips rows without a measured time.
absl::StatusOr<GpuConstants> fitConstants(const PredictContext &context,
                                          const std::vector<MeasuredRow> &rows,
                                          const std::vector<std::string> &names,
                                          GpuConstants start);

} // namespace st

#endif // ST_PLANNER_FIT_H
