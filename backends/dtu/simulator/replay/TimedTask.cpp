#include "backends/dtu/simulator/replay/TimedTask.h"

#include <algorithm>
#include <tuple>

namespace st::dtu {

TimedTask sumUpCells(std::shared_ptr<const GroupTask> of, size_t first) {
  TimedTask task;
  task.of = std::move(of);
  for (const Cell &cell : task.of->cells) {
    std::vector<size_t> sent(cell.ranks.size()), received(cell.ranks.size());
    for (const RankTiming &rank : cell.measured->ranks)
      task.duration = std::max(task.duration, rank.finish);
    for (const MeasuredCell::Event &event : cell.measured->events) {
      const size_t rank = cell.ranks[event.index];
      const OuterMessage &message = event.isSend
                                        ? task.of->sends[rank - first][sent[event.index]++]
                                        : task.of->receives[rank - first][received[event.index]++];
      task.events.push_back(
          {event.time, event.underway, event.isSend, rank, task.events.size(), message});
    }
    task.instructions += cell.measured->instructions;
  }
  std::sort(task.events.begin(), task.events.end(), [](const TaskEvent &a, const TaskEvent &b) {
    return std::tie(a.time, a.number) < std::tie(b.time, b.number);
  });
  return task;
}

} // namespace st::dtu
