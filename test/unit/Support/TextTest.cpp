#include "lib/Support/Text.h"

#include "absl/strings/str_cat.h"

#include <gtest/gtest.h>

namespace st {
namespace {

TEST(TextTest, KnowsUtf8) {
  for (const char *text : {"", "a", "\xC3\xA9", "\xE4\xB8\xAD", "\xF0\x9F\x98\x80", "\xEF\xBF\xBD"})
    EXPECT_TRUE(isUtf8(text)) << text;
  // Cut, overlong, a surrogate, past U+10FFFF, a lone continuation.
  for (const char *text :
       {"\xC3", "\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\x80", "a\xFF"})
    EXPECT_FALSE(isUtf8(text)) << text;
}

TEST(TextTest, EveryCodePointReadsBack) {
  for (char32_t code = 0; code <= 0x10FFFF; code += code < 0x1000 ? 1 : 97) {
    if (code >= 0xD800 && code < 0xE000)
      continue;
    std::string text;
    appendUtf8(code, text);
    size_t position = 0;
    EXPECT_EQ(decodeUtf8(text, position), code);
    EXPECT_EQ(position, text.size());
  }
}

TEST(TextTest, QuotedStringsReadBack) {
  const std::string all = absl::StrCat("\"\\/\b\f\n\r\t\x01 é😀", absl::string_view("\0", 1));
  const std::string quoted = absl::StrCat("x", quoteJson(all), "y");
  std::string found;
  size_t position = 1;
  EXPECT_EQ(parseJsonString(quoted, position, found), "");
  EXPECT_EQ(found, all);
  EXPECT_EQ(quoted.substr(position), "y");
}

TEST(TextTest, MalformedStringsAreNamed) {
  auto wrong = [](absl::string_view text) {
    std::string out;
    size_t position = 0;
    const std::string what(parseJsonString(text, position, out));
    EXPECT_LE(position, text.size());
    return what;
  };
  EXPECT_EQ(wrong("\"abc"), "unterminated string");
  EXPECT_EQ(wrong("\"abc\\"), "unknown escape");
  EXPECT_EQ(wrong("\"\\u12"), "expected four hexadecimal digits");
  EXPECT_EQ(wrong("\"\\ud83d\\u0041\""), "unpaired surrogate");
  EXPECT_EQ(wrong("\"\n\""), "control character in a string");
  EXPECT_EQ(wrong("\"\xFF\""), "string is not UTF-8");
}

TEST(TextTest, MessagesAreOneLine) {
  EXPECT_EQ(escapeControls("a\nb\x1B[31m\x7F é \xFF"), "a\\nb\\x1b[31m\\x7f é \\xff");
  EXPECT_EQ(quoteForMessage("a\nb'"), "'a\\nb\\''");
  EXPECT_EQ(quoteForMessage(std::string(300, 'x')).size(), 2 + 200 + std::string("…").size());
}

TEST(TextTest, FiguresHaveFourDigits) {
  for (auto [value, text] : {std::pair(48.135372145, "48.14"),
                             {0.0, "0"},
                             {-2.5, "-2.5"},
                             {1.0, "1"},
                             {9.9996, "10"},
                             {999.96, "1000"},
                             {12345.6, "12350"},
                             {0.0012344, "0.001234"},
                             {1e-7, "0.0000001"},
                             {1.23456e-12, "1.235e-12"},
                             {453123456.0, "453100000"}})
    EXPECT_EQ(printFigure(value), text);
  EXPECT_EQ(printFigure(std::numeric_limits<double>::infinity()), "inf");
}

TEST(TextTest, FiguresOfAColumnHaveTheSameDecimals) {
  for (auto [value, text] : {std::pair(0.0, "0.0"),
                             {0.04, "0.0"},
                             {386.46, "386.5"},
                             {999.96, "1000"},
                             {1234.5, "1234"},
                             {77312.4, "77310"},
                             {-12.25, "-12.2"}})
    EXPECT_EQ(printFigure(value, 1), text);
  EXPECT_EQ(printFigure(8.21, 3), "8.210");
  EXPECT_EQ(printFigure(12.3456, 3), "12.35");
}

} // namespace
} // namespace st
