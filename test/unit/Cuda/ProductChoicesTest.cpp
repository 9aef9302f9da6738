#include "backends/cuda/runtime/driver/ProductChoices.h"

#include "gtest/gtest.h"

#include <cstdlib>

namespace st::cuda {
namespace {

ProductChoice choiceOf(uint64_t algorithm, bool isSeparate = false) {
  ProductChoice choice;
  choice.algorithm.algorithm[0] = algorithm;
  choice.algorithm.workspaceBytes = 100 * algorithm;
  choice.isSeparate = isSeparate;
  return choice;
}

class ProductChoicesTest : public testing::Test {
protected:
  void SetUp() override { ::setenv("ST_CACHE_DIR", testing::TempDir().c_str(), 1); }
  void TearDown() override { ::unsetenv("ST_CACHE_DIR"); }
};

TEST_F(ProductChoicesTest, AreReadAsTheyWereSaved) {
  ProductChoices first("a GPU", 7);
  first.add("fused", choiceOf(1));
  first.add("apart", choiceOf(2, true));
  first.save();
  ProductChoices second("a GPU", 7), other("another GPU", 7);
  EXPECT_TRUE(second.find("fused") == choiceOf(1));
  EXPECT_TRUE(second.find("apart") == choiceOf(2, true));
  EXPECT_FALSE(second.find("none"));
  EXPECT_FALSE(other.find("fused"));
}

TEST_F(ProductChoicesTest, ProcessesTakeThoseOfTheFirst) {
  ProductChoices first("GPU of processes", 7), second("GPU of processes", 7);
  first.add("both", choiceOf(1));
  first.add("same", choiceOf(3));
  second.add("both", choiceOf(2));
  second.add("same", choiceOf(3));
  second.add("own", choiceOf(4));
  EXPECT_TRUE(second.adopt(first.used()));
  EXPECT_TRUE(second.find("both") == choiceOf(1));
  EXPECT_FALSE(second.adopt(first.used())) << "nothing is another one any more";
  // Choices of another process are recorded, but do not replace used ones.
  EXPECT_FALSE(first.adopt(second.used()));
  EXPECT_TRUE(first.find("own") == choiceOf(4));
  EXPECT_TRUE(first.find("both") == choiceOf(1));
}

TEST_F(ProductChoicesTest, ChoicesOfOtherGpusDoNotChange) {
  ProductChoices one("one GPU", 7), other("other GPU", 7), newer("one GPU", 8);
  one.add("x", choiceOf(1));
  other.add("x", choiceOf(2));
  newer.add("x", choiceOf(3));
  EXPECT_FALSE(other.adopt(one.used()));
  EXPECT_FALSE(newer.adopt(one.used()));
  EXPECT_FALSE(one.adopt("no choices"));
  EXPECT_TRUE(other.find("x") == choiceOf(2));
  EXPECT_TRUE(newer.find("x") == choiceOf(3));
}

TEST_F(ProductChoicesTest, AreThoseOfAllGpusOfAKindInAProcess) {
  std::shared_ptr<ProductChoices> first = ProductChoices::get("shared GPU", 7);
  first->add("x", choiceOf(5));
  EXPECT_TRUE(ProductChoices::get("shared GPU", 7)->find("x") == choiceOf(5));
}

} // namespace
} // namespace st::cuda
