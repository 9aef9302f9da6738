#include "lib/Runtime/Json.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <gtest/gtest.h>
#include <limits>

namespace st {
namespace {

std::string errorOf(absl::string_view text) {
  return std::string(parseJsonObject(text, "file").status().message());
}

TEST(JsonTest, RefusesWhatIsNoJson) {
  for (const char *text : {"",
                           "[]",
                           "{",
                           "}",
                           "{\"a\"}",
                           "{\"a\": }",
                           "{\"a\": 1,}",
                           "{'a': 1}",
                           "{a: 1}",
                           "{\"a\": 01}",
                           "{\"a\": +1}",
                           "{\"a\": 1.}",
                           "{\"a\": .5}",
                           "{\"a\": 1e}",
                           "{\"a\": -}",
                           "{\"a\": NaN}",
                           "{\"a\": 1e400}",
                           "{\"a\": \"\n\"}",
                           "{\"a\": \"\\x\"}",
                           "{\"a\": \"\\ud800\"}",
                           "{\"a\": \"\xFF\"}",
                           "{\"a\": [1}]}",
                           "{} {}",
                           "{} x",
                           "{\"a\" 1}",
                           "{\"a\": 1 \"b\": 2}",
                           "{,}",
                           "{\"a\": [1,,2]}"}) {
    EXPECT_TRUE(absl::StartsWith(errorOf(text), "file: malformed JSON: ")) << text;
    EXPECT_FALSE(absl::StrContains(errorOf(text), "\n")) << text;
  }
  EXPECT_TRUE(absl::StrContains(errorOf(std::string("{\"a\": \0}", 8)), "unexpected character"));
}

TEST(JsonTest, RefusesRepeatedKeysOfOneObject) {
  EXPECT_EQ(errorOf(R"({"a": 1, "b": {"a": 2, "\u0061": 3}})"),
            "file: malformed JSON: key 'b.a' appears twice, again at byte 23");
  EXPECT_EQ(errorOf(R"({"x\n": 1, "x\n": 2})"),
            "file: malformed JSON: key 'x\\n' appears twice, again at byte 11");
  EXPECT_TRUE(parseJsonObject(R"({"a": {"a": ["a", "a"]}, "b": [{"a": 1}, {"a": 2}]})", "").ok());
}

TEST(JsonTest, BoundsTheDepth) {
  auto nested = [](int depth) {
    return absl::StrCat("{\"a\": ", std::string(depth, '['), std::string(depth, ']'), "}");
  };
  EXPECT_TRUE(parseJsonObject(nested(29), "").ok());
  EXPECT_TRUE(absl::StrContains(errorOf(nested(30)), "nesting deeper than 30"));
  EXPECT_TRUE(absl::StrContains(errorOf(nested(100000)), "nesting deeper than 30"));
}

TEST(JsonTest, SetsOneFieldAndKeepsTheRest) {
  EXPECT_EQ(setJsonField("{ \"a\" : 1e-12 ,\n \"b\": [1, {\"c\": 2}]  }", "b", "7"),
            "{ \"a\" : 1e-12 ,\n \"b\": 7  }");
  EXPECT_EQ(setJsonField("{ \"a\" : 1e-12 ,\n \"b\": {\"a\": 2} }", "a", "\"x\""),
            "{ \"a\" : \"x\" ,\n \"b\": {\"a\": 2} }");
  EXPECT_EQ(setJsonField(" {\"b\": \"}\"}", "a", "[]"), " {\"a\": [], \"b\": \"}\"}");
  EXPECT_EQ(setJsonField("{}", "a", "null"), "{\"a\": null}");
  EXPECT_EQ(setJsonField("{\"\\u0061\": true}", "a", "false"), "{\"\\u0061\": false}");
}

TEST(JsonTest, PrintsTheShortestNumber) {
  EXPECT_EQ(printJsonNumber(1e-12), "1e-12");
  EXPECT_EQ(printJsonNumber(0.1), "0.1");
  EXPECT_EQ(printJsonNumber(2), "2");
  EXPECT_EQ(printJsonNumber(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(printJsonNumber(0.1 + 0.2), "0.30000000000000004");
}

} // namespace
} // namespace st
