// Sketched blocks replace compiled ones.

#include "lib/Planner/Search/Sketch.h"
#include "lib/Costs/Profile.h"
#include "lib/Driver/Planning/PlannedModels.h"
#include "lib/Planner/Search/StepMemo.h"
#include "lib/Timing/ClusterDescription.h"

#include "gtest/gtest.h"

using namespace st;

// Steps of sketched blocks need the time and memory of those of compiled ones, within the search's
// slack.
TEST(Sketch, BoundsLikeCompiledBlocks) {
  const proto::ClusterDescription cluster = *builtinClusterDescription("dgx-a100-80gb");
  mlir::st::PlannedModels models("cuda-sm_80");
  const PipelineOrder order = mlir::st::makePipelineOrder();
  for (const auto &[family, name, microBatch] :
       {std::tuple{"gpt", "megatron-lm", 5}, {"gpt", "st", 3}}) {
    MeasuredRow row;
    row.family = family;
    row.model = {family, 4, 256, 8, 128, 1000, "f16"};
    auto blocks = models.find(row);
    ASSERT_TRUE(blocks.ok()) << blocks.status();
    const proto::ImplementationProfile profile = *findProfile(name);
    const GpuCosts costs(cluster, profile, {});
    BlockSketches sketches(**blocks);
    StepMemo memo;
    const StepInputs inputs{row.model, cluster, profile, costs, **blocks, order, 0, "adam", &memo};
    Layout layout;
    layout.tensor = 4;
    layout.stages = 2;
    layout.microBatches = 4;
    layout.microBatch = microBatch;
    layout.recompute = Recompute::Selective;
    layout.sequenceParallel = true;
    const StepBlocks keys = blocksOf(inputs, layout);
    auto bound = [&](const proto::ProgramWork *work, const proto::ProgramWork *kept) {
      EXPECT_TRUE(work && kept);
      if (!work || !kept)
        return StepBound();
      return boundStep(inputs, layout, *work, *kept, BoundDetail::Step);
    };
    const StepBound sketched = bound(sketches.get(keys.work), sketches.get(keys.kept));
    const StepBound compiled =
        bound((*blocks)->get(keys.work).value(), (*blocks)->get(keys.kept).value());
    EXPECT_LE(sketched.ms, compiled.ms * (1 + 2e-3)) << name;
    EXPECT_GE(sketched.ms, compiled.ms * 0.98) << name;
    EXPECT_NEAR(sketched.memory.total() / compiled.memory.total(), 1, 1e-6) << name;
  }
}

TEST(Sketch, RefusesProgramsOfOtherOps) {
  proto::ProgramWork one, two;
  one.add_phases()->add_ops()->set_m(2);
  two.add_phases()->add_ops()->set_m(4);
  auto three = sketchWork(one, 1, two, 2, 3);
  ASSERT_NE(three, nullptr);
  EXPECT_EQ(three->phases(0).ops(0).m(), 6);
  two.mutable_phases(0)->mutable_ops(0)->set_region("other");
  EXPECT_EQ(sketchWork(one, 1, two, 2, 3), nullptr);
  two = one;
  two.mutable_phases(0)->add_ops();
  EXPECT_EQ(sketchWork(one, 1, two, 2, 3), nullptr);
}
