// The messages of a device group's task with other groups.
#pragma once

#include "backends/dtu/isa/order/ProgramOrder.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace st::dtu {

using RankEvents = std::shared_ptr<const std::vector<LinkEvent>>;

/// A task of all ranks of a group, modelled as if the ranks began and ended it together and each
/// waited for the receives of the others. The model waits more than the execution, so if the model
/// completes, the task completes too.
struct GroupMessages {
  struct Outer {
    int64_t rank, peer, channel, bytes; ///< rank: within the group; peer: among all ranks
  };
  struct Phase {
    std::vector<Outer> receives; ///< at most one per rank
    std::vector<Outer> sends;    ///< after the receives
  };
  std::vector<Phase> phases;
  int64_t inner = 0; ///< messages within the group
};

/// `events`: of each rank of the group, whose first rank is `first`. Returns std::nullopt if
/// messages within the group do not all arrive within the task, or have sizes other than those
/// received.
std::optional<GroupMessages> closeTask(int64_t first, const std::vector<RankEvents> &events);

} // namespace st::dtu
