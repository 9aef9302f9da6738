// Where the ranks that take part in a collective are.
#pragma once

namespace st {

/// Where the ranks of a group are. Costs of a cluster read `perNode`, `sharers` and `stride`, those
/// of a compiled program's target `link`.
struct GroupPlacement {
  int ranks = 1;
  int perNode = 1; ///< ranks of the group that share a node
  int sharers = 1; ///< groups of the same kind that use the cards of a node at once
  int stride = 1;  ///< distance in device ids between neighbours of the group within a node
  int link = 0;    ///< the axis of the mesh whose links are the slowest that the group uses
};

} // namespace st
