#include "lib/Planner/Search/StepMemo.h"

namespace st {

const RankPlacement &StepMemo::place(const proto::ClusterDescription &cluster,
                                     const Layout &layout) {
  const Sizes sizes = {layout.tensor, layout.context,           layout.replicas, layout.expert,
                       layout.stages, layout.virtualStages > 1, layout.placement};
  auto found = placements.find(sizes);
  if (found == placements.end())
    found = placements.emplace(sizes, placeRanks(cluster, layout)).first;
  return found->second;
}

const ModelTimes &StepMemo::blocks(const proto::ProgramWork &work, const Layout &layout,
                                   const RankPlacement &placement,
                                   const std::function<ModelTimes()> &compute) {
  auto useOf = [](const GroupPlacement &group) {
    return GroupUse(group.ranks, group.perNode, group.sharers, group.stride);
  };
  const BlockUse use = {&work,
                        layout.tensor,
                        layout.microBatch,
                        layout.recompute,
                        useOf(placement.tensor),
                        useOf(placement.context),
                        useOf(placement.expert)};
  auto found = times.find(use);
  if (found == times.end())
    found = times.emplace(use, compute()).first;
  return found->second;
}

} // namespace st
