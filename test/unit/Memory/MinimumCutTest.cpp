// Compares the minimum cut with all subsets of the nodes of small random graphs.
#include "passes/Memory/Recompute/MinimumCut.h"

#include <gtest/gtest.h>
#include <random>

using mlir::st::MinimumCut;

namespace {

struct Graph {
  std::vector<int64_t> capacities;
  std::vector<std::pair<unsigned, unsigned>> edges; ///< from a lower to a higher number
  std::vector<unsigned> sources, sinks;

  unsigned size() const { return capacities.size(); }

  /// Returns true if no path remains without the nodes of a subset.
  bool isCutBy(unsigned subset) const {
    unsigned reached = 0;
    for (unsigned source : sources)
      reached |= 1u << source;
    reached &= ~subset;
    for (unsigned round = 0; round < size(); ++round)
      for (auto [from, to] : edges)
        if (reached >> from & 1)
          reached |= (1u << to) & ~subset;
    return std::all_of(sinks.begin(), sinks.end(),
                       [&](unsigned sink) { return !(reached >> sink & 1); });
  }

  int64_t cost(unsigned subset) const {
    int64_t sum = 0;
    for (unsigned node = 0; node < size(); ++node)
      sum += subset >> node & 1 ? capacities[node] : 0;
    return sum;
  }
};

Graph randomGraph(std::mt19937 &rng) {
  auto below = [&](unsigned limit) { return static_cast<unsigned>(rng() % limit); };
  Graph graph;
  for (unsigned i = 0, size = 2 + below(9); i < size; ++i)
    graph.capacities.push_back(below(5));
  for (unsigned from = 0; from < graph.size(); ++from)
    for (unsigned to = from + 1; to < graph.size(); ++to)
      if (below(3) == 0)
        graph.edges.push_back({from, to});
  for (unsigned node = 0; node < graph.size(); ++node) {
    if (below(4) == 0)
      graph.sources.push_back(node);
    if (below(4) == 0)
      graph.sinks.push_back(node);
  }
  return graph;
}

unsigned solve(const Graph &graph) {
  MinimumCut cut;
  for (int64_t capacity : graph.capacities)
    cut.addNode(capacity);
  for (auto [from, to] : graph.edges)
    cut.addEdge(from, to);
  for (unsigned source : graph.sources)
    cut.markSource(source);
  for (unsigned sink : graph.sinks)
    cut.markSink(sink);
  unsigned subset = 0;
  for (unsigned node : cut.solve())
    subset |= 1u << node;
  return subset;
}

TEST(MinimumCut, CostsNoMoreThanAnySubset) {
  std::mt19937 rng(1);
  for (int round = 0; round < 2000; ++round) {
    Graph graph = randomGraph(rng);
    unsigned found = solve(graph);
    ASSERT_TRUE(graph.isCutBy(found)) << "round " << round;
    for (unsigned subset = 0; subset < 1u << graph.size(); ++subset)
      ASSERT_TRUE(!graph.isCutBy(subset) || graph.cost(subset) >= graph.cost(found))
          << "round " << round << ", subset " << subset;
  }
}

TEST(MinimumCut, IsNearTheSinks) {
  // 0 -> 1 -> 2, with equal costs.
  Graph graph{{3, 3, 3}, {{0, 1}, {1, 2}}, {0}, {2}};
  EXPECT_EQ(solve(graph), 4u);
  // Unless it costs more there.
  graph.capacities[2] = 4;
  EXPECT_EQ(solve(graph), 2u);
}

TEST(MinimumCut, IsEmptyWithoutAPath) { EXPECT_EQ(solve({{3, 3}, {}, {0}, {1}}), 0u); }

} // namespace
