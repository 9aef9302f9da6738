// Runs schedules in simulated time (docs/dtu-isa.md, "Time"). It shares the
// decoded programs with the data engine and touches no memory of the machine.
#pragma once

#include "backends/dtu/simulator/Decoded.h"
#include "backends/dtu/simulator/Simulator.h"

#include "absl/status/statusor.h"

namespace st::dtu {

absl::StatusOr<TimingResult>
simulateTime(const proto::DtuDescription &description, const std::vector<RankConfig> &ranks,
             const std::vector<std::unique_ptr<DecodedProgram>> &programs,
             const std::vector<RankSchedule> &schedules, Trace *trace);

} // namespace st::dtu
