#include "lib/Runtime/Data/Tokenizer.h"
#include "lib/Runtime/Data/Unicode.h"

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/Support/Text.h"

#include <gtest/gtest.h>

namespace st {
namespace {

// Pieces are compared by name, so that the tests read.
class WordPieceTest : public testing::Test {
protected:
  static constexpr char kVocabulary[] =
      "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nun\n##aff\n##able\ncafe\n,\n!\n[\n]\nsep\n中\n文\n"
      "a\n##b\n##c\n##bc\nresume\n";

  std::string encode(absl::string_view text, absl::string_view vocabulary = kVocabulary,
                     const std::string &config = "") {
    auto tokenizer = createWordPieceTokenizer(vocabulary, config, 100);
    if (!tokenizer.ok())
      return tokenizer.status().ToString();
    std::vector<std::string> pieces = absl::StrSplit(vocabulary, '\n');
    std::vector<Token> tokens;
    (*tokenizer)->encode(text, tokens);
    return absl::StrJoin(
        tokens, " ", [&](std::string *out, const Token &token) { out->append(pieces[token.id]); });
  }
};

TEST_F(WordPieceTest, TakesTheLongestPieces) {
  EXPECT_EQ(encode("The unaffable"), "the un ##aff ##able");
  EXPECT_EQ(encode("abc"), "a ##bc");
  EXPECT_EQ(encode("abcx the"), "[UNK] the");
  EXPECT_EQ(encode(std::string(101, 'a')), "[UNK]");
}

TEST_F(WordPieceTest, SplitsAsBertDoes) {
  EXPECT_EQ(encode("the,the!  "), "the , the !");
  EXPECT_EQ(encode("[SEP]"), "[ sep ]");
  EXPECT_EQ(encode("中文 the中"), "中 文 the 中");
  EXPECT_EQ(encode("the\xC2\xA0the\tthe\nthe"), "the the the the");
  EXPECT_EQ(encode(absl::string_view("t\0h\xE2\x80\x8B"
                                     "e",
                                     7)),
            "the");
  EXPECT_EQ(encode("th\xFF"
                   "e"),
            "the");
}

TEST_F(WordPieceTest, UncasedLosesAccents) {
  EXPECT_EQ(encode("CAFÉ Re\xCC\x81sume\xCC\x81"), "cafe resume");
  EXPECT_EQ(encode("THE", kVocabulary, R"({"do_lower_case": false})"), "[UNK]");
  std::string cased = std::string(kVocabulary) + "The\n";
  EXPECT_EQ(encode("The the CAFE", cased), "The the [UNK]");
  EXPECT_EQ(encode("THE", cased, R"({"do_lower_case": true})"), "the");
}

TEST_F(WordPieceTest, TokensKnowTheirBytes) {
  auto tokenizer = *createWordPieceTokenizer(kVocabulary, "", 100);
  std::vector<Token> tokens;
  tokenizer->encode(" Café,unaffable", tokens);
  ASSERT_EQ(tokens.size(), 5u);
  EXPECT_EQ(tokens[0].begin, 1u);
  EXPECT_EQ(tokens[0].end, 6u);
  EXPECT_EQ(tokens[1].begin, 6u);
  EXPECT_EQ(tokens[3].begin, 9u);
  EXPECT_EQ(tokens[3].end, 12u);
}

TEST_F(WordPieceTest, BadVocabularies) {
  EXPECT_EQ(createWordPieceTokenizer("[PAD]\n[UNK]\n[CLS]\n[SEP]\n", "", 10).status().message(),
            "the model's vocab.txt: no piece [MASK], which BERT's tokenizer needs");
  EXPECT_EQ(createWordPieceTokenizer(kVocabulary, "", 10).status().message(),
            "the model's vocab.txt: 22 pieces, the model has 10 token ids");
  EXPECT_FALSE(createWordPieceTokenizer(kVocabulary, "{", 100).ok());
}

TEST(UnicodeTest, DecodesAndRefuses) {
  for (char32_t code : {U'a', U'é', U'中', U'😀', char32_t{0x10FFFF}}) {
    std::string text;
    appendUtf8(code, text);
    size_t position = 0;
    EXPECT_EQ(decodeUtf8(text, position), code);
    EXPECT_EQ(position, text.size());
  }
  // Overlong, surrogate, too large, cut short, a continuation alone.
  for (absl::string_view bad :
       {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE4\xB8", "\x80"}) {
    size_t position = 0;
    EXPECT_EQ(decodeUtf8(bad, position), char32_t{0xFFFD});
    EXPECT_EQ(position, 1u);
  }
}

TEST(UnicodeTest, Folds) {
  auto fold = [](char32_t code) {
    std::u32string out;
    appendFolded(code, out);
    return out;
  };
  EXPECT_EQ(fold(U'Ä'), U"a");
  EXPECT_EQ(fold(U'ß'), U"ß");
  EXPECT_EQ(fold(U'İ'), U"i");
  EXPECT_EQ(fold(U'한'), U"\u1112\u1161\u11AB");
  EXPECT_EQ(fold(char32_t{0x301}), U"");
}

} // namespace
} // namespace st
