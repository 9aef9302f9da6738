#include "lib/Support/JsonKeys.h"

#include "gtest/gtest.h"

namespace st {
namespace {

TEST(JsonKeysTest, FindsTheSecondOfTwoEqualKeys) {
  auto repeated = findRepeatedKey(R"({"a": 1, "b": {"c": 2, "d": [], "c": 3}})");
  ASSERT_TRUE(repeated);
  EXPECT_EQ(repeated->path, "b.c");
  EXPECT_EQ(repeated->offset, 32u);
}

TEST(JsonKeysTest, EscapesAreResolved) {
  EXPECT_EQ(findRepeatedKey(R"({"a": 1, "\u0061": 2})")->path, "a");
  EXPECT_EQ(findRepeatedKey(R"({"q\"": 1, "q\u0022": 2})")->path, "q\"");
  EXPECT_EQ(findRepeatedKey("{\"\xC3\xA9\": 1, \"\\u00e9\": 2}")->path, "\xC3\xA9");
  EXPECT_EQ(findRepeatedKey("{\"\xF0\x9F\x98\x80\": 1, \"\\ud83d\\ude00\": 2}")->path,
            "\xF0\x9F\x98\x80");
}

TEST(JsonKeysTest, ObjectsAreSeparateAndValuesAreNoKeys) {
  EXPECT_FALSE(findRepeatedKey(R"({"a": {"a": "a"}, "b": [{"a": 1}, {"a": 2}], "c": "a"})"));
  EXPECT_FALSE(findRepeatedKey(R"(["a", "a", {"b": ["b", "b"]}])"));
  EXPECT_FALSE(findRepeatedKey(""));
}

TEST(JsonKeysTest, ReadsNoFurtherThanTheText) {
  EXPECT_FALSE(findRepeatedKey("{\"a\\"));
  EXPECT_FALSE(findRepeatedKey("{\"a\": 1, \"\\u00"));
  EXPECT_FALSE(findRepeatedKey("]]}}\"a\""));
}

} // namespace
} // namespace st
