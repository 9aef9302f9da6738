// A model whose blocks are made up, for tests of what composes them.
#ifndef ST_TEST_UNIT_PLANNER_TESTMODEL_H
#define ST_TEST_UNIT_PLANNER_TESTMODEL_H

#include "lib/Costs/GpuCosts.h"
#include "lib/Planner/Search.h"

#include <map>
#include <random>

namespace st {

/// Blocks of a transformer by its products and passes alone. The planner must not know the difference.
class TestBlocks : public BlockSource {
public:
  explicit TestBlocks(const PlannedModel &model) : model(model) {}
  absl::StatusOr<const proto::ProgramWork *> get(const BlockKey &key) override;

private:
  const PlannedModel &model;
  std::map<BlockKey, proto::ProgramWork> made;
};

/// A model, a cluster and what else a step needs, drawn from a seed.
class TestPlan {
public:
  explicit TestPlan(unsigned seed);

  StepInputs inputs() { return inputs(cluster); }
  /// With another cluster, which the result refers to.
  StepInputs inputs(const proto::ClusterDescription &other);
  /// A layout that can run.
  Layout drawLayout();
  SearchSpace drawSpace();

  std::mt19937 random;
  PlannedModel model;
  proto::ClusterDescription cluster;
  proto::ImplementationProfile profile;

private:
  int64_t draw(std::initializer_list<int64_t> values);

  TestBlocks blocks;
  PipelineOrder order;
  std::unique_ptr<GpuCosts> costs;
};

} // namespace st

#endif // ST_TEST_UNIT_PLANNER_TESTMODEL_H
