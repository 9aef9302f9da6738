#include "lib/Planner/Pipeline.h"

#include <algorithm>
#include <limits>

namespace st {
namespace {

constexpr double kNotYet = std::numeric_limits<double>::infinity();

class Player {
public:
  Player(const Layout &layout, const PipelineCosts &costs, bool keepRuns)
      : layout(layout), costs(costs), keepRuns(keepRuns), stages(layout.stages * layout.virtualStages),
        forwardEnd(stages * layout.microBatches, kNotYet), backwardEnd(forwardEnd) {}

  std::vector<GroupTimes> play(const PipelineOrder &order);

private:
  struct Group {
    std::vector<PipelineUnit> units;
    size_t next = 0;
    double clock = 0;
    int64_t held = 0;
    GroupTimes times;
  };

  /// Runs a group until it waits for a message that is not sent yet. Returns whether it moved.
  bool advance(int64_t number, Group &group);
  void run(int64_t stage, Group &group, const PipelineUnit &unit, double arrival);
  size_t slot(int64_t stage, int64_t microBatch) const {
    return static_cast<size_t>(stage * layout.microBatches + microBatch);
  }

  const Layout &layout;
  const PipelineCosts &costs;
  const bool keepRuns;
  const int64_t stages;
  std::vector<double> forwardEnd, backwardEnd; ///< by stage and micro-batch
};

} // namespace

bool Player::advance(int64_t number, Group &group) {
  const size_t before = group.next;
  for (; group.next < group.units.size(); ++group.next) {
    const PipelineUnit &unit = group.units[group.next];
    const int64_t stage = unit.chunk * layout.stages + number;
    double arrival = 0;
    // A group that is the next one of the ring as well sends itself nothing.
    const double message = layout.stages > 1 ? costs.message : 0;
    if (unit.kind == PipelineUnit::Forward && stage > 0)
      arrival = forwardEnd[slot(stage - 1, unit.microBatch)] + message;
    else if (unit.kind == PipelineUnit::Backward && stage + 1 < stages)
      arrival = backwardEnd[slot(stage + 1, unit.microBatch)] + message;
    if (arrival == kNotYet)
      break;
    run(stage, group, unit, arrival);
  }
  return group.next != before;
}

void Player::run(int64_t stage, Group &group, const PipelineUnit &unit, double arrival) {
  const StageTimes &times = costs.stages[stage % layout.stages][unit.chunk];
  GroupTimes &sum = group.times;
  const double start = std::max(group.clock, arrival), wait = start - group.clock;
  double duration = 0, busy = 0;
  switch (unit.kind) {
  case PipelineUnit::Forward:
    duration = times.forward;
    sum.forward += duration;
    sum.forwardWait += wait;
    sum.inFlight = std::max(sum.inFlight, ++group.held);
    busy = stage + 1 < stages ? costs.sendBusy : 0;
    forwardEnd[slot(stage, unit.microBatch)] = start + duration;
    break;
  case PipelineUnit::Backward:
    duration = times.backward;
    sum.backward += duration;
    sum.backwardWait += wait;
    --group.held;
    busy = stage > 0 ? costs.sendBusy : 0;
    backwardEnd[slot(stage, unit.microBatch)] = start + duration;
    break;
  case PipelineUnit::Weight:
    duration = times.weight;
    sum.weight += duration;
    break;
  }
  if (layout.stages == 1)
    busy = 0;
  sum.sending += busy;
  group.clock = start + duration + busy;
  sum.end = group.clock;
  if (keepRuns)
    sum.runs.push_back({unit, start, start + duration});
}

std::vector<GroupTimes> Player::play(const PipelineOrder &order) {
  std::vector<Group> groups(layout.stages);
  for (int64_t number = 0; number < layout.stages; ++number)
    groups[number].units = order(layout, number);
  for (bool moved = true; moved;) {
    moved = false;
    for (int64_t number = 0; number < layout.stages; ++number)
      moved |= advance(number, groups[number]);
  }
  std::vector<GroupTimes> times;
  for (Group &group : groups)
    times.push_back(std::move(group.times));
  return times;
}

std::vector<GroupTimes> playPipeline(const Layout &layout, const PipelineCosts &costs,
                                     const PipelineOrder &order, bool keepRuns) {
  return Player(layout, costs, keepRuns).play(order);
}

} // namespace st
