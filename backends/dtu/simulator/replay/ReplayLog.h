// The log of a step whose tasks were timed once (TaskReplay).
#pragma once

#include "backends/dtu/simulator/replay/TaskTimings.h"
#include "backends/dtu/simulator/time/StepLogger.h"

#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace st::dtu {

class ReplayLog {
public:
  ReplayLog(const std::vector<RankConfig> &ranks, StepLog &log);

  /// The group whose first rank is `first` begins a task.
  void begin(size_t first, std::shared_ptr<const GroupTask> task, Picoseconds start,
             Picoseconds duration);
  /// `rank` reaches a receive at `local` in the task's local time. Its group waits until the
  /// message, whose send began at `sent`, arrives.
  void wait(size_t rank, Picoseconds local, Picoseconds late, size_t sender, Picoseconds sent);
  void addTraffic(const LinkPath &path, size_t rank, ProgramId program, int64_t bytes);

  template <typename LinkName> void finish(LinkName &&linkName) {
    for (const auto &[key, bytes] : traffic)
      log.traffic.push_back({linkName(std::get<0>(key)), static_cast<int64_t>(std::get<1>(key)),
                             std::get<2>(key), /*what=*/"", bytes});
    finishTimes();
  }

private:
  struct Stop {
    Picoseconds local, late, sent;
    size_t rank, sender;
  };
  struct Run {
    std::shared_ptr<const GroupTask> task;
    Picoseconds start, duration;
    std::vector<Stop> stops; ///< in order of time

    Picoseconds end() const;
  };
  struct Group {
    size_t first = 0, count = 0;
    std::vector<Run> runs;
  };

  const std::vector<StepLog::Segment> &measured(const Group &group, const Run &run,
                                                size_t rank) const;
  /// The activity of a rank of the group in a run, in step time.
  std::vector<StepLog::Segment> segmentsOf(const Group &group, const Run &run, size_t rank) const;
  void finishTimes();
  void followPath();
  void addVisit(const Group &group, size_t run, size_t rank, Picoseconds start, Picoseconds end);

  StepLog &log;
  std::vector<size_t> groupOf; ///< per rank, an index in groups
  std::vector<Group> groups;
  std::map<std::tuple<int32_t, size_t, ProgramId>, int64_t> traffic;
};

} // namespace st::dtu
