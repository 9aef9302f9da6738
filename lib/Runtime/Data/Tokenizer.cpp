#include "lib/Runtime/Data/Tokenizer.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/Runtime/Data/Unicode.h"
#include "lib/Runtime/Json.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

namespace st {
namespace {

class ByteTokenizer : public Tokenizer {
public:
  explicit ByteTokenizer(TokenIds ids) : Tokenizer(ids) {}

  void encode(absl::string_view text, std::vector<Token> &tokens) const override {
    for (uint32_t i = 0; i < text.size(); ++i)
      tokens.push_back({ids().textBegin + static_cast<uint8_t>(text[i]), i, i + 1});
  }
};

// A character of a word after folding, and the bytes of the text it came from.
struct WordChar {
  char32_t code;
  uint32_t begin, end;
};

class WordPieceTokenizer : public Tokenizer {
public:
  WordPieceTokenizer(TokenIds ids, absl::flat_hash_map<std::string, int32_t> pieces,
                     int32_t unknown, bool lowercase)
      : Tokenizer(ids), pieces(std::move(pieces)), unknown(unknown), lowercase(lowercase) {}

  void encode(absl::string_view text, std::vector<Token> &tokens) const override;

private:
  void flushWord(std::vector<WordChar> &word, std::vector<Token> &tokens) const;
  const int32_t *longestPiece(const std::vector<WordChar> &word, size_t begin, size_t &end) const;

  absl::flat_hash_map<std::string, int32_t> pieces;
  int32_t unknown;
  bool lowercase;
};

void WordPieceTokenizer::encode(absl::string_view text, std::vector<Token> &tokens) const {
  std::vector<WordChar> word;
  std::u32string folded;
  for (size_t position = 0; position < text.size();) {
    const uint32_t begin = static_cast<uint32_t>(position);
    const char32_t original = decodeUtf8(text, position);
    const uint32_t end = static_cast<uint32_t>(position);
    if (original == 0 || original == 0xFFFD || isUnicodeControl(original))
      continue;
    if (isUnicodeSpace(original)) {
      flushWord(word, tokens);
      continue;
    }
    folded.clear();
    if (lowercase)
      appendFolded(original, folded);
    else
      folded += original;
    for (char32_t code : folded) {
      bool alone = isUnicodePunctuation(code) || isCjkIdeograph(original);
      if (alone)
        flushWord(word, tokens);
      word.push_back({code, begin, end});
      if (alone)
        flushWord(word, tokens);
    }
  }
  flushWord(word, tokens);
}

// Cuts a word into the longest pieces from the left; one that cannot be cut, or
// is longer than any sensible one, is unknown as a whole.
void WordPieceTokenizer::flushWord(std::vector<WordChar> &word, std::vector<Token> &tokens) const {
  constexpr size_t kLongestWord = 100;
  const size_t firstToken = tokens.size();
  for (size_t begin = 0; begin < word.size();) {
    size_t end = word.size();
    const int32_t *id = word.size() > kLongestWord ? nullptr : longestPiece(word, begin, end);
    if (!id) {
      tokens.resize(firstToken);
      tokens.push_back({unknown, word.front().begin, word.back().end});
      break;
    }
    tokens.push_back({*id, word[begin].begin, word[end - 1].end});
    begin = end;
  }
  word.clear();
}

const int32_t *WordPieceTokenizer::longestPiece(const std::vector<WordChar> &word, size_t begin,
                                                size_t &end) const {
  std::string piece = begin > 0 ? "##" : "";
  std::vector<size_t> lengths;
  for (size_t i = begin; i < word.size(); ++i) {
    appendUtf8(word[i].code, piece);
    lengths.push_back(piece.size());
  }
  for (; end > begin; --end)
    if (auto it = pieces.find(absl::string_view(piece).substr(0, lengths[end - begin - 1]));
        it != pieces.end())
      return &it->second;
  return nullptr;
}

bool isBracketed(absl::string_view piece) {
  return piece.size() > 2 && piece.front() == '[' && piece.back() == ']';
}

bool hasCapitals(const std::vector<absl::string_view> &lines) {
  for (absl::string_view line : lines)
    if (!isBracketed(line))
      for (char c : line)
        if (absl::ascii_isupper(static_cast<unsigned char>(c)))
          return true;
  return false;
}

} // namespace

std::vector<absl::string_view> vocabularyPieces(absl::string_view vocabTxt) {
  std::vector<absl::string_view> lines = absl::StrSplit(absl::StripSuffix(vocabTxt, "\n"), '\n');
  for (absl::string_view &line : lines)
    line = absl::StripSuffix(line, "\r");
  return lines;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> createByteTokenizer(int64_t vocabulary,
                                                               bool withSpecialTokens) {
  TokenIds ids;
  ids.textBegin = withSpecialTokens ? 4 : 0;
  ids.textEnd = ids.textBegin + 256;
  if (vocabulary < ids.textEnd)
    return absl::InvalidArgumentError(
        absl::StrCat("text as bytes takes ", ids.textEnd, " token ids, the model has ", vocabulary,
                     "; give the model a vocab.txt or a larger vocabulary"));
  return std::make_unique<ByteTokenizer>(ids);
}

absl::StatusOr<std::unique_ptr<Tokenizer>> createWordPieceTokenizer(absl::string_view vocabTxt,
                                                                    const std::string &config,
                                                                    int64_t vocabulary,
                                                                    absl::string_view name) {
  auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", what));
  };
  std::vector<absl::string_view> lines = vocabularyPieces(vocabTxt);
  if (static_cast<int64_t>(lines.size()) > vocabulary)
    return error(absl::StrCat(lines.size(), " pieces, the model has ", vocabulary, " token ids"));
  absl::flat_hash_map<std::string, int32_t> pieces;
  for (size_t i = 0; i < lines.size(); ++i)
    pieces.insert_or_assign(std::string(lines[i]), static_cast<int32_t>(i));

  TokenIds ids;
  int32_t unknown = 0;
  const std::pair<const char *, int32_t *> special[] = {{"[PAD]", &ids.pad},
                                                        {"[UNK]", &unknown},
                                                        {"[CLS]", &ids.cls},
                                                        {"[SEP]", &ids.sep},
                                                        {"[MASK]", &ids.mask}};
  for (auto [piece, id] : special) {
    auto it = pieces.find(piece);
    if (it == pieces.end())
      return error(absl::StrCat("no piece ", piece, ", which BERT's tokenizer needs"));
    *id = it->second;
  }
  ids.textBegin = 0;
  ids.textEnd = static_cast<int32_t>(lines.size());

  bool lowercase = !hasCapitals(lines);
  if (!config.empty()) {
    ST_ASSIGN_OR_RETURN(google::protobuf::Struct fields, parseJsonObject(config, "config.json"));
    if (const google::protobuf::Value *value = findField(fields, "do_lower_case");
        value && value->kind_case() == google::protobuf::Value::kBoolValue)
      lowercase = value->bool_value();
  }
  return std::make_unique<WordPieceTokenizer>(ids, std::move(pieces), unknown, lowercase);
}

} // namespace st
