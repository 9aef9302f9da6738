// Layers that differ: the blocks of a program that represent them.

#include "lib/Planner/Step/ModelSplit.h"

#include "gtest/gtest.h"

using namespace st;

using Blocks = std::vector<int64_t>;

static PlannedModel makeModel(int64_t layers, int64_t decoderLayers = 0) {
  PlannedModel model;
  model.layers = layers;
  model.decoderLayers = decoderLayers;
  return model;
}

static Blocks blocksOfLayers(const PlannedModel &model) {
  Blocks blocks;
  for (int64_t layer = 0; layer < model.layers; ++layer)
    blocks.push_back(model.blockOf(layer));
  return blocks;
}

TEST(LayerKinds, SecondLayerRepresentsEqualLayers) {
  PlannedModel model = makeModel(4);
  model.setLayerKinds({"a", "a", "a", "a"});
  EXPECT_FALSE(model.hasUnequalLayers());
  EXPECT_EQ(blocksOfLayers(model), (Blocks{2, 2, 2, 2}));
  EXPECT_EQ(model.headBlock(), 3);
  EXPECT_EQ(model.timesOf(1), 0);
  EXPECT_EQ(model.timesOf(2), 4);
}

// The second layer of a kind represents it, or the only one.
TEST(LayerKinds, EachKindHasABlock) {
  PlannedModel model = makeModel(7);
  model.setLayerKinds({"dense", "a", "b", "a", "b", "a", "b"});
  EXPECT_TRUE(model.hasUnequalLayers());
  EXPECT_EQ(model.compiledLayers, 5);
  EXPECT_EQ(blocksOfLayers(model), (Blocks{1, 4, 5, 4, 5, 4, 5}));
  EXPECT_EQ(model.layerBlocks(), (Blocks{1, 4, 5}));
  EXPECT_EQ(model.headBlock(), 6);
  EXPECT_EQ(model.timesOf(4), 3);
  EXPECT_EQ(model.timesOf(2), 0);
}

TEST(LayerKinds, StacksHaveTheirOwn) {
  PlannedModel model = makeModel(7, 3);
  EXPECT_EQ(blocksOfLayers(model), (Blocks{2, 2, 2, 2, 5, 5, 5}));
  model.setLayerKinds({"a", "a", "a", "a", "b", "b", "b"});
  EXPECT_FALSE(model.hasUnequalLayers());
  model.setLayerKinds({"a", "b", "b", "b", "c", "c", "c"});
  EXPECT_EQ(blocksOfLayers(model), (Blocks{1, 3, 3, 3, 6, 6, 6}));
  EXPECT_EQ(model.bridgeBlock(), 4);
  EXPECT_EQ(model.headBlock(), 7);
}

TEST(LayerKinds, ProgramsHaveNeededLayers) {
  PlannedModel model = makeModel(8);
  model.setLayerKinds({"a", "b", "b", "b", "b", "b", "b", "b"}, {6});
  EXPECT_EQ(model.compiledLayers, 7);
  EXPECT_EQ(model.blockOf(7), 3);
}

// Each stage has the parameters of its own layers.
TEST(LayerKinds, StagesHaveTheirLayers) {
  PlannedModel model = makeModel(6);
  model.setLayerKinds({"a", "a", "a", "b", "b", "b"});
  proto::ProgramWork work;
  for (int64_t block = 0; block <= model.headBlock(); ++block) {
    proto::StateWork &state = *work.add_states();
    state.set_role("parameter");
    state.add_blocks(block);
    state.set_local_elements(block == 2 ? 100 : block == 5 ? 7 : 1000);
  }
  Layout layout;
  layout.stages = 3;
  const ModelSplit split(model, layout, work);
  EXPECT_EQ(split.parametersOf(0).sum(), 1000 + 2 * 100);
  EXPECT_EQ(split.parametersOf(1).sum(), 100 + 7);
  EXPECT_EQ(split.parametersOf(2).sum(), 2 * 7 + 1000);
  EXPECT_EQ(split.tensorsOf(1), 2);
}
