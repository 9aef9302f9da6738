// The time of schedules, composed from one run of each kind of task (docs/dtu-isa.md, "Replayed
// time").
#pragma once

#include "backends/dtu/simulator/Decoded.h"
#include "backends/dtu/simulator/Simulator.h"
#include "backends/dtu/simulator/replay/TimedTask.h"

#include "absl/status/statusor.h"

#include <memory>
#include <vector>

namespace st::dtu {

absl::StatusOr<TimingResult>
replayTime(const proto::DtuDescription &description, const std::vector<RankConfig> &ranks,
           const std::vector<std::unique_ptr<DecodedProgram>> &programs,
           const std::vector<RankSchedule> &schedules, StepLog *log = nullptr);

/// Times each run alone on the device group of the ranks [first, first + count).
absl::StatusOr<std::vector<TimedTask>>
timeTasks(const proto::DtuDescription &description, const std::vector<RankConfig> &ranks,
          const std::vector<std::unique_ptr<DecodedProgram>> &programs, size_t first, size_t count,
          const std::vector<TaskRun> &runs);

} // namespace st::dtu
