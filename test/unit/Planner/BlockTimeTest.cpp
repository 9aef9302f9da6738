#include "lib/Planner/Step/BlockTime.h"

#include "TestModel.h"
#include "lib/Costs/Profile.h"
#include "lib/Planner/Step/ModelSplit.h"

#include "gtest/gtest.h"

namespace st {
namespace {

/// The forward pass of a head of 1024 over the vocabulary as it is padded.
proto::ProgramWork makeHead() {
  proto::ProgramWork work;
  proto::PhaseWork &phase = *work.add_phases();
  phase.set_phase("forward");
  phase.set_block(PlannedModel().headBlock());
  proto::OpWork &op = *phase.add_ops();
  op.set_kind(proto::OpWork::PRODUCT);
  op.set_type(proto::F16);
  op.set_batch(1);
  op.set_m(2048);
  op.set_n(50304);
  op.set_k(1024);
  op.set_flops(2.0 * 2048 * 50304 * 1024);
  return work;
}

double timeHead(int64_t vocabulary, int64_t tensor, bool isUnpadded) {
  TestPlan plan(1);
  proto::ImplementationProfile profile = *findProfile("st");
  profile.set_unpadded_whole_vocabulary(isUnpadded);
  const GpuCosts costs(plan.cluster, profile, GpuConstants());
  Layout layout;
  layout.tensor = tensor;
  PlannedModel model;
  model.heads = 16;
  model.vocabulary = vocabulary;
  const RankPlacement placement;
  const BlockContext context{layout, model, profile, costs, placement};
  return timeBlock(context, makeHead(), model.headBlock()).forward.device;
}

TEST(BlockTime, TakesAnOddVocabularySlowlyWhereItIsNotPadded) {
  const double padded = timeHead(50257, 1, false);
  // Rows of 4n + 2 bytes run at 0.4 of full speed.
  EXPECT_NEAR(timeHead(50257, 1, true) / padded, 1 / 0.4, 0.02);
  EXPECT_DOUBLE_EQ(timeHead(50304, 1, true), padded);
  // Tensor shards divide a padded vocabulary.
  EXPECT_DOUBLE_EQ(timeHead(50257, 2, true), padded);
}

} // namespace
} // namespace st
