// ZeRO levels against micro-batches, as DeepSpeed's autotuner asks.
#ifndef ST_PLANNER_ZEROTABLE_H
#define ST_PLANNER_ZEROTABLE_H

#include "lib/Planner/Step/Step.h"
#include "lib/Proto/plan.pb.h"

#include <string>
#include <vector>

namespace st {

/// The best micro-batch of a ZeRO level.
struct ZeroSpace {
  int64_t level = 0;
  size_t experiments = 0; ///< micro-batches that were composed
  int64_t largest = 0;    ///< micro-batch that fits
  Layout best;
  StepEstimate step;
  /// Samples a second of all devices: over whole steps, and without what the host does between
  /// steps. DeepSpeed's tuner ranks by the second.
  double endToEnd = 0, inStep = 0;

  /// "z0_gas1_tmbspg220", as the tuner names its experiments.
  std::string name() const;
};

struct ZeroTable {
  std::vector<ZeroSpace> spaces; ///< by level; those in which nothing fits are left out
  size_t best = 0;               ///< of the spaces, by its samples a second within steps
  ZeroSpace doubling;            ///< of level 0, with powers of two alone: what one tries by hand
};

/// Finds the micro-batch of most samples a second for each level, on `devices` replicas with
/// `accumulation` micro-batches a step: doubles it until it does not fit, halves the interval up to
/// the largest that does, and tries those below. Of rates within 2 % the largest micro-batch is
/// taken. InvalidArgument where nothing fits at any level.
absl::StatusOr<ZeroTable> tuneZero(const StepInputs &inputs, int64_t devices, int64_t accumulation,
                                   const std::vector<int64_t> &levels = {0, 1, 2, 3});

proto::PlanZeroTable describeZeroTable(const StepInputs &inputs, const ZeroTable &table);

/// "tuning_space | num_experiments | best_metric_val | best_exp_name" with samples a second end to
/// end beside.
std::string printZeroTable(const ZeroTable &table);

} // namespace st

#endif // ST_PLANNER_ZEROTABLE_H
