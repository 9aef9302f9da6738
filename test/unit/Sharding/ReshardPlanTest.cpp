#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Sharding/ReshardPlans.h"
#include "dialects/StableHLO/StableHLODialect.h"
#include "lib/Reference/Interpreter.h"
#include "lib/Reference/Numerics/DataMovement.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "passes/Partition/Passes.h"
#include "test/unit/Sharding/EveryPath.h"

#include <gtest/gtest.h>
#include <random>

namespace mlir::st {
namespace {

using Kind = ReshardStep::Kind;

class ReshardPlanTest : public ::testing::Test {
protected:
  ReshardPlanTest() {
    context.loadDialect<StDialect, func::FuncDialect, stablehlo::StableHLODialect>();
  }

  /// The mesh and the f32 tensor type of a test's plans. `links`, if given: bytes per microsecond
  /// along each axis.
  void use(StringRef mesh, ArrayRef<int64_t> shape, StringRef links = "") {
    std::string speed;
    if (!links.empty())
      speed = ("attributes {st.speed = #st.speed<flops_per_ns = 1, flops16_per_ns = 1, "
               "vector_bytes_per_ns = 1, bytes_per_ns = 1, kernel_ns = 0, link_bytes_per_us = [" +
               links + "], link_ns = 0>}")
                  .str();
    module = parseSourceString<ModuleOp>(
        ("module " + Twine(speed) + " { st.mesh @mesh <" + mesh + "}").str(), &context);
    axes = std::make_unique<MeshAxes>(*module->getOps<MeshOp>().begin());
    type = RankedTensorType::get(shape, Float32Type::get(&context));
  }

  TensorSharding read(StringRef text) {
    std::string whole = ("#st.sharding<@mesh, " + text + ">").str();
    return axes->read(cast<ShardingAttr>(parseAttribute(whole, &context)));
  }

  SmallVector<Kind> kinds(StringRef from, StringRef to) {
    SmallVector<Kind> result;
    for (const ReshardStep &step : *planReshard(read(from), read(to), type, *axes))
      result.push_back(step.kind);
    return result;
  }

  void expectCheapest(const EveryPath &every, size_t from, size_t to) {
    const ReshardPlan *plan = planReshard(every.shardings[from], every.shardings[to], type, *axes);
    ASSERT_TRUE(plan);
    double least = every.cost(from, to), cost = reshardCost(*plan, 4, *axes);
    std::string text;
    llvm::raw_string_ostream(text)
        << axes->write(every.shardings[from]) << " to " << axes->write(every.shardings[to]);
    EXPECT_NEAR(cost, least, 1e-6 * (1 + least)) << text;
  }

  void addFunction(StringRef name, const TensorSharding &from, const TensorSharding &to);
  void expectIdentities();

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::unique_ptr<MeshAxes> axes;
  RankedTensorType type;
};

//===----------------------------------------------------------------------===//
// Single plans
//===----------------------------------------------------------------------===//

using Kinds = SmallVector<Kind>;

TEST_F(ReshardPlanTest, OneStepWhereOneDoes) {
  use("[\"x\"=2, \"y\"=4], micro=2>", {64, 64});
  EXPECT_EQ(kinds("[{\"x\", \"y\"}, {}]", "[{\"y\", \"x\"}, {}]"), Kinds{Kind::CollectivePermute});
  EXPECT_EQ(kinds("[{\"x\"}, {}]", "[{}, {\"x\"}]"), Kinds{Kind::AllToAll});
  EXPECT_EQ(kinds("[{\"x\", \"y\"}, {}]", "[{}, {\"x\", \"y\"}]"), Kinds{Kind::AllToAll});
  EXPECT_EQ(kinds("[{\"x\"}, {}]", "[{2, \"x\"}, {}]"), Kinds{Kind::AllToAll});
  EXPECT_EQ(kinds("[{}, {}], unreduced = sum [\"x\"]", "[{\"x\"}, {}]"),
            Kinds{Kind::ReduceScatter});
  EXPECT_EQ(kinds("[{}, {}], unreduced = sum [\"x\", \"y\"]", "[{\"y\", \"x\"}, {}]"),
            Kinds{Kind::ReduceScatter});
  EXPECT_EQ(kinds("[{}, {}], unreduced = sum [\"x\", \"y\"]", "[{}, {}]"), Kinds{Kind::AllReduce});
  EXPECT_EQ(kinds("[{\"x\", \"y\"}, {}]", "[{}, {}]"), Kinds{Kind::AllGather});
  EXPECT_EQ(kinds("[{}, {}], unreduced = sum [\"micro\", \"x\"]", "[{\"x\"}, {}]"),
            (Kinds{Kind::Accumulate, Kind::ReduceScatter}));
  EXPECT_EQ(kinds("[{}, {}], unreduced = sum [\"x\", \"micro\"]", "[{\"x\"}, {}]"),
            (Kinds{Kind::ReduceScatter, Kind::Accumulate}));
}

TEST_F(ReshardPlanTest, AxesOfOneSizeChangePlacesAtOnce) {
  use("[\"x\"=4, \"y\"=4], micro=1>", {64, 64});
  EXPECT_EQ(kinds("[{\"x\"}, {\"y\"}]", "[{\"y\"}, {\"x\"}]"), Kinds{Kind::CollectivePermute});
  EXPECT_EQ(kinds("[{\"x\"}, {}]", "[{\"y\"}, {}]"), Kinds{Kind::CollectivePermute});
}

TEST_F(ReshardPlanTest, ValuesThatVaryAlongMicroAreNotGathered) {
  use("[\"x\"=2], micro=2>", {8});
  EXPECT_FALSE(planReshard(read("[{\"micro\"}]"), read("[{}]"), type, *axes));
  EXPECT_FALSE(planReshard(read("[{\"micro\"}]"), read("[{2, \"micro\"}]"), type, *axes));
  EXPECT_TRUE(planReshard(read("[{\"micro\", \"x\"}]"), read("[{\"micro\"}]"), type, *axes));
}

TEST_F(ReshardPlanTest, TermsAreMade) {
  use("[\"x\"=2], micro=1>", {8});
  // Copies do not change a maximum.
  const ReshardPlan *plan =
      planReshard(read("[{}]"), read("[{}], unreduced = max [\"x\"]"), type, *axes);
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->size() == 1 && plan->front().keepsCopies);
  EXPECT_EQ(kinds("[{}], unreduced = max [\"x\"]", "[{}], unreduced = sum [\"x\"]"),
            (Kinds{Kind::AllReduce, Kind::Mask}));
}

TEST_F(ReshardPlanTest, SlowLinksAreAvoided) {
  use("[\"x\"=2, \"y\"=2], micro=1>", {256, 256});
  StringRef from = "[{\"x\"}, {}], unreduced = sum [\"y\"]", to = "[{}, {}]";
  EXPECT_EQ(kinds(from, to), (Kinds{Kind::AllReduce, Kind::AllGather}));
  use("[\"x\"=2, \"y\"=2], micro=1>", {256, 256}, "8, 1");
  // A gather over the fast axis last sends a quarter less over the slow axis.
  const ReshardPlan *plan = planReshard(read(from), read(to), type, *axes);
  EXPECT_EQ(plan->front().axes[0], 2);
  EXPECT_EQ(bytesSent(plan->front(), 4, *axes), 256 * 256 * 2);
}

TEST_F(ReshardPlanTest, SearchesAreFewAndSmall) {
  use("[\"a\"=2, \"b\"=2, \"c\"=2, \"d\"=2], micro=2>", {64, 64, 64, 64});
  StringRef from = "[{\"a\", \"b\"}, {\"c\"}, {\"d\"}, {}]",
            to = "[{}, {\"d\", \"a\"}, {}, {\"c\", \"b\"}]";
  const ReshardPlan *plan = planReshard(read(from), read(to), type, *axes);
  EXPECT_EQ(plan, planReshard(read(from), read(to), type, *axes));
  EXPECT_EQ(axes->plans().numNarrowed, 0);
}

//===----------------------------------------------------------------------===//
// Against every path
//===----------------------------------------------------------------------===//

TEST_F(ReshardPlanTest, CheapestOfAllOverTwoAxes) {
  // In a small tensor the number of collectives counts, in a large one the bytes.
  for (StringRef mesh : {"[\"x\"=2, \"y\"=2], micro=1>", "[\"x\"=2, \"y\"=4], micro=1>"}) {
    use(mesh, {8, 8});
    EveryPath every({8, 8}, *axes, 4);
    for (size_t from = 0; from < every.shardings.size(); ++from)
      for (size_t to = 0; to < every.shardings.size(); ++to)
        expectCheapest(every, from, to);
    use(mesh, {2048, 8});
    EveryPath large({2048, 8}, *axes, 4);
    for (size_t from = 0; from < large.shardings.size(); from += 11)
      for (size_t to = 0; to < large.shardings.size(); to += 13)
        expectCheapest(large, from, to);
  }
}

TEST_F(ReshardPlanTest, CheapestOfAllOverThreeAxes) {
  std::mt19937 random(1);
  use("[\"x\"=2, \"y\"=2, \"z\"=2], micro=1>", {8, 4, 2});
  EveryPath small({8, 4, 2}, *axes, 4);
  for (int i = 0; i < 150; ++i)
    expectCheapest(small, random() % small.shardings.size(), random() % small.shardings.size());
  use("[\"x\"=4, \"y\"=2, \"z\"=2], micro=1>", {64, 16});
  EveryPath large({64, 16}, *axes, 4);
  for (int i = 0; i < 30; ++i)
    expectCheapest(large, random() % large.shardings.size(), random() % large.shardings.size());
}

//===----------------------------------------------------------------------===//
// On virtual ranks
//===----------------------------------------------------------------------===//

/// Returns true if each device holds one block of each dimension, as for arguments and results.
static bool isContiguous(const TensorSharding &sharding) {
  return llvm::none_of(sharding.dims, [](const Splits &splits) {
    return llvm::any_of(splits, [](const Split &split) { return split.axis == kUnsplit; });
  });
}

/// Adds a function that takes its argument in one sharding and returns it in another; the argument
/// or result is whole if a function's boundary does not allow the sharding.
void ReshardPlanTest::addFunction(StringRef name, const TensorSharding &from,
                                  const TensorSharding &to) {
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  Location loc = builder.getUnknownLoc();
  auto function = func::FuncOp::create(builder, loc, name, builder.getFunctionType({type}, {type}));
  builder.setInsertionPointToStart(function.addEntryBlock());
  TensorSharding whole(type.getRank());
  TensorSharding given = from.unreduced.empty() && isContiguous(from) ? from : whole;
  TensorSharding left = isContiguous(to) && !to.isUnreducedOver(kMicroAxis) ? to : whole;
  Value value = function.getArgument(0);
  TensorSharding now = given;
  for (const TensorSharding &next : {from, to, left}) {
    if (next == now)
      continue;
    auto reshard = ReshardOp::create(builder, loc, type, value, axes->write(next));
    reshard->setDiscardableAttr(kShardingAttr, axes->write(next));
    value = reshard;
    now = next;
  }
  func::ReturnOp::create(builder, loc, value);
  function.setArgAttr(0, kShardingAttr, axes->write(given));
  function.setResultAttr(0, kShardingAttr, axes->write(left));
}

/// Checks that every function of the module returns its argument.
void ReshardPlanTest::expectIdentities() {
  PassManager manager(&context);
  manager.addPass(createGlobalToLocal());
  ASSERT_TRUE(succeeded(manager.run(*module)));
  ref::Tensor values = ref::iota(ref::ElementType::F32, {type.getNumElements()}, 0);
  values = values.reshaped(type.getShape());
  for (auto function : module->getOps<func::FuncOp>()) {
    auto results = ref::interpret(*module, function.getName(), {{"arg0", values}});
    ASSERT_TRUE(succeeded(results));
    EXPECT_TRUE(results->at("result0").bitwiseEquals(values)) << function.getName().str();
  }
}

TEST_F(ReshardPlanTest, EveryPlanOverTwoAxesGivesTheRightShards) {
  for (StringRef mesh : {"[\"x\"=2, \"y\"=2], micro=1>", "[\"x\"=2, \"y\"=4], micro=1>"}) {
    use(mesh, {8, 4});
    EveryPath every({8, 4}, *axes, 4);
    for (auto [i, from] : llvm::enumerate(every.shardings))
      for (auto [j, to] : llvm::enumerate(every.shardings))
        addFunction("f" + std::to_string(i) + "_" + std::to_string(j), from, to);
    expectIdentities();
  }
}

TEST_F(ReshardPlanTest, PlansOverAxesThatDoNotDivideEachOther) {
  use("[\"x\"=2, \"y\"=3], micro=1>", {36, 6});
  SmallVector<TensorSharding> shardings;
  for (StringRef text :
       {"[{}, {}]", "[{\"x\"}, {}]", "[{\"y\"}, {}]", "[{2, \"x\"}, {}]", "[{3, \"x\"}, {}]",
        "[{2, \"y\"}, {}]", "[{6, \"y\"}, {}]", "[{\"x\", \"y\"}, {}]", "[{\"y\", \"x\"}, {}]",
        "[{\"y\", 3, \"x\"}, {}]", "[{\"x\", 2, \"y\"}, {}]", "[{3, \"x\", \"y\"}, {}]",
        "[{\"x\"}, {\"y\"}]", "[{3, \"x\"}, {2, \"y\"}]", "[{}, {\"y\", \"x\"}]",
        "[{}, {3, \"x\"}], unreduced = sum [\"y\"]", "[{\"y\"}, {}], unreduced = sum [\"x\"]",
        "[{}, {}], unreduced = sum [\"x\", \"y\"]"})
    shardings.push_back(read(text));
  for (auto [i, from] : llvm::enumerate(shardings))
    for (auto [j, to] : llvm::enumerate(shardings))
      addFunction("f" + std::to_string(i) + "_" + std::to_string(j), from, to);
  expectIdentities();
}

TEST_F(ReshardPlanTest, PlansOverThreeAxesGiveTheRightShards) {
  std::mt19937 random(2);
  for (StringRef mesh :
       {"[\"x\"=2, \"y\"=2, \"z\"=2], micro=2>", "[\"x\"=4, \"y\"=2, \"z\"=2], micro=2>"}) {
    use(mesh, {8, 4, 4});
    EveryPath every({8, 4, 4}, *axes, 4);
    for (int i = 0; i < 400; ++i) {
      TensorSharding from = every.shardings[random() % every.shardings.size()];
      TensorSharding to = every.shardings[random() % every.shardings.size()];
      if (i % 2 == 0) {
        // Listed first, or last.
        if (i % 4 == 0)
          from.addUnreduced(kMicroAxis);
        else
          from.unreduced.push_back(kMicroAxis);
        if (i % 8 == 0)
          to.addUnreduced(kMicroAxis);
      }
      addFunction("f" + std::to_string(i), from, to);
    }
    expectIdentities();
  }
}

} // namespace
} // namespace mlir::st
