// Tunes the micro-batch for each ZeRO level, as DeepSpeed's autotuner does.
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
  size_t experiments = 0; ///< number of composed micro-batches
  int64_t largest = 0;    ///< largest micro-batch that fits
  Layout best;
  StepEstimate step;
  /// Samples per second of all devices: over full steps, and without the host's work between steps.
  /// DeepSpeed's tuner ranks by the second.
  double endToEnd = 0, inStep = 0;

  /// "z0_gas1_tmbspg220", the tuner's name for the experiment.
  std::string name() const;
};

struct ZeroTable {
  std::vector<ZeroSpace> spaces; ///< by level; levels at which no micro-batch fits are omitted
  size_t best = 0;               ///< index of the best space by samples per second within steps
  ZeroSpace doubling;            ///< level 0 with powers of two only, as in manual tuning
};

/// Finds for each level the micro-batch with most samples per second, on `devices` replicas with
/// `accumulation` micro-batches per step. Doubles the micro-batch until it does not fit, bisects to
/// the largest that fits, and tries some smaller ones. Among rates within 2 %, the largest
/// micro-batch wins. InvalidArgument if nothing fits at any level.
absl::StatusOr<ZeroTable> tuneZero(const StepInputs &inputs, int64_t devices, int64_t accumulation,
                                   const std::vector<int64_t> &levels = {0, 1, 2, 3});

proto::PlanZeroTable describeZeroTable(const StepInputs &inputs, const ZeroTable &table);

/// "tuning_space | num_experiments | best_metric_val | best_exp_name", with end-to-end samples per
/// second.
std::string printZeroTable(const ZeroTable &table);

} // namespace st

#endif // ST_PLANNER_ZEROTABLE_H
