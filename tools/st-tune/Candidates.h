// The layouts to measure: those that st-plan found, and plain ones for comparison.
#ifndef ST_TOOLS_ST_TUNE_CANDIDATES_H
#define ST_TOOLS_ST_TUNE_CANDIDATES_H

#include "lib/Planner/Layout.h"
#include "lib/Proto/plan.pb.h"

#include "absl/status/statusor.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace mlir::st {

struct TuneCandidate {
  ::st::Layout layout;
  double predictedMs = 0; ///< of a step; 0: not predicted
  double boundMs = 0;     ///< lower bound of a step of this layout; 0: unknown
};

/// st-plan's report of the space, for one or several global batches.
struct CandidateSet {
  std::string model, cluster, precision;
  int64_t sequence = 0, devices = 0;
  std::vector<TuneCandidate> candidates; ///< by predicted time per sample, the fastest first
};

/// Parses the output of st-plan --json, a report of a search. Errors begin with `name`.
absl::StatusOr<::st::proto::PlanReport> parsePlanReport(const std::string &text,
                                                        const std::string &name);

/// The `top` best of reports of the same model, cluster and devices. Errors begin with `name`.
absl::StatusOr<CandidateSet> chooseCandidates(const std::vector<::st::proto::PlanReport> &reports,
                                              size_t top, const std::string &name);

/// Plain data parallelism: every device has the full model and one micro-batch of a step.
::st::Layout plainLayout(int64_t devices, int64_t microBatch);

/// DeepSpeed's name of a layout's space, "z1", followed by the degrees that DeepSpeed does not
/// have: "z1_tp2_pp4".
std::string spaceName(const ::st::Layout &layout);
/// DeepSpeed's name of an experiment, "z1_gas4_tmbspg8", "z1_tp2_pp4_gas4_tmbspg8_full".
std::string experimentName(const ::st::Layout &layout);

} // namespace mlir::st

#endif // ST_TOOLS_ST_TUNE_CANDIDATES_H
