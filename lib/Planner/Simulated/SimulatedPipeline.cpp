#include "lib/Planner/Simulated/SimulatedPipeline.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace st {
namespace {

constexpr double kPicosecondsPerUs = 1e6;
constexpr double kNever = std::numeric_limits<double>::infinity();

/// A task, or an event that another group waits for.
struct Item {
  TaskKind kind = ForwardTask;
  double work = 0;
  std::optional<size_t> needs, gives; ///< indices of signals
  double lag = 0;                     ///< from the start until `gives`; scales with the task
  std::optional<PipelineUnit> unit;
};

struct GroupState {
  std::vector<Item> items;
  size_t next = 0;
  bool isRunning = false, hasGiven = false;
  double done = 0, start = 0,
         free = 0; ///< work done; start time; end of the previous item
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
        signals(2 * stages * layout.microBatches + kOnceAStep, kNever) {}

  absl::StatusOr<std::vector<SimulatedGroupTimes>> play(const PipelineOrder &order);

private:
  void list(int64_t number, const std::vector<PipelineUnit> &units);
  void addUnit(int64_t number, const PipelineUnit &unit);
  void addPrologue(int64_t number);
  void addUpdate(int64_t number);
  bool startReady();
  void end(GroupState &group);
  double rateOf(const GroupState &group) const;
  /// Signals once per step come last.
  enum OnceAStep : uint8_t { PrologueOfFirst, UpdateOfFirst, UpdateOfLast, kOnceAStep };
  size_t signal(OnceAStep which) const { return signals.size() - kOnceAStep + which; }
  size_t signal(bool isBackward, int64_t stage, int64_t microBatch) const {
    return static_cast<size_t>(((isBackward ? stages : 0) + stage) * layout.microBatches +
                               microBatch);
  }

  const Layout &layout;
  const SimulatedPipeline &pipeline;
  const bool keepRuns;
  const int64_t stages;
  std::vector<double> signals; ///< times at which signals are given
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

void SimulatedPipeline::exchange(const StageWork &first, const StageWork &last) {
  prologueLag = first[PrologueLag] / kPicosecondsPerUs;
  firstUpdateLag = first[UpdateLag] / kPicosecondsPerUs;
  lastUpdateLag = last[UpdateLag] / kPicosecondsPerUs;
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

/// Adds a prologue. The last group may need the first one's prologue of a table that both share.
void SimulatedPlayer::addPrologue(int64_t number) {
  Item prologue;
  prologue.kind = PrologueTask;
  prologue.work = pipeline.groups[number].prologue;
  if (pipeline.prologueLag != kNoLag && number == 0) {
    prologue.gives = signal(PrologueOfFirst);
    prologue.lag = pipeline.prologueLag;
  } else if (pipeline.prologueLag != kNoLag && number + 1 == layout.stages) {
    prologue.needs = signal(PrologueOfFirst);
  }
  groups[number].items.push_back(prologue);
}

/// Adds an update. Before it, the first and the last group exchange gradients of such a table.
void SimulatedPlayer::addUpdate(int64_t number) {
  Item update;
  update.kind = UpdateTask;
  update.work = pipeline.groups[number].update;
  const bool isFirst = number == 0, isLast = number + 1 == layout.stages;
  if (layout.stages > 1 && (isFirst || isLast)) {
    const double sent = isFirst ? pipeline.firstUpdateLag : pipeline.lastUpdateLag,
                 received = isFirst ? pipeline.lastUpdateLag : pipeline.firstUpdateLag;
    if (sent != kNoLag) {
      Item sends;
      sends.kind = UpdateTask;
      sends.gives = signal(isFirst ? UpdateOfFirst : UpdateOfLast);
      sends.lag = sent;
      groups[number].items.push_back(sends);
    }
    if (received != kNoLag)
      update.needs = signal(isFirst ? UpdateOfLast : UpdateOfFirst);
  }
  groups[number].items.push_back(update);
}

void SimulatedPlayer::list(int64_t number, const std::vector<PipelineUnit> &units) {
  addPrologue(number);
  for (const PipelineUnit &unit : units)
    addUnit(number, unit);
  addUpdate(number);
  for (int64_t chip : pipeline.groups[number].chips)
    onChip[chip].push_back(static_cast<size_t>(number));
}

/// Starts items whose signals have arrived. Returns true if there were any.
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
      group.times.exchange += wait;
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
  // Mean over the task.
  auto share = [&](const Item &item) {
    return item.work > 0 ? std::max(0.0, 1 - pipeline.launch / item.work) : 0.0;
  };
  double most = 0;
  for (int64_t chip : pipeline.groups[&group - groups.data()].chips) {
    double sum = 0;
    for (size_t other : onChip.at(chip))
      if (&groups[other] != &group && groups[other].isRunning)
        sum += pipeline.contention.slowdown[group.item().kind][groups[other].item().kind] *
               share(groups[other].item());
    most = std::max(most, sum);
  }
  return 1 / (pipeline.contention.pace[group.item().kind] * (1 + most * share(group.item())));
}

absl::StatusOr<std::vector<SimulatedGroupTimes>> SimulatedPlayer::play(const PipelineOrder &order) {
  groups.resize(layout.stages);
  for (int64_t number = 0; number < layout.stages; ++number)
    list(number, order(layout, number));
  while (true) {
    while (startReady()) {
    }
    // The next time at which an item ends, gives a signal, or can start.
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
        // Data in flight at the end of the task still takes its time.
        signals[*item.gives] = now + std::max(0.0, isOver ? item.lag - item.work : 0.0);
        group.hasGiven = true;
      }
      if (isOver)
        end(group);
    }
  }
  std::vector<SimulatedGroupTimes> times;
  for (GroupState &group : groups) {
    if (!group.isFinished())
      return absl::InternalError(absl::StrCat("device group ", times.size(), " of \"",
                                              printLayout(layout),
                                              "\" waits for a message that nobody sends"));
    times.push_back(std::move(group.times));
  }
  return times;
}

absl::StatusOr<std::vector<SimulatedGroupTimes>> playSimulated(const Layout &layout,
                                                               const SimulatedPipeline &pipeline,
                                                               const PipelineOrder &order,
                                                               bool keepRuns) {
  return SimulatedPlayer(layout, pipeline, keepRuns).play(order);
}

} // namespace st
