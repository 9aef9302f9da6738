#include "lib/Runtime/Data/Tokenizer.h"
#include "lib/Runtime/Tokenizers/ProgramTokenizer.h"
#include "lib/Runtime/Tokenizers/Text/Unicode.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/Text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace st {
namespace {

// Pieces are compared by name, to keep the tests readable.
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
    EXPECT_TRUE((*tokenizer)->encode(text, tokens).ok());
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
  ASSERT_TRUE(tokenizer->encode(" Café,unaffable", tokens).ok());
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
            "the model's vocab.txt: expected at most 10 pieces, the model's token ids, found 22");
  EXPECT_FALSE(createWordPieceTokenizer(kVocabulary, "{", 100).ok());
}

// A folder with one file of this text.
std::string folderWith(const char *name, absl::string_view text) {
  const std::string folder = absl::StrCat(testing::TempDir(), "/tokenizer-of-a-folder");
  mkdir(folder.c_str(), 0755);
  EXPECT_TRUE(writeFileAtomically(absl::StrCat(folder, "/", name), text).ok());
  return folder;
}

TEST(ProgramTokenizerTest, ComparesVocabularies) {
  proto::Executable program;
  auto check = [&](absl::string_view text) {
    return std::string(
        checkTokenizer(folderWith("vocab.txt", text), program, /*needsAll=*/true).message());
  };
  EXPECT_EQ(check("a\nb\n"), ""); // The program has none.
  program.mutable_model()->set_vocab_txt("a\nb\n");
  EXPECT_EQ(check("a\r\nb"), "");
  EXPECT_THAT(check("a\nc\n"),
              testing::HasSubstr(": line 2 is 'c', in the program's vocabulary 'b'"));
  EXPECT_THAT(check("a\nb\nc\n"), testing::HasSubstr(": 3 lines, the program's vocabulary has 2"));
  EXPECT_TRUE(checkTokenizer("/nonexistent", program, /*needsAll=*/false).ok());
  EXPECT_EQ(checkTokenizer("/nonexistent", program, /*needsAll=*/true).message(),
            "/nonexistent/vocab.txt: missing, but the program has one");
}

TEST(ProgramTokenizerTest, ComparesWhatChangesTokens) {
  proto::Executable program;
  (*program.mutable_model()->mutable_tokenizer_files())["tokenizer.json"] =
      R"({"padding": null, "normalizer": {"type": "NFC"}, "model": {"type": "BPE"}})";
  auto check = [&](absl::string_view text) {
    return std::string(
        checkTokenizer(folderWith("tokenizer.json", text), program, /*needsAll=*/true).message());
  };
  EXPECT_EQ(check(R"({"model": {"type":"BPE"}, "normalizer": {"type": "NFC"}, "padding": 3})"), "");
  EXPECT_THAT(check(R"({"model": {"type": "BPE"}, "normalizer": {"type": "NFD"}})"),
              testing::HasSubstr("its normalizer differs from that of the program's tokenizer"));
  EXPECT_THAT(check("{"), testing::HasSubstr("malformed JSON"));
}

std::string errorOfJson(absl::string_view text) {
  auto tokenizer = createFileTokenizer({{"tokenizer.json", std::string(text)}}, "", 100, "m/");
  EXPECT_FALSE(tokenizer.ok()) << text;
  return std::string(tokenizer.status().message());
}

// Rejects unknown options by name.
TEST(TokenizerFilesTest, RefusesByName) {
  const std::string model =
      R"("model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"})";
  auto with = [&](absl::string_view stage) {
    return errorOfJson(absl::StrCat("{", model, ", ", stage, "}"));
  };
  EXPECT_EQ(with(R"("normalizer": {"type": "Upside"})"),
            "m/tokenizer.json.normalizer: the normalizer 'Upside' is not supported");
  EXPECT_EQ(with(R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC", "x": 1}]})"),
            "m/tokenizer.json.normalizer.normalizers[0]: 'x' is not supported");
  EXPECT_EQ(with(R"("pre_tokenizer": {"type": "UnicodeScripts"})"),
            "m/tokenizer.json.pre_tokenizer: the pre-tokenizer 'UnicodeScripts' is not supported");
  EXPECT_EQ(with(R"("post_processor": {"type": "Other"})"),
            "m/tokenizer.json.post_processor: the post-processor 'Other' is not supported");
  EXPECT_EQ(with(R"("normalizer": {"type": "Replace", "pattern": {"Regex": "(a"}, "content": ""})"),
            "m/tokenizer.json.normalizer.pattern.Regex: the pattern '(a': missing closing "
            "parenthesis at byte 2");
  EXPECT_EQ(with(R"("stages": 1)"), "m/tokenizer.json: 'stages' is not supported");
  EXPECT_EQ(
      with(R"("added_tokens": [{"id": 5, "content": "a"}])"),
      "m/tokenizer.json.added_tokens[0]: 'a' has the id 5, in the model's vocabulary it has 0");
  EXPECT_EQ(with(R"("added_tokens": [{"id": 100, "content": "b"}])"),
            "m/tokenizer.json: 101 token ids, but the model has 100");
  EXPECT_EQ(errorOfJson(R"({"model": {"type": "Sums"}})"),
            "m/tokenizer.json.model: the model 'Sums' is not supported");
  EXPECT_EQ(errorOfJson(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}})"),
            "m/tokenizer.json.model.merges: merge 1 of 'a' and 'b': 'b' is not in the vocabulary");
  EXPECT_EQ(
      errorOfJson(R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.1}})"),
      "m/tokenizer.json.model: a \"dropout\" of merges is not supported");
  EXPECT_EQ(errorOfJson("[1"), "m/tokenizer.json: malformed JSON: parse error at line 1, column 3: "
                               "syntax error while parsing array - unexpected end of input; "
                               "expected ']'");
}

TEST(TokenizerFilesTest, RefusesHalfATokenizer) {
  auto error = [](const TokenizerFiles &files) {
    return std::string(createFileTokenizer(files, "", 100, "m/").status().message());
  };
  EXPECT_EQ(error({{"vocab.json", "{}"}}),
            "m/vocab.json: expected merges.txt in the same folder; the tokenizer needs both");
  EXPECT_EQ(error({{"vocab.json", R"({"a": 0, "b": 1, "ab": 2})"}, {"merges.txt", "a b c"}}),
            "m/merges.txt:1: 'a b c': expected two pieces separated by a space");
  EXPECT_EQ(error({{"vocab.json", "[]"}, {"merges.txt", ""}}),
            "m/vocab.json: expected an object of pieces and their ids");
}

// A pattern that would take forever is an error of the text.
TEST(TokenizerFilesTest, PatternsThatTakeTooLong) {
  auto tokenizer = createFileTokenizer(
      {{"tokenizer.json",
        R"({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}, "pre_tokenizer":
            {"type": "Split", "pattern": {"Regex": "(a+)+[^a]"}, "behavior": "Isolated"}})"}},
      "", 100, "m/");
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  std::vector<Token> tokens;
  EXPECT_EQ((*tokenizer)->encode(std::string(5000, 'a'), tokens).message(),
            "the pattern '(a+)+[^a]': match limit exceeded");
}

TEST(UnicodeTest, DecodesAndRefuses) {
  for (char32_t code : {U'a', U'é', U'中', U'😀', char32_t{0x10FFFF}}) {
    std::string text;
    appendUtf8(code, text);
    size_t position = 0;
    EXPECT_EQ(decodeUtf8(text, position), code);
    EXPECT_EQ(position, text.size());
  }
  // Overlong, surrogate, too large, truncated, a lone continuation.
  for (absl::string_view bad :
       {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xE4\xB8", "\x80"}) {
    size_t position = 0;
    EXPECT_EQ(decodeUtf8(bad, position), char32_t{0xFFFD});
    EXPECT_EQ(position, 1u);
  }
}

TEST(UnicodeTest, Lowercases) {
  auto lower = [](char32_t code) {
    std::u32string out;
    appendLowercase(code, out);
    return out;
  };
  EXPECT_EQ(lower(U'Ä'), U"ä");
  EXPECT_EQ(lower(U'ß'), U"ß");
  EXPECT_EQ(lower(U'İ'), U"i\u0307");
}

TEST(UnicodeTest, NormalForms) {
  auto form = [](absl::string_view text, NormalForm form) {
    return std::string(normalize(AlignedText(text, 0), form).bytes());
  };
  EXPECT_EQ(form("é", NormalForm::Nfd), "e\u0301");
  EXPECT_EQ(form("e\u0323\u0302", NormalForm::Nfc), "ệ");
  EXPECT_EQ(form("e\u0302\u0323", NormalForm::Nfc), "ệ");
  EXPECT_EQ(form("한", NormalForm::Nfd), "\u1112\u1161\u11AB");
  EXPECT_EQ(form("\u1112\u1161\u11AB", NormalForm::Nfc), "한");
  EXPECT_EQ(form("ﬁ½", NormalForm::Nfkc), "fi1\u20442");
}

// As Python's errors="replace".
TEST(UnicodeTest, ReplacesWhatIsNotUtf8) {
  auto replaced = [](absl::string_view bytes) {
    return std::string(replaceInvalid(bytes).bytes());
  };
  EXPECT_EQ(replaced("a\xE4\xB8z"), "a\uFFFDz");
  EXPECT_EQ(replaced("\xE0\x80\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(replaced("\xF0\x9F\x98"), "\uFFFD");
  EXPECT_EQ(replaced("\xF0\x9F\xFF"), "\uFFFD\uFFFD");
  EXPECT_EQ(replaced("é\xC3"), "é\uFFFD");
}

} // namespace
} // namespace st
