// Schedules that defer gradients of weights: their tasks come from compiled programs.

#include "TestModel.h"

#include "lib/Costs/Profile.h"
#include "lib/Driver/Planning/BlockCompiler.h"
#include "lib/Driver/Planning/PlannedModels.h"

#include "gtest/gtest.h"

#include <map>

using namespace st;

namespace {

mlir::st::ModelConfig smallGpt() {
  mlir::MLIRContext context;
  auto config =
      mlir::st::parseModelConfig(R"({"model_type": "gpt2", "n_embd": 128, "n_layer": 4, "n_head": 4,
    "n_positions": 64, "vocab_size": 512, "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0})",
                                 "config.json", &context);
  EXPECT_TRUE(succeeded(config));
  return *config;
}

/// FLOPs of a layer's products by phase.
std::map<std::string, double> productsOf(const proto::ProgramWork &work) {
  std::map<std::string, double> flops;
  for (const proto::PhaseWork &phase : work.phases())
    for (const proto::OpWork &op : phase.ops())
      if (phase.block() == kCompiledLayers && op.kind() == proto::OpWork::PRODUCT &&
          !op.is_recomputed())
        flops[phase.phase()] += op.flops();
  return flops;
}

} // namespace

TEST(WeightTask, ComesFromCompiledBlocks) {
  mlir::st::PlanInput input;
  input.config = smallGpt();
  input.model.sequence = 64;
  input.model.precision = "bf16";
  mlir::st::BlockCompiler compiler(input, "cuda-sm_80");
  BlockKey key;
  key.formsKernels = true;
  auto together = compiler.get(key);
  key.splitsBackward = true;
  auto split = compiler.get(key);
  ASSERT_TRUE(together.ok() && split.ok()) << together.status() << split.status();
  auto before = productsOf(**together), after = productsOf(**split);
  EXPECT_EQ(before["weight"], 0);
  // The four products with weights, of 12 hidden^2 parameters, take 2 FLOPs per token in each
  // direction.
  EXPECT_EQ(after["weight"], 2.0 * 64 * 12 * 128 * 128);
  EXPECT_EQ(after["backward"] + after["weight"], before["backward"]);
  EXPECT_EQ(after["forward"], before["forward"]);
  double kept = 0, gradients = 0;
  for (const proto::StashWork &stash : (*split)->stashes())
    if (stash.until() == "weight")
      (stash.made() == "backward" ? gradients : kept) += stash.bytes();
  // Inputs of these products, and gradients of their results, in at least 16 bits.
  EXPECT_GE(kept, 2 * 64 * 128 * (1 + 1 + 1 + 4) * 2);
  EXPECT_GE(gradients, 2 * 64 * 128 * (3 + 1 + 4 + 1) * 2);
}

TEST(WeightTask, FillsTheBubble) {
  TestPlan plan(3);
  plan.profile = *findProfile("st");
  Layout layout;
  layout.stages = 4;
  layout.microBatches = 8;
  auto plain = estimateStep(plan.inputs(), layout);
  layout.schedule = PipelineSchedule::ZeroBubbleH1;
  auto first = estimateStep(plan.inputs(), layout);
  layout.schedule = PipelineSchedule::ZeroBubbleH2;
  auto second = estimateStep(plan.inputs(), layout);
  ASSERT_TRUE(plain.ok() && first.ok() && second.ok())
      << plain.status() << first.status() << second.status();
  EXPECT_LT(first->ms, plain->ms);
  EXPECT_LT(second->ms, first->ms);
  EXPECT_EQ(first->flops, plain->flops);
  // The second schedule holds up to twice as many micro-batches.
  EXPECT_GT(second->memory[0].activations, first->memory[0].activations);
}

TEST(WeightTask, FrameworksHaveNone) {
  TestPlan plan(3);
  Layout layout;
  layout.stages = 4;
  layout.microBatches = 8;
  layout.schedule = PipelineSchedule::ZeroBubbleH1;
  auto refused = estimateStep(plan.inputs(), layout);
  EXPECT_EQ(refused.status().message(), "schedule=zb-h1 needs profile st: profile " +
                                            plan.profile.name() +
                                            " does not compute weight gradients in separate tasks");
}

// Qi et al., "Zero bubble pipeline parallelism", ICLR 2024: H1 holds as many micro-batches as
// 1F1B's first stage, on every stage.
TEST(WeightTask, HeldMicroBatches) {
  Layout layout;
  layout.stages = 4;
  layout.microBatches = 12;
  layout.schedule = PipelineSchedule::ZeroBubbleH1;
  for (int64_t group = 0; group < 4; ++group) {
    const HeldMicroBatches held = maxHeld(mlir::st::makePipelineOrder()(layout, group));
    EXPECT_EQ(held.forwardToBackward, 4 - group);
    EXPECT_EQ(held.forwardToWeight, 4);
    EXPECT_EQ(held.backwardToWeight, 1 + group);
  }
}
