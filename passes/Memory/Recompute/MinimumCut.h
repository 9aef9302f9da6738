// The cheapest vertex cut between a source and a sink.
#pragma once

#include "mlir/Support/LLVM.h"
#include <cstdint>

namespace mlir::st {

/// A directed graph whose nodes have cutting costs. The minimum cut equals the maximum flow (Ford
/// and Fulkerson, 1956), found along shortest augmenting paths (Edmonds and Karp, 1972).
class MinimumCut {
public:
  /// Adds a node of cost `capacity`; nodes are numbered in order.
  unsigned addNode(int64_t capacity);
  void addEdge(unsigned from, unsigned to);
  /// Marks the source and the sink of the flow.
  void markSource(unsigned node);
  void markSink(unsigned node);

  /// The cheapest cut, of several the one closest to the sinks; node numbers, ascending.
  SmallVector<unsigned> solve();

private:
  struct Edge {
    unsigned to;
    int64_t capacity; ///< remaining
    unsigned reverse; ///< the index among the edges of `to`
  };

  static constexpr unsigned kSource = 0, kSink = 1;
  static unsigned inOf(unsigned node) { return 2 + 2 * node; }
  static unsigned outOf(unsigned node) { return 3 + 2 * node; }
  void connect(unsigned from, unsigned to, int64_t capacity);
  bool augment();

  std::vector<std::vector<Edge>> edges{2};
};

} // namespace mlir::st
