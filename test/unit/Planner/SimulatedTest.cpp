// Steps of simulated devices: pipelines with known times, and searches with a made-up simulator.

#include "TestModel.h"

#include "lib/Driver/Planning/PlannedModels.h"
#include "lib/Planner/Simulated/SimulatedPipeline.h"
#include "lib/Planner/Simulated/SimulatedSearch.h"
#include "lib/Planner/Simulated/SimulatedStages.h"

#include "gtest/gtest.h"

using namespace st;

static Layout pipelineLayout(int64_t groups, int64_t microBatches) {
  Layout layout;
  layout.stages = groups;
  layout.microBatches = microBatches;
  return layout;
}

/// Stages of one kind, each on a separate chip.
static SimulatedPipeline makePipeline(const Layout &layout, SimulatedStageTimes times) {
  SimulatedPipeline pipeline;
  for (int64_t group = 0; group < layout.stages; ++group) {
    SimulatedGroup &created = pipeline.groups.emplace_back();
    created.chunks.assign(layout.virtualStages, times);
    created.chips = {group};
  }
  return pipeline;
}

static double end(const Layout &layout, const SimulatedPipeline &pipeline) {
  const auto groups = timeSimulatedPipeline(layout, pipeline, mlir::st::makePipelineOrder(), true);
  EXPECT_TRUE(groups.ok()) << groups.status();
  double last = 0;
  for (const SimulatedGroupTimes &group : groups.value_or(std::vector<SimulatedGroupTimes>()))
    last = std::max(last, group.end);
  return last;
}

// (m + p - 1)(f + b) with free messages; with a prologue before and an update after.
TEST(SimulatedPipeline, ClosedForms) {
  for (int64_t groups : {1, 2, 3, 8})
    for (int64_t microBatches : {1, 2, 7, 16}) {
      const Layout layout = pipelineLayout(groups, microBatches);
      SimulatedPipeline pipeline = makePipeline(layout, {10, 23, 0, {0, 10}, {0, 23}});
      const double expected = static_cast<double>(microBatches + groups - 1) * 33;
      EXPECT_NEAR(end(layout, pipeline), expected, 1e-6);
      for (SimulatedGroup &group : pipeline.groups) {
        group.prologue = 5;
        group.update = 7;
      }
      EXPECT_NEAR(end(layout, pipeline), expected + 12, 1e-6);
    }
}

// Data sent before a task ends arrives earlier, data in flight at its end later.
TEST(SimulatedPipeline, Sends) {
  const Layout layout = pipelineLayout(2, 1);
  EXPECT_NEAR(end(layout, makePipeline(layout, {10, 20, 0, {0, 6}, {0, 20}})), 6 + 10 + 20 + 20,
              1e-6);
  EXPECT_NEAR(end(layout, makePipeline(layout, {10, 20, 0, {0, 10, 3}, {0, 20, 4}})),
              13 + 10 + 24 + 20, 1e-6);
}

// A task works until it needs its message, as one that recomputes its forward pass does.
TEST(SimulatedPipeline, Needs) {
  const Layout layout = pipelineLayout(2, 1);
  const SimulatedPipeline pipeline = makePipeline(layout, {10, 20, 0, {1, 10}, {8, 20, 2}});
  const auto groups = timeSimulatedPipeline(layout, pipeline, mlir::st::makePipelineOrder(), true);
  ASSERT_TRUE(groups.ok()) << groups.status();
  // The last stage's forward task receives its message 9 after it begins to wait. Its backward task
  // ends at 39.
  EXPECT_NEAR(groups->back().units.end, 10 + 9 + 20, 1e-6);
  EXPECT_NEAR(groups->back().units.forwardWait, 9, 1e-6);
  // The first stage's backward task begins at 10, waits from 18 and continues at 41.
  EXPECT_NEAR(groups->front().units.end, 41 + 12, 1e-6);
  EXPECT_NEAR(groups->front().units.backwardWait, 23, 1e-6);
  EXPECT_NEAR(groups->front().units.backward, 20, 1e-6);
  EXPECT_NEAR(groups->front().units.runs.back().start, 10, 1e-6);
}

// A group that waits within a task does not slow others down.
TEST(SimulatedPipeline, WaitsWhileOthersRun) {
  const Layout layout = pipelineLayout(2, 1);
  SimulatedPipeline pipeline = makePipeline(layout, {10, 20, 0, {0, 10}, {4, 20}});
  for (SimulatedGroup &group : pipeline.groups)
    group.chips = {0};
  for (auto &row : pipeline.contention.slowdown)
    row.fill(1);
  // The first stage's 4 take 8 while the last one's forward task runs, in which that does 4 of
  // its 10.
  EXPECT_NEAR(end(layout, pipeline), 10 + 8 + 6 + 20 + 16, 1e-6);
}

// While both groups of a chip are busy a task takes twice as long. With one micro-batch they never
// are, except in updates.
TEST(SimulatedPipeline, SharedChips) {
  Layout layout = pipelineLayout(2, 1);
  SimulatedPipeline pipeline = makePipeline(layout, {10, 20, 0, {0, 10}, {0, 20}});
  for (SimulatedGroup &group : pipeline.groups) {
    group.chips = {0};
    group.update = 6;
  }
  for (auto &row : pipeline.contention.slowdown)
    row.fill(1);
  // The last group's update overlaps the first one's backward task: 12, in which the latter does 6
  // of 20.
  EXPECT_NEAR(end(layout, pipeline), 10 + 10 + 20 + 12 + 14 + 6, 1e-6);
  pipeline.contention.pace[ForwardTask] = pipeline.contention.pace[BackwardTask] = 1.5;
  EXPECT_NEAR(end(layout, pipeline), 15 + 15 + 30 + 12 + (30 - 6) + 6, 1e-6);
  layout = pipelineLayout(1, 4);
  pipeline = makePipeline(layout, {10, 20, 0, {0, 10}, {0, 20}});
  pipeline.contention.slowdown[ForwardTask].fill(9);
  EXPECT_NEAR(end(layout, pipeline), 120, 1e-6) << "a group does not slow itself down";
}

// The first and the last stage wait for each other before the update if they share a table.
TEST(SimulatedPipeline, SharedTables) {
  const Layout layout = pipelineLayout(3, 2);
  SimulatedPipeline pipeline = makePipeline(layout, {10, 20, 0, {0, 10}, {0, 20}});
  const double apart = end(layout, pipeline);
  pipeline.firstUpdateLag = pipeline.lastUpdateLag = 4;
  for (SimulatedGroup &group : pipeline.groups)
    group.update = 1;
  EXPECT_NEAR(end(layout, pipeline), apart + 4 + 1, 1e-6);
}

// Parts of a table, which replicas have if they split their weights, go one way: from the first
// stage before the step, and their gradients back to it.
TEST(SimulatedPipeline, SharedTablesOneWay) {
  const Layout layout = pipelineLayout(2, 2);
  SimulatedPipeline pipeline = makePipeline(layout, {10, 20, 0, {0, 10}, {0, 20}});
  const double apart = end(layout, pipeline);
  for (SimulatedGroup &group : pipeline.groups)
    group.prologue = 3;
  pipeline.groups.front().update = 1;
  pipeline.groups.back().update = 100;
  // The last stage completes its units one backward task before the first one.
  EXPECT_NEAR(end(layout, pipeline), 3 + apart - 20 + 100, 1e-6);
  pipeline.lastUpdateLag = 4;
  EXPECT_NEAR(end(layout, pipeline), 3 + apart - 20 + 100, 1e-6) << "the last stage waits for none";
  pipeline.groups.back().update = 2;
  pipeline.lastUpdateLag = 30;
  EXPECT_NEAR(end(layout, pipeline), 3 + apart - 20 + 30 + 1, 1e-6);
  pipeline.lastUpdateLag = kNoLag;
  pipeline.prologueLag = 15;
  EXPECT_NEAR(end(layout, pipeline), 15 - 10 + 3 + apart + 1, 1e-6);
}

namespace {

/// Tasks are proportional to layers, and slower than any bound; the simulator differs by a share
/// that depends on the layout.
class MadeUpBlocks : public SimulatedBlocks {
public:
  explicit MadeUpBlocks(const PlannedModel &model) : model(model) {}

  absl::StatusOr<StageWork> stage(const SimulatedKey &key, StageKind, const StagePlace &) override {
    return layer(key);
  }
  absl::StatusOr<StageWork> layer(const SimulatedKey &key) override {
    StageWork work = {};
    work[ForwardTime] = work[ForwardSend] =
        1e11 * static_cast<double>(key.microBatch) / static_cast<double>(key.tensor);
    work[BackwardTime] = work[BackwardSend] = 2 * work[ForwardTime];
    work[ParameterBytes] = 1e6 / static_cast<double>(key.tensor);
    work[ActivationBytes] = 1e5 * static_cast<double>(key.microBatch);
    return work;
  }
  absl::StatusOr<Contention> contention(const Layout &) override { return Contention(); }
  std::vector<int64_t> chipsOf(const SimulatedKey &, int64_t group) const override {
    return {group};
  }
  absl::StatusOr<std::vector<int64_t>> layersOfStages(const Layout &layout) override {
    return st::layersOfStages(model.layers, layout.stages * layout.virtualStages);
  }
  absl::StatusOr<CompiledStep> timeCompiled(const Layout &layout) override {
    if (layout.tensor == refused)
      return absl::InvalidArgumentError("is refused");
    CompiledStep whole;
    whole.picoseconds = 1000000 * (100 - 10 * layout.stages) + layout.replicas;
    for (int64_t group = 0; group < layout.stages; ++group) {
      whole.arenaBytes.push_back(arena + group);
      whole.memory.push_back({{"parameters", 40}, {"inputs", 60 + group}});
    }
    return known[printLayout(layout)] = whole;
  }
  const CompiledStep *findCompiled(const Layout &layout) const override {
    auto found = known.find(printLayout(layout));
    return found == known.end() ? nullptr : &found->second;
  }

  const PlannedModel &model;
  int64_t refused = 0, arena = 100;
  std::map<std::string, CompiledStep> known;
};

} // namespace

TEST(SimulatedStages, HaveTheWorkOfTheirLayers) {
  TestPlan plan(1);
  MadeUpBlocks blocks(plan.model);
  const Layout layout = pipelineLayout(3, 2);
  SimulatedStages stages(blocks, SimulatedKey::of(layout, plan.model), layout);
  ASSERT_TRUE(stages.read({3, 2, 0}).ok());
  const SimulatedPipeline pipeline = stages.makePipeline();
  ASSERT_EQ(pipeline.groups.size(), 3u);
  const double layer = pipeline.groups[1].chunks[0].forward / 2;
  EXPECT_GT(layer, 0);
  EXPECT_DOUBLE_EQ(pipeline.groups[0].chunks[0].forward, 3 * layer);
  EXPECT_DOUBLE_EQ(pipeline.groups[2].chunks[0].forward, 0);
  EXPECT_EQ(pipeline.groups[2].chips, std::vector<int64_t>{2});
}

// The best has the simulated time and memory, exact to the picosecond and the byte; rejected
// layouts are replaced.
TEST(SimulatedSearch, TakesWhatWasSimulated) {
  TestPlan plan(1);
  plan.model.layers = 8;
  plan.model.heads = 8;
  plan.cluster.mutable_memory_bytes()->set_value(1e12);
  MadeUpBlocks blocks(plan.model);
  StepInputs inputs = plan.inputs();
  inputs.simulated = &blocks;
  SearchSpace space;
  space.devices = 8;
  space.globalBatch = 16;
  space.recompute = {Recompute::None};
  space.sequenceParallel = {false};
  constexpr size_t kSimulated = 5;
  for (int64_t refused : {0, 8}) {
    blocks.refused = refused;
    blocks.known.clear();
    auto result = searchSimulated(inputs, space, {kSimulated});
    ASSERT_TRUE(result.ok() && result->best);
    ASSERT_EQ(result->simulated.size(), kSimulated);
    const Candidate &best = result->candidates[*result->best];
    int64_t least = INT64_MAX;
    for (size_t i : result->simulated) {
      const Candidate &candidate = result->candidates[i];
      EXPECT_NE(candidate.layout.tensor, refused);
      const CompiledStep &step = blocks.known.at(printLayout(candidate.layout));
      EXPECT_EQ(candidate.ms, static_cast<double>(step.picoseconds) * 1e-9);
      EXPECT_EQ(candidate.bytes, static_cast<double>(99 + candidate.layout.stages));
      least = std::min(least, step.picoseconds);
    }
    EXPECT_EQ(best.ms, static_cast<double>(least) * 1e-9);
    auto step = estimateStep(inputs, best.layout);
    ASSERT_TRUE(step.ok() && step->composedMs);
    EXPECT_EQ(step->ms, best.ms);
    EXPECT_EQ(step->memory[step->fullest].total(), best.bytes);
    double sum = 0;
    for (const Timer &timer : step->timers)
      sum += timer.last;
    EXPECT_NEAR(sum, step->ms, 1e-9);
  }
}

// The memory of the compiler's plan decides whether a layout fits, regardless of the estimate.
TEST(SimulatedSearch, JudgesMemoryByThePlan) {
  TestPlan plan(1);
  plan.model.layers = 8;
  plan.model.heads = 8;
  plan.cluster.mutable_memory_bytes()->set_value(1e9);
  MadeUpBlocks blocks(plan.model);
  blocks.arena = 1000000001;
  StepInputs inputs = plan.inputs();
  inputs.simulated = &blocks;
  SearchSpace space;
  space.devices = 4;
  space.globalBatch = 8;
  auto result = searchSimulated(inputs, space, {3});
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->best);
  EXPECT_TRUE(result->simulated.empty());
  EXPECT_GT(result->composed, 3u);
}

// Excluded layouts would not have been simulated, unless the limit excludes them.
TEST(SimulatedSearch, LeavesOutWhatPromisesLess) {
  TestPlan plan(1);
  plan.model.layers = 8;
  plan.model.heads = 8;
  plan.cluster.mutable_memory_bytes()->set_value(1e12);
  MadeUpBlocks blocks(plan.model);
  StepInputs inputs = plan.inputs();
  inputs.simulated = &blocks;
  SearchSpace space;
  space.devices = 8;
  space.globalBatch = 64;
  space.schedules = {PipelineSchedule::GPipe, PipelineSchedule::OneForwardOneBackward};
  constexpr size_t kMany = 1000;
  auto result = searchSimulated(inputs, space, {2, kMany});
  ASSERT_TRUE(result.ok());
  size_t composed = 0;
  double slowest = 0;
  for (size_t i : result->simulated)
    slowest =
        std::max(slowest, estimateStep(inputs, result->candidates[i].layout)->composedMs.value());
  for (const Candidate &candidate : result->candidates) {
    if (candidate.fate != Candidate::Bounded) {
      composed += candidate.fate != Candidate::Refused;
      continue;
    }
    EXPECT_GT(candidate.boundMs, 0);
    EXPECT_GE(estimateStep(inputs, candidate.layout)->ms, slowest) << printLayout(candidate.layout);
  }
  EXPECT_EQ(composed, result->composed);
  EXPECT_LT(composed, result->candidates.size());
  // Without a limit only the certain bound excludes layouts, not the estimate.
  blocks.known.clear();
  auto all = searchSimulated(inputs, space, {2});
  ASSERT_TRUE(all.ok());
  EXPECT_GT(all->composed, result->composed);
  double slowestOfAll = 0;
  for (size_t i : all->simulated)
    slowestOfAll =
        std::max(slowestOfAll, estimateStep(inputs, all->candidates[i].layout)->composedMs.value());
  for (const Candidate &candidate : all->candidates)
    if (candidate.fate == Candidate::Bounded)
      EXPECT_GT(candidate.boundMs, slowestOfAll) << printLayout(candidate.layout);
  blocks.known.clear();
  auto few = searchSimulated(inputs, space, {2, 4});
  ASSERT_TRUE(few.ok());
  EXPECT_EQ(few->composed, 4u);
  EXPECT_LE(few->boundMs, few->candidates[*few->best].ms);
}
