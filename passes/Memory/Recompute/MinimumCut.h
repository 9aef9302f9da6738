// The cheapest vertices to cut between a source and a sink.
#pragma once

#include "mlir/Support/LLVM.h"
#include <cstdint>

namespace mlir::st {

/// A directed graph whose nodes cost something to cut. The minimum cut is the maximum flow (Ford
/// and Fulkerson, 1956), found along shortest augmenting paths (Edmonds and Karp, 1972).
class MinimumCut {
public:
  /// A node that costs `capacity`; nodes are numbered in order.
  unsigned addNode(int64_t capacity);
  void addEdge(unsigned from, unsigned to);
  /// What flows begins, and ends, here.
  void markSource(unsigned node);
  void markSink(unsigned node);

  /// Of the cheapest cuts that one that is nearest to the sinks; numbers of nodes, ascending.
  SmallVector<unsigned> solve();

private:
  struct Edge {
    unsigned to;
    int64_t capacity; ///< that is left
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
