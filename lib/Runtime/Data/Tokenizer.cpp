#include "lib/Runtime/Data/Tokenizer.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/Runtime/Json.h"
#include "lib/Runtime/Tokenizers/Pipeline.h"
#include "lib/Support/StatusMacros.h"

namespace st {
namespace {

class ByteTokenizer : public Tokenizer {
public:
  explicit ByteTokenizer(TokenIds ids) : Tokenizer(ids) {}

  absl::Status encode(absl::string_view text, std::vector<Token> &tokens) const override {
    for (uint32_t i = 0; i < text.size(); ++i)
      tokens.push_back({ids().textBegin + static_cast<uint8_t>(text[i]), i, i + 1});
    return absl::OkStatus();
  }
};

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

std::vector<int32_t> idsOf(absl::Span<const Token> tokens) {
  std::vector<int32_t> ids;
  ids.reserve(tokens.size());
  for (const Token &token : tokens)
    ids.push_back(token.id);
  return ids;
}

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
    return absl::InvalidArgumentError(absl::StrCat(
        "text as bytes needs ", ids.textEnd, " token ids, but the model has ", vocabulary,
        "; give the model a tokenizer.json, a vocab.txt or a larger vocabulary"));
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
    return error(absl::StrCat("expected at most ", vocabulary,
                              " pieces, the model's token ids, found ", lines.size()));
  Vocabulary pieces;
  for (size_t i = 0; i < lines.size(); ++i)
    pieces.insert_or_assign(std::string(lines[i]), static_cast<int32_t>(i));

  TokenizerStages stages;
  TokenIds &ids = stages.ids;
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
  ids.endOfDocument = ids.sep;

  bool lowercase = !hasCapitals(lines);
  if (!config.empty()) {
    ST_ASSIGN_OR_RETURN(google::protobuf::Struct fields, parseJsonObject(config, "config.json"));
    if (const google::protobuf::Value *value = findField(fields, "do_lower_case");
        value && value->kind_case() == google::protobuf::Value::kBoolValue)
      lowercase = value->bool_value();
  }
  stages.normalizer = createBertNormalizer({true, true, lowercase, lowercase});
  stages.preTokenizer = createBertPreTokenizer();
  stages.model = createWordPiece(std::move(pieces), unknown);
  stages.postProcessor = PostProcessor({{0, ids.cls}, {1, 0}, {0, ids.sep}},
                                       {{0, ids.cls}, {1, 0}, {0, ids.sep}, {2, 0}, {0, ids.sep}});
  return std::make_unique<PipelineTokenizer>(std::move(stages));
}

} // namespace st
