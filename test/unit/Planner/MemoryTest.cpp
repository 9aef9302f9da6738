// Memory compared with published formulas, and the expected effects of ZeRO and recomputation.

#include "TestModel.h"

#include "lib/Costs/Profile.h"
#include "lib/Driver/Planning/PlannedModels.h"
#include "lib/Planner/Memory/KeptTensors.h"
#include "lib/Timing/ClusterDescription.h"

#include "gtest/gtest.h"

using namespace st;

namespace {

/// A GPT as in Megatron-LM, with blocks from the compiler.
class CompiledGpt {
public:
  CompiledGpt() {
    row.family = "gpt";
    row.model = {"gpt", 2, 512, 8, 256, 1024, "f16"};
    auto found = models.find(row);
    EXPECT_TRUE(found.ok()) << found.status();
    blocks = *found;
  }

  KeptTensors layer(int64_t tensor, int64_t microBatch, bool sequenceParallel, bool selective) {
    BlockKey key{tensor, microBatch, sequenceParallel, Recompute::None, false};
    auto work = blocks->get(key);
    EXPECT_TRUE(work.ok()) << work.status();
    return keptByFramework(**work, kCompiledLayers, *findProfile("megatron-lm"),
                           {selective, false});
  }

  BlockSource &source() { return *blocks; }

  MeasuredRow row;

private:
  mlir::st::PlannedModels models{"cuda-sm_80"};
  BlockSource *blocks = nullptr;
};

} // namespace

// Korthikanti et al., "Reducing activation recomputation in large transformer models", arXiv
// 2205.05198, equations 1, 2, 4 and table 2: bytes of the activations of a layer.
TEST(Memory, ActivationsOfALayer) {
  CompiledGpt gpt;
  const auto s = static_cast<double>(gpt.row.model.sequence),
             h = static_cast<double>(gpt.row.model.hidden),
             a = static_cast<double>(gpt.row.model.heads);
  for (int64_t tensor : {1, 2, 4})
    for (int64_t microBatch : {1, 4}) {
      const auto t = static_cast<double>(tensor), b = static_cast<double>(microBatch);
      const double sbh = s * b * h, scores = 5 * a * s / h;
      auto expect = [&](double found, double formula, const char *what) {
        EXPECT_NEAR(found / (sbh * formula), 1, 0.001)
            << what << ", t = " << tensor << ", b = " << microBatch;
      };
      expect(gpt.layer(tensor, microBatch, false, false).kept, 10 + 24 / t + scores / t,
             "tensor parallel");
      expect(gpt.layer(tensor, microBatch, false, true).kept, 10 + 24 / t,
             "selective recomputation");
      if (tensor == 1)
        continue;
      expect(gpt.layer(tensor, microBatch, true, false).kept, (34 + scores) / t,
             "sequence parallel");
      expect(gpt.layer(tensor, microBatch, true, true).kept, 34 / t, "both");
    }
}

// Optimizer state per parameter is that of the compiled program: a number for each row and column
// of a factored matrix, which tensor shards replicate along the dimension that they do not split.
TEST(Memory, OptimizerStates) {
  CompiledGpt gpt;
  TestPlan plan(1);
  plan.model = gpt.row.model;
  auto bytes = [&](const std::string &optimizer, int64_t tensor) {
    StepInputs inputs = plan.inputs(plan.cluster, &gpt.source());
    inputs.optimizer = optimizer;
    Layout layout;
    layout.tensor = tensor;
    auto found = optimizerBytes(inputs, layout);
    EXPECT_TRUE(found.ok()) << found.status();
    return found.value_or(0);
  };
  EXPECT_EQ(bytes("adam", 1), 8);
  EXPECT_EQ(bytes("lamb", 4), 8);
  EXPECT_EQ(bytes("sgd", 1), 4);
  // Codes of one byte, and an f32 scale for every 256 of them; vectors stay as they are.
  EXPECT_GT(bytes("adam-8bit", 1), 2 * (1 + 4.0 / 256));
  EXPECT_LT(bytes("adam-8bit", 1), 2.2);
  const auto h = static_cast<double>(gpt.row.model.hidden),
             v = static_cast<double>(gpt.row.model.vocabulary),
             s = static_cast<double>(gpt.row.model.sequence);
  const double vectors = 13 * h,
               layer = (h + 3 * h) + (h + h) + 2 * (h + 4 * h) + vectors, // rows and columns
      state = 4 * (2 * layer + (v + h) + (s + h) + 2 * h),
               parameters = 2 * (12 * h * h + vectors) + (v + s) * h + 2 * h;
  EXPECT_NEAR(bytes("adafactor", 1), state / parameters, 1e-3 * state / parameters);
  EXPECT_GT(bytes("adafactor", 4), 2 * bytes("adafactor", 1));
}

namespace {

StepEstimate estimate(TestPlan &plan, const Layout &layout) {
  auto step = estimateStep(plan.inputs(), layout);
  EXPECT_TRUE(step.ok()) << step.status();
  return *step;
}

} // namespace

// arXiv 1910.02054, figure 1: with 16-bit weights and gradients and 12 bytes of optimizer state, 16
// bytes per parameter fall to 4 + 12 / N, 2 + 14 / N and 16 / N.
TEST(Memory, ZeroSplitsState) {
  TestPlan plan(1);
  plan.profile = *findProfile("deepspeed");
  plan.cluster.set_max_nodes(64);
  Layout layout;
  layout.replicas = 8;
  const double replicas = 8;
  std::vector<double> expected = {16, 4 + 12 / replicas, 2 + 14 / replicas, 16 / replicas};
  for (int64_t zero = 0; zero <= 3; ++zero) {
    layout.zero = zero;
    const StepEstimate step = estimate(plan, layout);
    const DeviceMemory &memory = step.memory[0];
    EXPECT_NEAR((memory.parameters + memory.gradients + memory.optimizer) / step.parameters,
                expected[zero], 1e-9)
        << "ZeRO-" << zero;
  }
}

// World and model within a node have rings with two neighbours, the other groups of two ranks one;
// between nodes a communicator has buffers for each of its ranks in the node.
TEST(Memory, BuffersOfCommunicators) {
  TestPlan plan(1);
  plan.cluster = *builtinClusterDescription("dgx-a100-40gb");
  plan.profile = *findProfile("megatron-lm");
  const double inNode = plan.cluster.communicator_bytes().value(),
               network = plan.cluster.network_communicator_bytes().value();
  Layout layout;
  layout.tensor = layout.stages = layout.replicas = layout.microBatches = 2;
  EXPECT_DOUBLE_EQ(estimate(plan, layout).memory[0].communication, 2 * inNode + 4 * inNode / 2);
  layout.replicas = 8;
  const double ofWorld = 8, ofData = 4, ofModel = 2, ofPairs = 2;
  EXPECT_DOUBLE_EQ(estimate(plan, layout).memory[0].communication,
                   inNode / 2 + network * (ofWorld + ofData + ofModel + ofPairs));
}

// Blocks that do not fit together are returned to the driver and allocated again, which takes time
// that more memory saves.
TEST(Memory, ReturnsBlocksWhereThereIsNoRoom) {
  TestPlan plan(1);
  plan.profile = *findProfile("megatron-deepspeed");
  plan.cluster = *builtinClusterDescription("dgx-a100-80gb");
  Layout layout;
  layout.microBatch = 8;
  plan.cluster.mutable_memory_bytes()->set_value(1e12);
  const StepEstimate roomy = estimate(plan, layout);
  EXPECT_EQ(roomy.memory[0].returned, 0);
  const double needed = roomy.memory[0].needed();
  double before = 0;
  for (double room : {1.2, 1.15, 1.1, 1.07}) {
    plan.cluster.mutable_memory_bytes()->set_value(room * needed);
    const StepEstimate step = estimate(plan, layout);
    EXPECT_DOUBLE_EQ(step.memory[0].needed(), needed);
    EXPECT_NEAR(step.ms - roomy.ms,
                step.memory[0].returned / (1 << 20) * plan.profile.memory().return_us_per_mib() *
                    1e-3,
                1e-6);
    EXPECT_GE(step.memory[0].returned, before);
    before = step.memory[0].returned;
  }
  EXPECT_GT(before, 0);
}

// One more micro-batch, or less recomputation, never reduces the memory. The classes add up to the
// total, and the needed memory does not exceed it.
TEST(Memory, Monotone) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    TestPlan plan(seed);
    Layout layout = plan.drawLayout();
    const StepEstimate step = estimate(plan, layout);
    for (const DeviceMemory &memory : step.memory) {
      double sum = 0;
      for (const auto &[name, bytes] : memory.classes()) {
        EXPECT_GE(bytes, 0) << name;
        sum += bytes;
      }
      EXPECT_NEAR(sum / memory.total(), 1, 1e-12);
      EXPECT_LE(memory.needed(), memory.total());
    }
    const double before = step.memory[step.fullest].needed();
    Layout more = layout;
    more.microBatch *= 2;
    const StepEstimate larger = estimate(plan, more);
    EXPECT_GE(larger.memory[larger.fullest].needed(), before)
        << "seed " << seed << ", " << printLayout(layout);
    if (layout.recompute == Recompute::Full) {
      Layout kept = layout;
      kept.recompute = Recompute::None;
      const StepEstimate all = estimate(plan, kept);
      EXPECT_GE(all.memory[all.fullest].activations, step.memory[step.fullest].activations)
          << "seed " << seed;
    }
  }
}

TEST(Memory, JudgesWhatIsNeeded) {
  DeviceMemory memory;
  memory.parameters = 90;
  memory.fragmentation = 20;
  memory.margin = 5;
  EXPECT_EQ(judgeFit(memory, 100), Fit::Fits);
  EXPECT_EQ(judgeFit(memory, 92), Fit::WithinMargin);
  EXPECT_EQ(judgeFit(memory, 89), Fit::DoesNotFit);
}
