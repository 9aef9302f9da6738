#include "backends/dtu/simulator/replay/TimedTask.h"

#include <algorithm>
#include <tuple>

namespace st::dtu {

TimedTask sumUpRanks(std::shared_ptr<const GroupTask> of, size_t first) {
  TimedTask task;
  task.of = std::move(of);
  for (const RankSet &set : task.of->rankSets) {
    std::vector<size_t> sent(set.ranks.size()), received(set.ranks.size());
    for (const RankTiming &rank : set.measured->ranks)
      task.duration = std::max(task.duration, rank.finish);
    for (const TaskTiming::Event &event : set.measured->events) {
      const size_t rank = set.ranks[event.index];
      const OuterMessage &message = event.isSend
                                        ? task.of->sends[rank - first][sent[event.index]++]
                                        : task.of->receives[rank - first][received[event.index]++];
      task.events.push_back(
          {event.time, event.underway, event.isSend, rank, task.events.size(), message});
    }
    task.instructions += set.measured->instructions;
  }
  std::sort(task.events.begin(), task.events.end(), [](const TaskEvent &a, const TaskEvent &b) {
    return std::tie(a.time, a.number) < std::tie(b.time, b.number);
  });
  return task;
}

} // namespace st::dtu
