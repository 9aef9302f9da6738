// What a task of a device group says to other groups.
#pragma once

#include "backends/dtu/isa/order/ProgramOrder.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace st::dtu {

using RankEvents = std::shared_ptr<const std::vector<LinkEvent>>;

/// A task of all ranks of a group, as if they began and ended it together and each waited for
/// receives of the others: more than they do, so that what comes to its end so does so without.
struct GroupMessages {
  struct Outer {
    int64_t rank, peer, channel, bytes; ///< rank of the group, among all ranks
  };
  struct Phase {
    std::vector<Outer> receives; ///< at most one a rank
    std::vector<Outer> sends;    ///< behind them
  };
  std::vector<Phase> phases;
  int64_t inner = 0; ///< messages within the group
};

/// `events`: of each rank of the group, of which the first is `first`. None where messages within
/// the group do not all arrive within the task, or not with the bytes that are received.
std::optional<GroupMessages> closeTask(int64_t first, const std::vector<RankEvents> &events);

} // namespace st::dtu
