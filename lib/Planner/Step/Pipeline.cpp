#include "lib/Planner/Step/Pipeline.h"

#include <algorithm>
#include <limits>

namespace st {
namespace {

constexpr double kNotYet = std::numeric_limits<double>::infinity();

class PipelineSimulator {
public:
  PipelineSimulator(const Layout &layout, const PipelineCosts &costs, bool keepRuns)
      : layout(layout), costs(costs), keepRuns(keepRuns),
        stages(layout.stages * layout.virtualStages),
        forwardEnd(stages * layout.microBatches, kNotYet), backwardEnd(forwardEnd) {}

  std::vector<GroupTimes> simulate(const PipelineOrder &order);

private:
  struct Group {
    std::vector<PipelineUnit> units;
    size_t next = 0;
    double clock = 0;
    int64_t held = 0;
    GroupTimes times;
  };

  /// Runs a group until it waits for an unsent message. Returns true if it progressed.
  bool advance(int64_t number, Group &group);
  void run(int64_t number, int64_t stage, Group &group, const PipelineUnit &unit, double arrival);
  size_t slot(int64_t stage, int64_t microBatch) const {
    return static_cast<size_t>(stage * layout.microBatches + microBatch);
  }
  /// Link between a group and the one before it.
  const PipelineCosts::Link &linkBefore(int64_t number) const {
    return costs.links[number == 0 ? layout.stages - 1 : number - 1];
  }

  const Layout &layout;
  const PipelineCosts &costs;
  const bool keepRuns;
  const int64_t stages;
  std::vector<double> forwardEnd, backwardEnd; ///< by stage and micro-batch
};

} // namespace

bool PipelineSimulator::advance(int64_t number, Group &group) {
  const size_t before = group.next;
  // A single group does not send to itself.
  const bool sends = layout.stages > 1;
  for (; group.next < group.units.size(); ++group.next) {
    const PipelineUnit &unit = group.units[group.next];
    const int64_t stage = unit.chunk * layout.stages + number;
    double arrival = 0;
    if (unit.kind == PipelineUnit::Forward && stage > 0)
      arrival =
          forwardEnd[slot(stage - 1, unit.microBatch)] + (sends ? linkBefore(number).message : 0);
    else if (unit.kind == PipelineUnit::Backward && stage + 1 < stages)
      arrival =
          backwardEnd[slot(stage + 1, unit.microBatch)] + (sends ? costs.links[number].message : 0);
    if (arrival == kNotYet)
      break;
    run(number, stage, group, unit, arrival);
  }
  return group.next != before;
}

void PipelineSimulator::run(int64_t number, int64_t stage, Group &group, const PipelineUnit &unit,
                            double arrival) {
  const StageTimes &times = costs.stages[number][unit.chunk];
  GroupTimes &sum = group.times;
  const double start = std::max(group.clock, arrival), wait = start - group.clock;
  const bool sends = layout.stages > 1;
  double duration = 0, busy = 0;
  switch (unit.kind) {
  case PipelineUnit::Forward:
    duration = times.forward;
    sum.forward += duration;
    sum.forwardWait += wait;
    sum.inFlight = std::max(sum.inFlight, ++group.held);
    busy = sends && stage + 1 < stages ? costs.links[number].sendBusy : 0;
    forwardEnd[slot(stage, unit.microBatch)] = start + duration;
    break;
  case PipelineUnit::Backward:
    duration = times.backward;
    sum.backward += duration;
    sum.backwardWait += wait;
    --group.held;
    busy = sends && stage > 0 ? linkBefore(number).sendBusy : 0;
    backwardEnd[slot(stage, unit.microBatch)] = start + duration;
    break;
  case PipelineUnit::Weight:
    duration = times.weight;
    sum.weight += duration;
    break;
  }
  sum.sending += busy;
  group.clock = start + duration + busy;
  sum.end = group.clock;
  if (keepRuns)
    sum.runs.push_back({unit, start, start + duration});
}

std::vector<GroupTimes> PipelineSimulator::simulate(const PipelineOrder &order) {
  std::vector<Group> groups(layout.stages);
  for (int64_t number = 0; number < layout.stages; ++number)
    groups[number].units = order(layout, number);
  // Forward messages go to later groups and backward ones to earlier groups. With alternating
  // directions each pass advances one wave of either kind through all groups.
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t number = 0; number < layout.stages; ++number)
      moved |= advance(number, groups[number]);
    for (int64_t number = layout.stages - 1; number >= 0; --number)
      moved |= advance(number, groups[number]);
  }
  std::vector<GroupTimes> times;
  for (Group &group : groups)
    times.push_back(std::move(group.times));
  return times;
}

std::vector<GroupTimes> simulatePipeline(const Layout &layout, const PipelineCosts &costs,
                                         const PipelineOrder &order, bool keepRuns) {
  return PipelineSimulator(layout, costs, keepRuns).simulate(order);
}

std::vector<GroupTimes> boundPipeline(const Layout &layout, const PipelineCosts &costs) {
  std::vector<GroupTimes> groups(layout.stages);
  const auto batches = static_cast<double>(layout.microBatches);
  const bool sends = layout.stages > 1;
  std::vector<double> before(
      layout.stages); ///< from a group's backward task to that of the first group
  std::vector<double> backAtFirst(layout.stages);
  double fill = 0;
  for (int64_t number = 0; number < layout.stages; ++number) {
    GroupTimes &group = groups[number];
    const double forwardBusy = sends ? costs.links[number].sendBusy : 0;
    const double backwardBusy =
        sends ? costs.links[number > 0 ? number - 1 : layout.stages - 1].sendBusy : 0;
    for (int64_t chunk = 0; chunk < layout.virtualStages; ++chunk) {
      const StageTimes &times = costs.stages[number][chunk];
      group.forward += times.forward * batches;
      group.backward += times.backward * batches;
      group.weight += times.weight * batches;
      if (chunk + 1 < layout.virtualStages || number + 1 < layout.stages)
        group.sending += forwardBusy * batches;
      if (chunk > 0 || number > 0)
        group.sending += backwardBusy * batches;
    }
    group.end = fill + group.forward + group.backward + group.weight + group.sending;
    // Weight tasks may follow the last backward task, which is of the group's first stage.
    backAtFirst[number] =
        group.end - group.weight - (number > 0 ? backwardBusy : 0) + before[number];
    if (number + 1 < layout.stages) {
      const double message = costs.links[number].message;
      fill += costs.stages[number][0].forward + message;
      before[number + 1] = before[number] + costs.stages[number][0].backward + message;
    }
  }
  double latest = 0;
  for (int64_t number = layout.stages - 1; number >= 0; --number) {
    groups[number].end = std::max(groups[number].end, latest - before[number]);
    latest = std::max(latest, backAtFirst[number]);
  }
  return groups;
}

HeldMicroBatches maxHeld(const std::vector<PipelineUnit> &units) {
  int64_t forwards = 0, backwards = 0, weights = 0;
  HeldMicroBatches most;
  for (const PipelineUnit &unit : units) {
    (unit.kind == PipelineUnit::Forward    ? forwards
     : unit.kind == PipelineUnit::Backward ? backwards
                                           : weights)++;
    most.forwardToBackward = std::max(most.forwardToBackward, forwards - backwards);
    most.forwardToWeight = std::max(most.forwardToWeight, forwards - weights);
    most.backwardToWeight = std::max(most.backwardToWeight, backwards - weights);
  }
  return most;
}

const std::vector<GroupTimes> &PipelineMemo::simulate(const Layout &layout,
                                                      const PipelineCosts &costs,
                                                      const PipelineOrder &order) {
  std::vector<double> key = {
      static_cast<double>(layout.stages), static_cast<double>(layout.virtualStages),
      static_cast<double>(layout.microBatches), static_cast<double>(layout.schedule)};
  for (const PipelineCosts::Link &link : costs.links) {
    key.push_back(link.message);
    key.push_back(link.sendBusy);
  }
  for (const auto &chunks : costs.stages)
    for (const StageTimes &times : chunks) {
      key.push_back(times.forward);
      key.push_back(times.backward);
      key.push_back(times.weight);
    }
  auto &times = simulations[std::move(key)];
  if (!times)
    times = std::make_unique<std::vector<GroupTimes>>(simulatePipeline(layout, costs, order));
  return *times;
}

HeldMicroBatches PipelineMemo::maxHeld(const Layout &layout, const PipelineOrder &order,
                                       int64_t group) {
  // Beyond this many rounds, no schedule except GPipe starts more micro-batches before the first
  // one finishes.
  constexpr int64_t kRounds = 3;
  Layout few = layout;
  if (layout.schedule != PipelineSchedule::GPipe)
    few.microBatches = std::min(layout.microBatches, kRounds * layout.stages);
  auto [found, isNew] = held.try_emplace(std::array<int64_t, 5>{
      few.stages, few.virtualStages, few.microBatches, static_cast<int64_t>(few.schedule), group});
  if (isNew)
    found->second = st::maxHeld(order(few, group));
  return found->second;
}

} // namespace st
