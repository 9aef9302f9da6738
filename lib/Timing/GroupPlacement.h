// The locations of the ranks of a collective.
#pragma once

namespace st {

/// The locations of a group's ranks. Costs of a cluster read `perNode`, `sharers` and `stride`;
/// costs of a compiled program's target read `link`.
struct GroupPlacement {
  int ranks = 1;
  int perNode = 1; ///< ranks of the group that share a node
  int sharers = 1; ///< groups of the same kind that use the cards of a node at the same time
  int stride = 1;  ///< distance in device ids between neighbours of the group within a node
  int link = 0;    ///< the mesh axis with the slowest links that the group uses
};

} // namespace st
