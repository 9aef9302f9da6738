// A model with artificial blocks, for tests of the code that composes them.
#ifndef ST_TEST_UNIT_PLANNER_TESTMODEL_H
#define ST_TEST_UNIT_PLANNER_TESTMODEL_H

#include "lib/Costs/GpuCosts.h"
#include "lib/Planner/Search/Search.h"
#include "lib/Timing/ClusterDescription.h"

#include <map>
#include <random>

namespace st {

/// True if long tests run in full: ST_PLANNER_TESTS=all.
bool testsAll();

/// Blocks of a transformer with only its products and passes. The planner must not notice the
/// difference.
class TestBlocks : public BlockSource {
public:
  explicit TestBlocks(const PlannedModel &model) : model(model) {}
  absl::StatusOr<const proto::ProgramWork *> get(const BlockKey &key) override;

  bool hasLayersAlone = false; ///< nothing to do for the embeddings and the head

private:
  const PlannedModel &model;
  std::map<BlockKey, proto::ProgramWork> created;
};

/// A model, a cluster and the other inputs of a step, drawn from a seed.
class TestPlan {
public:
  explicit TestPlan(unsigned seed);

  StepInputs inputs() { return inputs(cluster); }
  /// With another cluster, which must outlive the result, and other blocks.
  StepInputs inputs(const proto::ClusterDescription &other, BlockSource *otherBlocks = nullptr);
  /// A layout that can run.
  Layout drawLayout();
  /// One that may also split sequences and experts.
  Layout drawSplitLayout();
  SearchSpace drawSpace();
  int64_t draw(std::initializer_list<int64_t> values);

  std::mt19937 random;
  PlannedModel model;
  proto::ClusterDescription cluster;
  proto::ImplementationProfile profile;
  TestBlocks blocks;

private:
  PipelineOrder order;
  std::unique_ptr<GpuCosts> costs;
};

} // namespace st

#endif // ST_TEST_UNIT_PLANNER_TESTMODEL_H
