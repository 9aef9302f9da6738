#include "backends/dtu/simulator/TimeEngine.h"

namespace st::dtu {

absl::StatusOr<TimingResult>
simulateTime(const proto::DtuDescription &, const std::vector<RankConfig> &,
             const std::vector<std::unique_ptr<DecodedProgram>> &,
             const std::vector<RankSchedule> &, Trace *) {
  return absl::UnimplementedError("simulated time is not built yet");
}

} // namespace st::dtu
