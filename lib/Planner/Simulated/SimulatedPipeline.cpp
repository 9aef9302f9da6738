#include "lib/Planner/Simulated/SimulatedPipeline.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace st {
namespace {

constexpr double kPicosecondsPerUs = 1e6;
constexpr double kNever = std::numeric_limits<double>::infinity();

/// A task, or a moment that another group waits for.
struct Item {
  TaskKind kind = ForwardTask;
  double work = 0;
  std::optional<size_t> needs, gives; ///< signals
  double lag = 0;                     ///< of `gives`, from the start, in work while there is some
  std::optional<PipelineUnit> unit;
};

struct GroupState {
  std::vector<Item> items;
  size_t next = 0;
  bool isRunning = false, hasGiven = false;
  double done = 0, start = 0,
         free = 0; ///< work of the item; when it started; when the one before ended
  int64_t held = 0;
  SimulatedGroupTimes times;

  bool isFinished() const { return next == items.size(); }
  const Item &item() const { return items[next]; }
};

class SimulatedPlayer {
public:
  SimulatedPlayer(const Layout &layout, const SimulatedPipeline &pipeline, bool keepRuns)
      : layout(layout), pipeline(pipeline), keepRuns(keepRuns),
        stages(layout.stages * layout.virtualStages),
        signals(2 * stages * layout.microBatches + 2, kNever) {}

  std::vector<SimulatedGroupTimes> play(const PipelineOrder &order);

private:
  void list(int64_t number, const std::vector<PipelineUnit> &units);
  void addUnit(int64_t number, const PipelineUnit &unit);
  bool startReady();
  void end(GroupState &group);
  double rateOf(const GroupState &group) const;
  size_t signal(bool isBackward, int64_t stage, int64_t microBatch) const {
    return static_cast<size_t>(((isBackward ? stages : 0) + stage) * layout.microBatches +
                               microBatch);
  }

  const Layout &layout;
  const SimulatedPipeline &pipeline;
  const bool keepRuns;
  const int64_t stages;
  std::vector<double> signals; ///< when each is given; the last two are those of updates
  std::vector<GroupState> groups;
  std::map<int64_t, std::vector<size_t>> onChip;
  double now = 0;
};

} // namespace

void SimulatedGroup::addStage(const StageWork &work, int64_t microBatches) {
  auto us = [&](WorkPart part) { return work[part] / kPicosecondsPerUs; };
  chunks.push_back(
      {us(ForwardTime), us(BackwardTime), us(WeightTime), us(ForwardLag), us(BackwardLag)});
  prologue += us(StatisticsTime) * static_cast<double>(microBatches);
}

void SimulatedPlayer::addUnit(int64_t number, const PipelineUnit &unit) {
  const int64_t stage = unit.chunk * layout.stages + number;
  const SimulatedStageTimes &times = pipeline.groups[number].chunks[unit.chunk];
  Item item;
  item.unit = unit;
  switch (unit.kind) {
  case PipelineUnit::Forward:
    item.work = times.forward;
    item.lag = times.forwardLag;
    if (stage > 0)
      item.needs = signal(false, stage - 1, unit.microBatch);
    if (stage + 1 < stages)
      item.gives = signal(false, stage, unit.microBatch);
    break;
  case PipelineUnit::Backward:
    item.kind = BackwardTask;
    item.work = times.backward;
    item.lag = times.backwardLag;
    if (stage + 1 < stages)
      item.needs = signal(true, stage + 1, unit.microBatch);
    if (stage > 0)
      item.gives = signal(true, stage, unit.microBatch);
    break;
  case PipelineUnit::Weight:
    item.kind = WeightTask;
    item.work = times.weight;
    break;
  }
  groups[number].items.push_back(item);
}

void SimulatedPlayer::list(int64_t number, const std::vector<PipelineUnit> &units) {
  const SimulatedGroup &from = pipeline.groups[number];
  std::vector<Item> &items = groups[number].items;
  Item prologue;
  prologue.kind = PrologueTask;
  prologue.work = from.prologue;
  items.push_back(prologue);
  for (const PipelineUnit &unit : units)
    addUnit(number, unit);
  Item update;
  update.kind = UpdateTask;
  update.work = from.update;
  const bool isFirst = number == 0, isLast = number + 1 == layout.stages;
  if (layout.stages > 1 && (isFirst || isLast)) {
    const double lag = isFirst ? pipeline.firstUpdateLag : pipeline.lastUpdateLag;
    if (lag != kNoLag) {
      const size_t own = signals.size() - (isFirst ? 2 : 1),
                   other = signals.size() - (isFirst ? 1 : 2);
      Item meeting;
      meeting.kind = UpdateTask;
      meeting.gives = own;
      meeting.lag = lag;
      items.push_back(meeting);
      update.needs = other;
    }
  }
  items.push_back(update);
  for (int64_t chip : from.chips)
    onChip[chip].push_back(static_cast<size_t>(number));
}

/// Starts what waits for nothing any more. Returns whether there was any.
bool SimulatedPlayer::startReady() {
  bool started = false;
  for (GroupState &group : groups) {
    if (group.isRunning || group.isFinished())
      continue;
    const Item &item = group.item();
    if (item.needs && signals[*item.needs] > now)
      continue;
    group.isRunning = started = true;
    group.hasGiven = false;
    group.done = 0;
    group.start = now;
    const double wait = now - group.free;
    if (!item.unit)
      (item.kind == UpdateTask ? group.times.exchange : group.times.prologue) += wait;
    else if (item.unit->kind == PipelineUnit::Forward)
      group.times.units.forwardWait += wait;
    else
      group.times.units.backwardWait += wait;
  }
  return started;
}

void SimulatedPlayer::end(GroupState &group) {
  const Item &item = group.item();
  const double took = now - group.start;
  GroupTimes &sum = group.times.units;
  if (!item.unit) {
    (item.kind == UpdateTask ? group.times.update : group.times.prologue) += took;
    group.times.end = now;
  } else {
    sum.end = now;
    switch (item.unit->kind) {
    case PipelineUnit::Forward:
      sum.forward += took;
      sum.inFlight = std::max(sum.inFlight, ++group.held);
      break;
    case PipelineUnit::Backward:
      sum.backward += took;
      --group.held;
      break;
    case PipelineUnit::Weight:
      sum.weight += took;
      break;
    }
    if (keepRuns)
      sum.runs.push_back({*item.unit, group.start, now});
  }
  group.isRunning = false;
  group.free = now;
  ++group.next;
}

double SimulatedPlayer::rateOf(const GroupState &group) const {
  // As a mean over the task.
  auto share = [&](const Item &item) {
    return item.work > 0 ? std::max(0.0, 1 - pipeline.launch / item.work) : 0.0;
  };
  double most = 0;
  for (int64_t chip : pipeline.groups[&group - groups.data()].chips) {
    double sum = 0;
    for (size_t other : onChip.at(chip))
      if (&groups[other] != &group && groups[other].isRunning)
        sum += pipeline.slowdown[group.item().kind][groups[other].item().kind] *
               share(groups[other].item());
    most = std::max(most, sum);
  }
  const double pace = group.item().unit ? pipeline.pace : 1;
  return 1 / (pace * (1 + most * share(group.item())));
}

std::vector<SimulatedGroupTimes> SimulatedPlayer::play(const PipelineOrder &order) {
  groups.resize(layout.stages);
  for (int64_t number = 0; number < layout.stages; ++number)
    list(number, order(layout, number));
  while (true) {
    while (startReady()) {
    }
    // The next moment at which anything ends, is given, or has arrived.
    std::vector<double> rates(groups.size(), 0);
    double next = kNever;
    for (size_t i = 0; i < groups.size(); ++i) {
      GroupState &group = groups[i];
      if (group.isFinished())
        continue;
      const Item &item = group.item();
      if (!group.isRunning) {
        next = std::min(next, signals[*item.needs]);
        continue;
      }
      rates[i] = rateOf(group);
      const bool givesWithin = item.gives && !group.hasGiven && item.lag < item.work;
      next = std::min(
          next, now + ((givesWithin ? std::max(item.lag, group.done) : item.work) - group.done) /
                          rates[i]);
    }
    if (next == kNever)
      break;
    const double passed = next - now;
    now = next;
    constexpr double kRounding = 1e-9;
    for (size_t i = 0; i < groups.size(); ++i) {
      GroupState &group = groups[i];
      if (!group.isRunning)
        continue;
      group.done += passed * rates[i];
      const Item &item = group.item();
      const bool isOver = group.done >= item.work - kRounding;
      if (item.gives && !group.hasGiven && (isOver || group.done >= item.lag - kRounding)) {
        // What is under way when the task is over takes its time.
        signals[*item.gives] = now + std::max(0.0, isOver ? item.lag - item.work : 0.0);
        group.hasGiven = true;
      }
      if (isOver)
        end(group);
    }
  }
  std::vector<SimulatedGroupTimes> times;
  for (GroupState &group : groups)
    times.push_back(std::move(group.times));
  return times;
}

std::vector<SimulatedGroupTimes> playSimulated(const Layout &layout,
                                               const SimulatedPipeline &pipeline,
                                               const PipelineOrder &order, bool keepRuns) {
  return SimulatedPlayer(layout, pipeline, keepRuns).play(order);
}

} // namespace st
