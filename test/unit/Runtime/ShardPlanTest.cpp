#include "lib/Runtime/Checkpoint/ShardPlan.h"
#include "ToyProgram.h"

#include <gtest/gtest.h>

namespace st {
namespace {

class ShardPlanTest : public testing::Test {
protected:
  // Parameters b (48 bytes) and w (384 bytes), in this order.
  std::vector<ShardFile> plan(int64_t limit) {
    return planShards("model", states, limit, *communicator);
  }

  proto::Executable program = makeToyProgram(2, 2);
  std::vector<StateTensor> states = *collectStates(program);
  std::unique_ptr<Communicator> communicator = createInProcessCommunicator();
};

TEST_F(ShardPlanTest, OneFileIsNotNumbered) {
  const std::vector<ShardFile> shards = plan(432);
  ASSERT_EQ(shards.size(), 1u);
  EXPECT_EQ(shards[0].name, "model.safetensors");
  EXPECT_EQ(shards[0].bytes, 432);
  EXPECT_EQ(shards[0].tensors.size(), 2u);
}

TEST_F(ShardPlanTest, ALargeTensorHasAFileOfItsOwn) {
  for (int64_t limit : {431, 100, 1}) {
    const std::vector<ShardFile> shards = plan(limit);
    ASSERT_EQ(shards.size(), 2u);
    EXPECT_EQ(shards[0].name, "model-00001-of-00002.safetensors");
    EXPECT_EQ(shards[0].bytes, 48);
    EXPECT_EQ(shards[1].bytes, 384);
  }
  EXPECT_EQ(printIndex(plan(1)), "{\n  \"metadata\": {\n    \"total_size\": 432\n  },\n"
                                 "  \"weight_map\": {\n"
                                 "    \"b\": \"model-00001-of-00002.safetensors\",\n"
                                 "    \"w\": \"model-00002-of-00002.safetensors\"\n  }\n}\n");
}

TEST_F(ShardPlanTest, AKindWithoutTensorsHasAFile) {
  EXPECT_EQ(planShards("optimizer", {}, 1, *communicator).size(), 1u);
}

TEST_F(ShardPlanTest, KnowsItsNames) {
  for (const char *name : {"model-00001-of-00002.safetensors", "model.safetensors.index.json",
                           "optimizer-00010-of-123456.safetensors"})
    EXPECT_TRUE(isShardName(name)) << name;
  for (const char *name :
       {"model.safetensors", "model-1-of-2.safetensors", "notes.txt",
        "model-00001-of-00002.safetensors.bak", "mymodel-00001-of-00002.safetensors"})
    EXPECT_FALSE(isShardName(name)) << name;
}

} // namespace
} // namespace st
