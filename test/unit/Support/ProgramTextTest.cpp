#include "lib/Support/ProgramText.h"

#include "gtest/gtest.h"

namespace st {
namespace {

std::string repeat(std::string_view text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i)
    result += text;
  return result;
}

bool isDeep(const std::string &text) { return findDeepNesting(text).has_value(); }

TEST(ProgramTextTest, EveryKindOfBracketCounts) {
  for (std::string_view opening :
       {"module {\n", "tuple<", "loc(fused[", "{a = [", "((", "{\"a\" = "}) {
    EXPECT_TRUE(isDeep(repeat(opening, kMaxProgramDepth + 1))) << opening;
    EXPECT_FALSE(isDeep(repeat(opening, kMaxProgramDepth / 2))) << opening;
  }
  EXPECT_EQ(findDeepNesting("a\n" + repeat("(", 300))->offset, 2u + kMaxProgramDepth);
}

TEST(ProgramTextTest, StringsCommentsAndArrowsDoNot) {
  EXPECT_FALSE(isDeep("\"" + repeat("(", 1000) + "\""));
  EXPECT_FALSE(isDeep("\"\\\"" + repeat("(", 1000) + "\""));
  EXPECT_FALSE(isDeep("// " + repeat("(", 1000) + "\n"));
  EXPECT_FALSE(isDeep(repeat("func.func private @f(tensor<2xf32>) -> tensor<2xf32>\n", 1000)));
  EXPECT_FALSE(isDeep(repeat("{ a < b }\n", 1000)));
  EXPECT_FALSE(isDeep(repeat("affine_set<(d0) : (d0 >= 0, d0 <= 3)>\n", 1000)));
  // An unterminated string ends with its line and hides no later text.
  EXPECT_TRUE(isDeep("\"\n" + repeat("(", 1000)));
}

TEST(ProgramTextTest, AliasesBringTheirDepth) {
  std::string chain = "#a0 = unit\n", shallow = chain;
  for (int i = 1; i <= kMaxProgramDepth + 1; ++i) {
    chain += "#a" + std::to_string(i) + " = [#a" + std::to_string(i - 1) + "]\n";
    shallow += "#a" + std::to_string(i) + " = [#a0]\n";
  }
  EXPECT_TRUE(isDeep(chain));
  EXPECT_FALSE(isDeep(shallow));
  std::string types = "!a0 = i32\n";
  for (int i = 1; i <= kMaxProgramDepth + 1; ++i)
    types +=
        "!a" + std::to_string(i) + " // comment\n = ()\n ->\n (!a" + std::to_string(i - 1) + ")\n";
  EXPECT_TRUE(isDeep(types));
}

TEST(ProgramTextTest, AliasesMayNotMultiply) {
  std::string text = "!a0 = i32\n";
  for (int i = 1; i <= 30; ++i) {
    std::string use = "!a" + std::to_string(i - 1);
    text += "!a" + std::to_string(i) + " = tuple<" + use + ", " + use + ">\n";
  }
  EXPECT_TRUE(isDeep(text));
  // Uses by ops of a program do not count as uses by an alias.
  std::string program = "#loc = loc(unknown)\n#loc1 = loc(\"x\"(#loc))\nmodule {\n";
  program += repeat("%0 = foo.bar loc(#loc1)\n", (1 << 20) / 2 + 10) + "}\n";
  EXPECT_FALSE(isDeep(program));
}

TEST(ProgramTextTest, ExpressionsAreShort) {
  for (std::string_view part : {"-", "d0 + ", "d0 * ", "d0 mod "})
    EXPECT_TRUE(isDeep("affine_map<(d0) -> (" + repeat(part, kMaxProgramOperators + 1))) << part;
  EXPECT_FALSE(isDeep("dense<[" + repeat("-1.0e-05, ", 3000) + "1]>"));
  EXPECT_FALSE(isDeep("{" + repeat("%0 = arith.constant -1 : i32\n", 3000) + "}"));
}

} // namespace
} // namespace st
