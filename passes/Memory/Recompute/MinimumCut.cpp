#include "passes/Memory/Recompute/MinimumCut.h"
#include "llvm/ADT/STLExtras.h"
#include <limits>

using namespace mlir;
using namespace mlir::st;

static constexpr int64_t kUncuttable = std::numeric_limits<int64_t>::max() / 4;

void MinimumCut::connect(unsigned from, unsigned to, int64_t capacity) {
  unsigned there = edges[from].size(), back = edges[to].size();
  edges[from].push_back({to, capacity, back});
  edges[to].push_back({from, 0, there});
}

unsigned MinimumCut::addNode(int64_t capacity) {
  unsigned node = (edges.size() - 2) / 2;
  edges.resize(edges.size() + 2);
  connect(inOf(node), outOf(node), capacity);
  return node;
}

void MinimumCut::addEdge(unsigned from, unsigned to) {
  connect(outOf(from), inOf(to), kUncuttable);
}

void MinimumCut::markSource(unsigned node) { connect(kSource, inOf(node), kUncuttable); }

void MinimumCut::markSink(unsigned node) { connect(outOf(node), kSink, kUncuttable); }

/// Augments the flow along a shortest path with remaining capacity; returns false if there is none.
bool MinimumCut::augment() {
  constexpr unsigned none = std::numeric_limits<unsigned>::max();
  std::vector<std::pair<unsigned, unsigned>> predecessor(edges.size(), {none, 0});
  SmallVector<unsigned> queue = {kSource};
  predecessor[kSource] = {kSource, 0};
  for (size_t next = 0; next < queue.size() && predecessor[kSink].first == none; ++next)
    for (auto [i, edge] : llvm::enumerate(edges[queue[next]]))
      if (edge.capacity > 0 && predecessor[edge.to].first == none) {
        predecessor[edge.to] = {queue[next], static_cast<unsigned>(i)};
        queue.push_back(edge.to);
      }
  if (predecessor[kSink].first == none)
    return false;
  auto walk = [&](auto visit) {
    for (unsigned at = kSink; at != kSource; at = predecessor[at].first)
      visit(edges[predecessor[at].first][predecessor[at].second]);
  };
  int64_t flow = kUncuttable;
  walk([&](Edge &edge) { flow = std::min(flow, edge.capacity); });
  walk([&](Edge &edge) {
    edge.capacity -= flow;
    edges[edge.to][edge.reverse].capacity += flow;
  });
  return true;
}

SmallVector<unsigned> MinimumCut::solve() {
  while (augment())
    ;
  // Nodes that still reach a sink, walking back along edges with remaining capacity.
  std::vector<bool> reaches(edges.size());
  SmallVector<unsigned> worklist = {kSink};
  reaches[kSink] = true;
  while (!worklist.empty())
    for (const Edge &edge : edges[worklist.pop_back_val()])
      if (!reaches[edge.to] && edges[edge.to][edge.reverse].capacity > 0) {
        reaches[edge.to] = true;
        worklist.push_back(edge.to);
      }
  SmallVector<unsigned> cut;
  for (unsigned node = 0; inOf(node) < edges.size(); ++node)
    if (!reaches[inOf(node)] && reaches[outOf(node)])
      cut.push_back(node);
  return cut;
}
