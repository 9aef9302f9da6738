#include "lib/Runtime/Training/Log/StepEvents.h"
#include "lib/Runtime/StepPhases.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace st {
namespace {

void addTimers(const proto::Executable &program, const StepTime &time, const StepTimeline &timeline,
               std::map<std::string, double> &events) {
  constexpr double kPicosecondsPerMillisecond = 1e9;
  const size_t ranks = timeline.ranks.size();
  std::map<std::string, std::vector<int64_t>> timers; // by rank
  for (size_t rank = 0; rank < ranks; ++rank)
    for (const auto &[name, picoseconds] :
         rankPhases(program, timeline, static_cast<int64_t>(rank), time.total)) {
      std::vector<int64_t> &times = timers[name];
      times.resize(ranks);
      times[rank] = picoseconds;
    }
  for (auto &[name, times] : timers) {
    std::sort(times.begin(), times.end());
    // The median of an even count is the mean of the two middle values.
    const double median = static_cast<double>(times[(ranks - 1) / 2] + times[ranks / 2]) / 2;
    const std::string tag = absl::StrCat("timers/", name);
    events[tag + "/min"] = static_cast<double>(times.front()) / kPicosecondsPerMillisecond;
    events[tag + "/median"] = median / kPicosecondsPerMillisecond;
    events[tag + "/max"] = static_cast<double>(times.back()) / kPicosecondsPerMillisecond;
  }
}

} // namespace

std::map<std::string, double> stepEvents(const proto::Executable &program, const StepTime &time,
                                         const StepTimeline &timeline) {
  std::map<std::string, double> events;
  std::map<int64_t, int64_t> memory; // by device
  for (const proto::Group &group : program.groups())
    for (int64_t id : group.device_ids())
      memory[id] += group.arena_bytes() + program.cuda().scratch_bytes();
  for (const auto &[id, bytes] : memory)
    events["mem-max-allocated-bytes"] =
        std::max(events["mem-max-allocated-bytes"], static_cast<double>(bytes));
  double macs = 0;
  for (const StepTime::Rank &rank : time.ranks)
    macs += static_cast<double>(rank.macs);
  // Operations a picosecond are tera-operations a second.
  if (time.total > 0 && macs > 0)
    events["throughput"] =
        2 * macs / static_cast<double>(time.total) / static_cast<double>(memory.size());
  addTimers(program, time, timeline, events);
  return events;
}

} // namespace st
