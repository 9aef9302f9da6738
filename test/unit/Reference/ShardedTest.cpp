#include "lib/Reference/Sharded.h"
#include "lib/Reference/Numerics/DataMovement.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace mlir::st::ref {
namespace {

class ShardedTest : public ::testing::Test {
protected:
  ShardedTest() {
    context.loadDialect<StDialect>();
    module = parseSourceString<ModuleOp>("st.mesh @mesh <[\"a\"=2, \"b\"=3], micro=2>", &context);
    mesh = *module->getOps<MeshOp>().begin();
  }

  ShardingAttr parseSharding(StringRef text) {
    return cast<ShardingAttr>(parseAttribute(text, &context));
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  MeshOp mesh;
};

TEST_F(ShardedTest, RanksAreRowMajorWithMicroFirst) {
  RankGrid devices = RankGrid::ofDevices(mesh), all = RankGrid::ofDevicesAndMicroBatches(mesh);
  EXPECT_EQ(devices.getNumRanks(), 6);
  EXPECT_FALSE(devices.hasAxis("micro"));
  EXPECT_EQ(all.getNumRanks(), 12);
  // Rank 10 = micro 1, a 1, b 1.
  EXPECT_EQ(all.getCoordinate(10, "micro"), 1);
  EXPECT_EQ(all.getCoordinate(10, "a"), 1);
  EXPECT_EQ(all.getCoordinate(10, "b"), 1);
  EXPECT_EQ(all.getPosition(10, {"b", "micro"}), 3);
}

TEST_F(ShardedTest, GroupsAreOrderedByPosition) {
  RankGrid devices = RankGrid::ofDevices(mesh);
  EXPECT_EQ(devices.getGroups({"a"}), (SmallVector<SmallVector<int64_t>>{{0, 3}, {1, 4}, {2, 5}}));
  EXPECT_EQ(devices.getGroups({"b", "a"}), (SmallVector<SmallVector<int64_t>>{{0, 3, 1, 4, 2, 5}}));
  EXPECT_EQ(devices.getGroups({}).size(), 6u);
}

TEST_F(ShardedTest, BlocksAreSplitEach) {
  RankGrid grid = RankGrid::ofDevices(mesh);
  Tensor global = iota(ElementType::I32, {12}, 0);
  RankValues pieces;
  ASSERT_TRUE(succeeded(
      shard(global, parseSharding("#st.sharding<@mesh, [{2, \"b\"}]>"), grid, mesh, pieces)));
  // Rank 1 has the second third of both halves of 2 x 3 x 2.
  EXPECT_EQ(SmallVector<int32_t>(pieces[1].data<int32_t>(), pieces[1].data<int32_t>() + 4),
            (SmallVector<int32_t>{2, 3, 8, 9}));
}

TEST_F(ShardedTest, ShardAndBack) {
  RankGrid grid = RankGrid::ofDevicesAndMicroBatches(mesh);
  Tensor global = iota(ElementType::I32, {12 * 4}, 0).reshaped({12, 4});
  for (StringRef text :
       {"#st.sharding<@mesh, [{}, {}]>", "#st.sharding<@mesh, [{\"micro\", \"b\"}, {}]>",
        "#st.sharding<@mesh, [{\"b\"}, {\"a\", \"micro\"}]>",
        "#st.sharding<@mesh, [{\"a\", \"b\", \"micro\"}, {}]>",
        "#st.sharding<@mesh, [{2, \"b\"}, {2, \"a\"}]>",
        "#st.sharding<@mesh, [{\"a\", 3, \"micro\"}, {}]>"}) {
    ShardingAttr sharding = parseSharding(text);
    RankValues pieces;
    Tensor back;
    ASSERT_TRUE(succeeded(shard(global, sharding, grid, mesh, pieces))) << text.str();
    ASSERT_TRUE(succeeded(unshard(pieces, sharding, grid, mesh, "x", back))) << text.str();
    EXPECT_TRUE(back.bitwiseEquals(global)) << text.str();
  }
}

TEST_F(ShardedTest, ReplicasShareTheirPiece) {
  RankGrid grid = RankGrid::ofDevices(mesh);
  Tensor global = iota(ElementType::I32, {6}, 0);
  RankValues pieces;
  ASSERT_TRUE(succeeded(
      shard(global, parseSharding("#st.sharding<@mesh, [{\"b\"}]>"), grid, mesh, pieces)));
  EXPECT_TRUE(pieces[0].isSameAs(pieces[3]));
  EXPECT_FALSE(pieces[0].isSameAs(pieces[1]));
  EXPECT_EQ(pieces[2].data<int32_t>()[0], 4);
}

TEST_F(ShardedTest, IndivisibleDimensionsAreErrors) {
  std::string message;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) { message = d.str(); });
  RankValues pieces;
  EXPECT_TRUE(
      failed(shard(iota(ElementType::I32, {4}, 0), parseSharding("#st.sharding<@mesh, [{\"b\"}]>"),
                   RankGrid::ofDevices(mesh), mesh, pieces)));
  EXPECT_NE(message.find("dimension 0 of size 4 does not divide into 3 parts"), std::string::npos)
      << message;
}

} // namespace
} // namespace mlir::st::ref
