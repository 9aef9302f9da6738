#include "lib/Planner/Search/SearchSpace.h"

#include "lib/Planner/Search/Placement.h"

#include <algorithm>
#include <array>
#include <set>

namespace st {
namespace {

std::vector<int64_t> divisorsOf(int64_t number) {
  std::vector<int64_t> divisors;
  for (int64_t i = 1; i * i <= number; ++i)
    if (number % i == 0) {
      divisors.push_back(i);
      if (i * i != number)
        divisors.push_back(number / i);
    }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

bool isAllowed(const std::vector<int64_t> &chosen, int64_t value) {
  return chosen.empty() || std::find(chosen.begin(), chosen.end(), value) != chosen.end();
}

class Enumerator {
public:
  Enumerator(const SearchSpace &space, const PlannedModel &model,
             const proto::ClusterDescription &cluster)
      : space(space), model(model), cluster(cluster) {}

  std::vector<Layout> enumerate();

private:
  std::vector<int64_t> deviceCounts() const;
  void addDegrees(int64_t devices);
  void addReplicas(Layout layout, int64_t devices);
  bool considersContext(int64_t context) const;
  std::vector<ContextAttention> contextAttentionOf(const Layout &layout) const;
  bool considersExpert(int64_t expert) const;
  void addBatches(Layout layout);
  void addBatchesOfRange(Layout layout);
  void addSchedules(Layout layout);
  void addVariants(Layout layout, const std::vector<RankOrder> &orders);
  bool isFull() const { return layouts.size() > kMaxLayouts; }
  /// Orders to consider for these degrees, with one and with several stages per group.
  std::array<std::vector<RankOrder>, 2> ordersOf(Layout layout) const;

  const SearchSpace &space;
  const PlannedModel &model;
  const proto::ClusterDescription &cluster;
  std::array<std::vector<RankOrder>, 2> orders;
  std::vector<Layout> layouts;
};

} // namespace

std::array<std::vector<RankOrder>, 2> Enumerator::ordersOf(Layout layout) const {
  std::array<std::vector<RankOrder>, 2> found;
  for (int64_t chunks : {1, 2}) {
    layout.virtualStages = chunks;
    found[chunks - 1] = distinctOrders(cluster, layout, space.placements);
  }
  return found;
}

void Enumerator::addVariants(Layout layout, const std::vector<RankOrder> &placements) {
  // One tensor rank has no sequence to split, and one copy of the weights no state.
  const bool splitsSequences = layout.tensor > 1 || space.sequenceParallel.size() == 1;
  const int64_t minZero = *std::min_element(space.zero.begin(), space.zero.end());
  for (int64_t zero : space.zero)
    for (Recompute recompute : space.recompute)
      for (bool sequenceParallel : space.sequenceParallel)
        for (bool offload : space.offloadOptimizer)
          for (RankOrder order : placements) {
            if ((sequenceParallel && !splitsSequences) || (zero > minZero && layout.copies() == 1))
              continue;
            layout.zero = zero;
            layout.recompute = recompute;
            layout.sequenceParallel = sequenceParallel;
            layout.offloadOptimizer = offload;
            layout.placement = order;
            layouts.push_back(layout);
          }
}

void Enumerator::addSchedules(Layout layout) {
  if (isFull())
    return;
  if (layout.stages == 1) {
    // Without a pipeline schedules do not differ.
    if (isAllowed(space.virtualStages, 1))
      addVariants(layout, orders[0]);
    return;
  }
  for (PipelineSchedule schedule : space.schedules) {
    const bool isInterleaved = schedule == PipelineSchedule::Interleaved;
    layout.schedule = schedule;
    for (int64_t chunks = isInterleaved ? 2 : 1;
         chunks <= (isInterleaved ? space.maxVirtualStages : 1); ++chunks) {
      if (!isAllowed(space.virtualStages, chunks) || layout.stages * chunks > model.layers)
        continue;
      layout.virtualStages = chunks;
      addVariants(layout, orders[chunks > 1]);
    }
  }
}

void Enumerator::addBatchesOfRange(Layout layout) {
  std::vector<int64_t> sizes = space.microBatch;
  for (int64_t size = 1; space.microBatch.empty() && size <= space.maxMicroBatch; size *= 2)
    sizes.push_back(size);
  for (int64_t microBatch : sizes) {
    const int64_t sequences = layout.replicas * microBatch;
    const int64_t minimum = (space.globalBatch + sequences - 1) / sequences,
                  maximum = space.maxGlobalBatch / sequences;
    std::set<int64_t> counts;
    auto add = [&](int64_t count) {
      if (count >= minimum && count <= maximum)
        counts.insert(count);
    };
    for (int64_t count = minimum; count <= maximum; count *= 2)
      add(count);
    add(maximum);
    add((minimum + layout.stages - 1) / layout.stages * layout.stages);
    add(maximum / layout.stages * layout.stages);
    layout.microBatch = microBatch;
    for (int64_t count : counts) {
      layout.microBatches = count;
      addSchedules(layout);
    }
  }
}

void Enumerator::addBatches(Layout layout) {
  if (space.hasBatchRange()) {
    addBatchesOfRange(layout);
    return;
  }
  if (space.globalBatch % layout.replicas != 0)
    return;
  const int64_t ofReplica = space.globalBatch / layout.replicas;
  for (int64_t microBatch : divisorsOf(ofReplica)) {
    if (!isAllowed(space.microBatch, microBatch) ||
        (space.microBatch.empty() && microBatch > space.maxMicroBatch))
      continue;
    layout.microBatch = microBatch;
    layout.microBatches = ofReplica / microBatch;
    addSchedules(layout);
  }
}

bool Enumerator::considersContext(int64_t context) const {
  if (!space.context.empty())
    return isAllowed(space.context, context);
  return context == 1 || (model.sequence >= kLongSequence && model.sequence % context == 0 &&
                          model.sequence / context >= kMinPart);
}

/// Heads are a choice if the parts divide those of a shard, unless no other choice is listed: the
/// layout is then refused with a reason.
std::vector<ContextAttention> Enumerator::contextAttentionOf(const Layout &layout) const {
  if (layout.context == 1)
    return {ContextAttention::Unset};
  std::vector<ContextAttention> choices = space.contextAttention;
  if (choices.size() > 1 && model.heads % (layout.tensor * layout.context) != 0)
    choices.erase(std::remove(choices.begin(), choices.end(), ContextAttention::Heads),
                  choices.end());
  return choices;
}

bool Enumerator::considersExpert(int64_t expert) const {
  if (!space.expert.empty())
    return isAllowed(space.expert, expert);
  return expert == 1 || (model.experts >= expert && model.experts % expert == 0);
}

/// Adds the layouts of a number of shards and stages; `devices` are those of a stage per shard.
void Enumerator::addReplicas(Layout layout, int64_t devices) {
  for (int64_t context : divisorsOf(devices)) {
    layout.context = context;
    layout.replicas = devices / context;
    layout.expert = 1;
    if (!considersContext(context) || !isAllowed(space.replicas, layout.replicas) ||
        (space.maxReplicaDevices > 0 &&
         layout.tensor * context * layout.stages > space.maxReplicaDevices))
      continue;
    orders = ordersOf(layout);
    for (int64_t expert : divisorsOf(layout.replicas))
      for (ContextAttention attention : contextAttentionOf(layout)) {
        layout.expert = expert;
        layout.contextAttention = attention;
        if (considersExpert(expert))
          addBatches(layout);
      }
  }
}

void Enumerator::addDegrees(int64_t devices) {
  for (int64_t tensor : divisorsOf(devices)) {
    if (!isAllowed(space.tensor, tensor) || model.heads % tensor != 0 || isFull())
      continue;
    for (int64_t stages : divisorsOf(devices / tensor)) {
      if (!isAllowed(space.stages, stages) || stages > model.layers)
        continue;
      Layout layout;
      layout.tensor = tensor;
      layout.stages = stages;
      addReplicas(layout, devices / tensor / stages);
    }
  }
}

std::vector<int64_t> Enumerator::deviceCounts() const {
  if (!space.hasDeviceRange())
    return {space.devices};
  const int64_t node = cluster.devices_per_node();
  std::vector<int64_t> counts;
  for (int64_t part : divisorsOf(node))
    if (part < node && part >= space.devices && part <= space.maxDevices)
      counts.push_back(part);
  const int64_t maximum =
      std::min(space.maxDevices, node * static_cast<int64_t>(cluster.max_nodes()));
  for (int64_t count = (space.devices + node - 1) / node * node; count <= maximum; count += node)
    counts.push_back(count);
  return counts;
}

std::vector<Layout> Enumerator::enumerate() {
  for (int64_t devices : deviceCounts())
    addDegrees(devices);
  return std::move(layouts);
}

std::vector<Layout> enumerateLayouts(const SearchSpace &space, const PlannedModel &model,
                                     const proto::ClusterDescription &cluster) {
  return Enumerator(space, model, cluster).enumerate();
}

} // namespace st
