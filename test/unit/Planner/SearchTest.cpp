// The search finds the results of trying every layout.

#include "TestModel.h"

#include "lib/Costs/Profile.h"
#include "lib/Driver/Planning/PlannedModels.h"
#include "lib/Planner/Search/LayoutFilter.h"

#include "gtest/gtest.h"

#include <set>

#include <algorithm>

using namespace st;

namespace {

/// A point of a front: time per sample, memory and devices.
struct Point {
  double msPerSample, bytes;
  int64_t devices;

  bool isAsGoodAs(const Point &other) const {
    return msPerSample <= other.msPerSample && bytes <= other.bytes && devices <= other.devices;
  }
};

/// Composes each layout of a space separately.
std::vector<Point> tryAll(const StepInputs &inputs, const SearchSpace &space, size_t &count) {
  std::vector<Point> front;
  const std::vector<Layout> layouts = enumerateLayouts(space, inputs.model, inputs.cluster);
  count = layouts.size();
  for (const Layout &layout : layouts) {
    auto step = estimateStep(inputs, layout);
    if (!step.ok() || step->fit == Fit::DoesNotFit)
      continue;
    const Point added{step->ms / static_cast<double>(layout.globalBatch()),
                      step->memory[step->fullest].total(), layout.devices()};
    if (std::any_of(front.begin(), front.end(),
                    [&](const Point &other) { return other.isAsGoodAs(added); }))
      continue;
    front.erase(std::remove_if(front.begin(), front.end(),
                               [&](const Point &other) { return added.isAsGoodAs(other); }),
                front.end());
    front.push_back(added);
  }
  std::sort(front.begin(), front.end(), [](const Point &a, const Point &b) {
    return a.msPerSample != b.msPerSample ? a.msPerSample < b.msPerSample : a.bytes < b.bytes;
  });
  return front;
}

/// Compares the best, the whole front and the bound. Returns how many layouts the search left out.
size_t compareWithAll(TestPlan &plan, const SearchSpace &space, BlockSource *blocks = nullptr) {
  const StepInputs inputs = plan.inputs(plan.cluster, blocks);
  size_t count = 0;
  const std::vector<Point> expected = tryAll(inputs, space, count);
  auto result = searchLayouts(inputs, space);
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok())
    return 0;
  EXPECT_EQ(result->candidates.size(), count);
  EXPECT_EQ(result->best.has_value(), !expected.empty());
  EXPECT_EQ(result->front.size(), expected.size());
  for (size_t i = 0; i < std::min(expected.size(), result->front.size()); ++i) {
    const Candidate &found = result->candidates[result->front[i]];
    EXPECT_NEAR(found.msPerSample() / expected[i].msPerSample, 1, 1e-9)
        << printLayout(found.layout);
    EXPECT_NEAR(found.bytes / expected[i].bytes, 1, 1e-9) << printLayout(found.layout);
    EXPECT_EQ(found.layout.devices(), expected[i].devices) << printLayout(found.layout);
  }
  if (result->best)
    EXPECT_LE(result->gap(), 1e-8);
  return count - result->composed;
}

} // namespace

// ST_PLANNER_TESTS=all tries 50 spaces of up to 20,000 layouts.
TEST(Search, EqualToTryingAll) {
  const unsigned spaces = testsAll() ? 50 : 6;
  const size_t most = testsAll() ? 20000 : 1200;
  size_t skipped = 0, all = 0;
  for (unsigned seed = 0, done = 0; done < spaces; ++seed) {
    TestPlan plan(seed);
    const SearchSpace space = plan.drawSpace();
    const size_t count = enumerateLayouts(space, plan.model, plan.cluster).size();
    if (count > most || count < most / 20)
      continue;
    SCOPED_TRACE("seed " + std::to_string(seed));
    skipped += compareWithAll(plan, space);
    all += count;
    ++done;
  }
  EXPECT_GT(static_cast<double>(skipped), 0.5 * static_cast<double>(all))
      << "the bounds spare little";
  RecordProperty("layouts", std::to_string(all));
  RecordProperty("left_out", std::to_string(skipped));
}

// Sketches of compiled blocks do not exclude better layouts.
TEST(Search, EqualToTryingAllCompiledBlocks) {
  const std::vector<std::pair<const char *, const char *>> all = {
      {"gpt", "megatron-lm"}, {"bert", "deepspeed"}, {"gpt", "megatron-deepspeed"}, {"gpt", "st"}};
  for (const auto &[family, profile] : all) {
    SCOPED_TRACE(profile);
    TestPlan plan(1);
    plan.cluster = *builtinClusterDescription("dgx-a100-80gb");
    plan.profile = *findProfile(profile);
    plan.model = {family, 4, 512, 8, 256, 5000, "f16"};
    MeasuredRow row;
    row.family = family;
    row.model = plan.model;
    mlir::st::PlannedModels models("cuda-sm_80");
    auto blocks = models.find(row);
    ASSERT_TRUE(blocks.ok()) << blocks.status();
    SearchSpace space;
    space.devices = 16;
    space.globalBatch = 128;
    space.zero = {0, 1};
    space.tensor = {1, 4};
    space.microBatch = testsAll() ? std::vector<int64_t>{} : std::vector<int64_t>{1, 4, 8};
    EXPECT_GT(compareWithAll(plan, space, *blocks), 300U);
    if (!testsAll())
      break;
  }
}

TEST(Search, EqualToTryingAllOfRanges) {
  for (unsigned seed = 0; seed < (testsAll() ? 20 : 3); ++seed) {
    TestPlan plan(seed);
    SearchSpace space = plan.drawSpace();
    space.devices = 2;
    space.maxDevices = plan.cluster.max_nodes() > 1 ? 2 * plan.cluster.devices_per_node() : 8;
    space.globalBatch = 16;
    space.maxGlobalBatch = 96;
    space.zero = {0, 1};
    space.microBatch = {1, 4};
    space.offloadOptimizer = {false};
    space.schedules = {PipelineSchedule::OneForwardOneBackward, PipelineSchedule::Interleaved};
    space.maxVirtualStages = 2;
    SCOPED_TRACE("seed " + std::to_string(seed));
    compareWithAll(plan, space);
  }
}

TEST(Search, TellsWhyTheOthersLost) {
  TestPlan plan(3);
  auto result = searchLayouts(plan.inputs(), plan.drawSpace());
  ASSERT_TRUE(result.ok() && result->best);
  for (size_t i = 0; i < result->candidates.size(); ++i)
    EXPECT_EQ(result->candidates[i].reason.empty(), i == *result->best)
        << printLayout(result->candidates[i].layout);
}

TEST(Search, RefusesSpacesWithoutAnEnd) {
  TestPlan plan(0);
  plan.cluster = *builtinClusterDescription("dgx-a100-80gb");
  SearchSpace space;
  space.devices = 8;
  space.maxDevices = 4096;
  space.globalBatch = 1;
  space.maxGlobalBatch = 1 << 20;
  EXPECT_EQ(searchLayouts(plan.inputs(), space).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// A replica stays within the device limit, and all kinds of limits hold together.
TEST(SearchSpace, KeepsItsLimits) {
  TestPlan plan(0);
  SearchSpace space;
  space.devices = 4;
  space.maxDevices = 4 * plan.cluster.devices_per_node();
  space.globalBatch = 48;
  space.maxGlobalBatch = 100;
  space.maxReplicaDevices = 4;
  space.tensor = {1, 2, 4};
  const std::vector<Layout> layouts = enumerateLayouts(space, plan.model, plan.cluster);
  ASSERT_FALSE(layouts.empty());
  for (const Layout &layout : layouts) {
    EXPECT_LE(layout.tensor * layout.stages, 4) << printLayout(layout);
    EXPECT_GE(layout.globalBatch(), 48) << printLayout(layout);
    EXPECT_LE(layout.globalBatch(), 100) << printLayout(layout);
    EXPECT_GE(layout.devices(), 4) << printLayout(layout);
    EXPECT_LE(layout.devices(), space.maxDevices) << printLayout(layout);
  }
}

// Sequences are split unasked only if they are long, and experts only if there are some.
TEST(SearchSpace, SplitsSequencesAndExpertsWhereItMayPay) {
  PlannedModel model;
  model.layers = 1;
  model.heads = 1;
  SearchSpace space;
  space.devices = space.globalBatch = 8;
  const proto::ClusterDescription cluster = *builtinClusterDescription("dgx-a100-80gb");
  auto degrees = [&](int64_t Layout::*degree) {
    std::set<int64_t> found;
    for (const Layout &layout : enumerateLayouts(space, model, cluster)) {
      EXPECT_EQ(layout.devices(), 8);
      EXPECT_EQ(layout.globalBatch(), 8);
      found.insert(layout.*degree);
    }
    return found;
  };
  using Degrees = std::set<int64_t>;
  model.sequence = kLongSequence / 2;
  EXPECT_EQ(degrees(&Layout::context), Degrees{1});
  EXPECT_EQ(degrees(&Layout::expert), Degrees{1});
  model.sequence = kLongSequence;
  EXPECT_EQ(degrees(&Layout::context), (Degrees{1, 2, 4}));
  model.experts = 4;
  EXPECT_EQ(degrees(&Layout::expert), (Degrees{1, 2, 4}));
  space.context = {8};
  EXPECT_EQ(degrees(&Layout::context), Degrees{8});
  EXPECT_EQ(degrees(&Layout::replicas), Degrees{1});
  space.context = {1};
  space.expert = {2};
  EXPECT_EQ(degrees(&Layout::expert), Degrees{2});
}

TEST(SearchSpace, AttentionOfSharedSequences) {
  PlannedModel model;
  model.layers = 2;
  model.heads = 6;
  model.sequence = 4096;
  SearchSpace space;
  space.devices = space.globalBatch = 8;
  space.tensor = {1};
  const proto::ClusterDescription cluster = *builtinClusterDescription("dgx-a100-80gb");
  auto choicesOf = [&](int64_t context) {
    space.context = {context};
    std::set<ContextAttention> found;
    for (const Layout &layout : enumerateLayouts(space, model, cluster))
      found.insert(layout.contextAttention);
    return found;
  };
  using Choices = std::set<ContextAttention>;
  EXPECT_EQ(choicesOf(1), Choices{ContextAttention::Unset});
  EXPECT_EQ(choicesOf(2),
            (Choices{ContextAttention::Heads, ContextAttention::Keys, ContextAttention::Ring}));
  // Four parts do not divide six heads.
  EXPECT_EQ(choicesOf(4), (Choices{ContextAttention::Keys, ContextAttention::Ring}));
  // The only choice that is listed is refused with a reason.
  space.contextAttention = {ContextAttention::Heads};
  EXPECT_EQ(choicesOf(4), Choices{ContextAttention::Heads});
  Layout layout;
  layout.context = 4;
  layout.contextAttention = ContextAttention::Heads;
  EXPECT_EQ(checkLayout(model, layout, cluster).message(),
            "context-attention=heads: context=4 times tp=1 does not divide 6 heads");
  layout.contextAttention = ContextAttention::Ring;
  EXPECT_EQ(checkLayout(model, layout, cluster).message(),
            "context-attention=ring needs recompute=selective or full: stored probabilities are "
            "those of all keys");
  layout.recompute = Recompute::Selective;
  EXPECT_TRUE(checkLayout(model, layout, cluster).ok());
  EXPECT_EQ(printLayout(layout), "tp=1 pp=1 dp=1 context=4 context-attention=ring mb=1 accum=1 "
                                 "recompute=selective");
  EXPECT_TRUE(LayoutFilter::parse("context-attention=ring")->matches(layout));
  EXPECT_FALSE(LayoutFilter::parse("context-attention=keys")->matches(layout));
  EXPECT_EQ(LayoutFilter::parse("context-attention=keys")->explainNone({Layout(), layout}),
            "no layout of the space has context-attention=keys, only unset, ring");
  EXPECT_EQ(LayoutFilter::parse("context-attention=values").status().message(),
            "context-attention: expected heads, keys or ring, found \"values\"");
}

TEST(LayoutFilter, TakesEachKeyOfALayout) {
  Layout layout;
  layout.tensor = 2;
  layout.stages = 4;
  layout.virtualStages = 3;
  layout.schedule = PipelineSchedule::Interleaved;
  layout.recompute = Recompute::Full;
  layout.sequenceParallel = true;
  layout.placement = RankOrder::DataTensorPipeline;
  for (const char *text : {"tp=2", "pp=4,dp=1", "vpp=3", "schedule=interleaved", "recompute=full",
                           "sp", "sp=1", "zero=0", "placement=data-tensor-pipeline",
                           "offload=false", "mb=1,accum=1", "batch=1", "devices=8"}) {
    auto filter = LayoutFilter::parse(text);
    ASSERT_TRUE(filter.ok()) << filter.status();
    EXPECT_TRUE(filter->matches(layout)) << text;
    EXPECT_FALSE(filter->matches(Layout()) && filter->explainNone({layout}).empty());
  }
  for (const char *text : {"tp=1", "tp=2,pp=2", "sp=0", "schedule=1f1b", "placement=cluster"})
    EXPECT_FALSE(LayoutFilter::parse(text)->matches(layout)) << text;
}

TEST(LayoutFilter, NamesWhatIsWrong) {
  for (const auto &[text, word] : {std::pair<const char *, const char *>{"tp=x", "integer"},
                                   {"", "expected pairs"},
                                   {"tq=1", "tq=1"},
                                   {"tp", "integer"},
                                   {"recompute=half", "selective"},
                                   {"sp=2", "true or false"},
                                   {"placement=pipeline", "tensor-data-pipeline"},
                                   {"schedule=2f2b", "interleaved"}}) {
    auto filter = LayoutFilter::parse(text);
    ASSERT_FALSE(filter.ok()) << text;
    EXPECT_NE(filter.status().message().find(word), absl::string_view::npos) << filter.status();
  }
}

TEST(LayoutFilter, SaysWhatThereIs) {
  Layout layout;
  layout.tensor = 2;
  EXPECT_EQ(LayoutFilter::parse("tp=3")->explainNone({Layout(), layout}),
            "no layout of the space has tp=3, only 1, 2");
}
