#include "lib/Planner/Simulated/SimulatedPipeline.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace st {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Tolerance for complete work. It exceeds the rounding error of a clock of many seconds.
constexpr double kRounding = 1e-7;

/// A task, or an event that another group waits for.
struct Item {
  TaskKind kind = ForwardTask;
  double work = 0;
  std::optional<size_t> needs, gives; ///< signals
  /// Times of messages since the start of the task, at most `work`.
  SimulatedStageTimes::Messages messages;
  std::optional<PipelineUnit> unit;

  /// Sends after `lag` of work. If `lag` exceeds `work`, the message is in flight for the rest.
  void giveAfter(double lag) {
    messages.send = std::clamp(lag, 0.0, work);
    messages.underway = std::max(0.0, lag - work);
  }
};

struct GroupState {
  std::vector<Item> items;
  size_t next = 0;
  bool hasGiven = false;
  double done = 0;             ///< work of the item
  double free = 0, waited = 0; ///< end of the previous item; waits of this one since then
  std::optional<double> start; ///< when work on the item began
  int64_t held = 0;
  SimulatedGroupTimes times;

  bool isFinished() const { return next == items.size(); }
  const Item &item() const { return items[next]; }
};

class SimulatedPipelineTimer {
public:
  SimulatedPipelineTimer(const Layout &layout, const SimulatedPipeline &pipeline, bool keepRuns)
      : layout(layout), pipeline(pipeline), keepRuns(keepRuns),
        stages(layout.stages * layout.virtualStages),
        signals(2 * stages * layout.microBatches + kOnceAStep, kNever) {}

  absl::StatusOr<std::vector<SimulatedGroupTimes>> simulate(const PipelineOrder &order);

private:
  void list(int64_t number, const std::vector<PipelineUnit> &units);
  void addUnit(int64_t number, const PipelineUnit &unit);
  void addPrologue(int64_t number);
  void addUpdate(int64_t number);
  /// Returns true if the group's task now needs a message that has not arrived.
  bool isWaiting(const GroupState &group) const;
  bool isRunning(const GroupState &group) const { return !group.isFinished() && !isWaiting(group); }
  /// The next time at which the group ends its task, sends, needs a message or receives it, at this
  /// rate.
  double nextEvent(const GroupState &group, double rate) const;
  void advance(GroupState &group, double passed, double rate);
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
  chunks.push_back({us(ForwardTime),
                    us(BackwardTime),
                    us(WeightTime),
                    {us(ForwardNeed), us(ForwardSend), us(ForwardUnderway)},
                    {us(BackwardNeed), us(BackwardSend), us(BackwardUnderway)}});
  prologue += us(StatisticsTime) * static_cast<double>(microBatches);
}

void SimulatedPipeline::exchange(const StageWork &first, const StageWork &last) {
  prologueLag = first[PrologueLag] / kPicosecondsPerUs;
  firstUpdateLag = first[UpdateLag] / kPicosecondsPerUs;
  lastUpdateLag = last[UpdateLag] / kPicosecondsPerUs;
}

void SimulatedPipelineTimer::addUnit(int64_t number, const PipelineUnit &unit) {
  const int64_t stage = unit.chunk * layout.stages + number;
  const SimulatedStageTimes &times = pipeline.groups[number].chunks[unit.chunk];
  Item item;
  item.unit = unit;
  switch (unit.kind) {
  case PipelineUnit::Forward:
    item.work = times.forward;
    item.messages = times.forwardMessages;
    if (stage > 0)
      item.needs = signal(false, stage - 1, unit.microBatch);
    if (stage + 1 < stages)
      item.gives = signal(false, stage, unit.microBatch);
    break;
  case PipelineUnit::Backward:
    item.kind = BackwardTask;
    item.work = times.backward;
    item.messages = times.backwardMessages;
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
  item.messages.need = std::clamp(item.messages.need, 0.0, item.work);
  item.messages.send = std::clamp(item.messages.send, 0.0, item.work);
  groups[number].items.push_back(item);
}

/// Adds a prologue. If both share a table, the last group may need the first group's prologue.
void SimulatedPipelineTimer::addPrologue(int64_t number) {
  Item prologue;
  prologue.kind = PrologueTask;
  prologue.work = pipeline.groups[number].prologue;
  if (pipeline.prologueLag != kNoLag && number == 0) {
    prologue.gives = signal(PrologueOfFirst);
    prologue.giveAfter(pipeline.prologueLag);
  } else if (pipeline.prologueLag != kNoLag && number + 1 == layout.stages) {
    prologue.needs = signal(PrologueOfFirst);
  }
  groups[number].items.push_back(prologue);
}

/// Adds an update. Before it, the first and the last group exchange gradients of a shared table.
void SimulatedPipelineTimer::addUpdate(int64_t number) {
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
      sends.giveAfter(sent);
      groups[number].items.push_back(sends);
    }
    if (received != kNoLag)
      update.needs = signal(isFirst ? UpdateOfLast : UpdateOfFirst);
  }
  groups[number].items.push_back(update);
}

void SimulatedPipelineTimer::list(int64_t number, const std::vector<PipelineUnit> &units) {
  addPrologue(number);
  for (const PipelineUnit &unit : units)
    addUnit(number, unit);
  addUpdate(number);
  for (int64_t chip : pipeline.groups[number].chips)
    onChip[chip].push_back(static_cast<size_t>(number));
}

bool SimulatedPipelineTimer::isWaiting(const GroupState &group) const {
  if (group.isFinished())
    return false;
  const Item &item = group.item();
  return item.needs && group.done >= item.messages.need - kRounding && signals[*item.needs] > now;
}

double SimulatedPipelineTimer::nextEvent(const GroupState &group, double rate) const {
  if (group.isFinished())
    return kNever;
  const Item &item = group.item();
  if (isWaiting(group))
    return signals[*item.needs];
  double work = item.work;
  if (item.needs && group.done < item.messages.need - kRounding)
    work = std::min(work, item.messages.need);
  if (item.gives && !group.hasGiven)
    work = std::min(work, item.messages.send);
  return now + std::max(0.0, work - group.done) / rate;
}

void SimulatedPipelineTimer::end(GroupState &group) {
  const Item &item = group.item();
  const double took = now - group.free - group.waited;
  GroupTimes &sum = group.times.units;
  if (!item.unit) {
    (item.kind == UpdateTask ? group.times.update : group.times.prologue) += took;
    group.times.exchange += group.waited;
    group.times.end = now;
  } else {
    sum.end = now;
    switch (item.unit->kind) {
    case PipelineUnit::Forward:
      sum.forward += took;
      sum.forwardWait += group.waited;
      sum.inFlight = std::max(sum.inFlight, ++group.held);
      break;
    case PipelineUnit::Backward:
      sum.backward += took;
      sum.backwardWait += group.waited;
      --group.held;
      break;
    case PipelineUnit::Weight:
      sum.weight += took;
      break;
    }
    if (keepRuns)
      sum.runs.push_back({*item.unit, group.start.value_or(now), now});
  }
  group.free = now;
  group.done = group.waited = 0;
  group.hasGiven = false;
  group.start.reset();
  ++group.next;
}

/// Advances the group to the time `now`.
void SimulatedPipelineTimer::advance(GroupState &group, double passed, double rate) {
  if (rate == 0) {
    group.waited += passed;
    return;
  }
  const Item &item = group.item();
  if (!group.start)
    group.start = now - passed;
  group.done += passed * rate;
  if (item.gives && !group.hasGiven && group.done >= item.messages.send - kRounding) {
    signals[*item.gives] = now + item.messages.underway;
    group.hasGiven = true;
  }
  if (group.done >= item.work - kRounding && !isWaiting(group))
    end(group);
}

double SimulatedPipelineTimer::rateOf(const GroupState &group) const {
  // Mean over the task.
  auto share = [&](const Item &item) {
    return item.work > 0 ? std::max(0.0, 1 - pipeline.launch / item.work) : 0.0;
  };
  double maximum = 0;
  for (int64_t chip : pipeline.groups[&group - groups.data()].chips) {
    double sum = 0;
    for (size_t other : onChip.at(chip))
      if (&groups[other] != &group && isRunning(groups[other]))
        sum += pipeline.contention.slowdown[group.item().kind][groups[other].item().kind] *
               share(groups[other].item());
    maximum = std::max(maximum, sum);
  }
  return 1 / (pipeline.contention.pace[group.item().kind] * (1 + maximum * share(group.item())));
}

absl::StatusOr<std::vector<SimulatedGroupTimes>>
SimulatedPipelineTimer::simulate(const PipelineOrder &order) {
  groups.resize(layout.stages);
  for (int64_t number = 0; number < layout.stages; ++number)
    list(number, order(layout, number));
  while (true) {
    std::vector<double> rates;
    double next = kNever;
    for (const GroupState &group : groups) {
      rates.push_back(isRunning(group) ? rateOf(group) : 0);
      next = std::min(next, nextEvent(group, rates.back()));
    }
    if (next == kNever)
      break;
    const double passed = next - now;
    now = next;
    for (size_t i = 0; i < groups.size(); ++i)
      if (!groups[i].isFinished())
        advance(groups[i], passed, rates[i]);
  }
  std::vector<SimulatedGroupTimes> times;
  for (GroupState &group : groups) {
    if (!group.isFinished())
      return absl::InternalError(absl::StrCat("device group ", times.size(), " of \"",
                                              printLayout(layout),
                                              "\" waits for a message that no group sends"));
    times.push_back(std::move(group.times));
  }
  return times;
}

absl::StatusOr<std::vector<SimulatedGroupTimes>>
timeSimulatedPipeline(const Layout &layout, const SimulatedPipeline &pipeline,
                      const PipelineOrder &order, bool keepRuns) {
  return SimulatedPipelineTimer(layout, pipeline, keepRuns).simulate(order);
}

} // namespace st
