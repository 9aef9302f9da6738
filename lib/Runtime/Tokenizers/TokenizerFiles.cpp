#include "lib/Runtime/Tokenizers/TokenizerFiles.h"
#include "lib/Runtime/Json.h"
#include "lib/Runtime/Tokenizers/Pipeline.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>

namespace st {
namespace {

using TokenNames = std::vector<std::pair<std::string, int32_t>>; // tokens outside of the model

std::optional<int32_t> findToken(const WordModel &model, const TokenNames &added,
                                 absl::string_view name) {
  for (const auto &[content, id] : added)
    if (content == name)
      return id;
  return model.find(name);
}

// Returns the first token of several usual names.
int32_t findRole(const WordModel &model, const TokenNames &added,
                 std::initializer_list<absl::string_view> names) {
  for (absl::string_view name : names)
    if (std::optional<int32_t> id = findToken(model, added, name))
      return *id;
  return -1;
}

absl::Status findRoles(TokenizerStages &stages, const TokenNames &added, const std::string &config,
                       int64_t vocabulary, absl::string_view name) {
  TokenIds &ids = stages.ids;
  const WordModel &model = *stages.model;
  ids.pad = findRole(model, added, {"[PAD]", "<pad>", "<|pad|>"});
  ids.cls = findRole(model, added, {"[CLS]", "<s>", "<cls>"});
  ids.sep = findRole(model, added, {"[SEP]", "</s>", "<sep>"});
  ids.mask = findRole(model, added, {"[MASK]", "<mask>"});
  ids.endOfDocument =
      findRole(model, added, {"<|endoftext|>", "<|end_of_text|>", "</s>", "[SEP]", "<eos>"});
  int64_t size = model.size();
  for (const auto &[content, id] : added)
    size = std::max<int64_t>(size, int64_t{id} + 1);
  if (size > vocabulary)
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": ", size, " token ids, but the model has ", vocabulary));
  ST_ASSIGN_OR_RETURN(std::optional<int32_t> end, findEndToken(config, size));
  if (end)
    ids.endOfDocument = *end;
  ids.textBegin = 0;
  ids.textEnd = static_cast<int32_t>(size);
  return absl::OkStatus();
}

// Sorts added tokens into those matched before and after normalization.
absl::Status addTokens(std::vector<AddedToken> tokens, TokenizerStages &stages) {
  for (AddedToken &token : tokens) {
    if (!token.isNormalized) {
      stages.rawTokens.add(std::move(token));
      continue;
    }
    AlignedText content(token.content, 0);
    if (stages.normalizer)
      ST_RETURN_IF_ERROR(stages.normalizer->apply(content));
    token.content = std::string(content.bytes());
    stages.normalizedTokens.add(std::move(token));
  }
  return absl::OkStatus();
}

absl::Status readStages(const JsonNode &root, TokenizerStages &stages) {
  // Ignores keys that only affect padding, truncation and printing.
  ST_RETURN_IF_ERROR(root.allow({"version", "truncation", "padding", "added_tokens", "normalizer",
                                 "pre_tokenizer", "post_processor", "decoder", "model"}));
  if (root.has("version") && root.json()["version"] != "1.0")
    return root.error("\"version\" is not \"1.0\"");
  ST_ASSIGN_OR_RETURN(JsonNode model, root.at("model"));
  ST_ASSIGN_OR_RETURN(stages.model, readWordModel(model));
  if (root.has("normalizer")) {
    ST_ASSIGN_OR_RETURN(JsonNode node, root.at("normalizer"));
    ST_ASSIGN_OR_RETURN(stages.normalizer, readNormalizer(node));
  }
  if (root.has("pre_tokenizer")) {
    ST_ASSIGN_OR_RETURN(JsonNode node, root.at("pre_tokenizer"));
    ST_ASSIGN_OR_RETURN(stages.preTokenizer, readPreTokenizer(node));
  }
  if (root.has("post_processor")) {
    ST_ASSIGN_OR_RETURN(JsonNode node, root.at("post_processor"));
    ST_ASSIGN_OR_RETURN(stages.postProcessor, readPostProcessor(node));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Tokenizer>> createFromJson(absl::string_view text,
                                                          const std::string &config,
                                                          int64_t vocabulary,
                                                          const std::string &name) {
  ST_ASSIGN_OR_RETURN(nlohmann::json parsed, parseJsonText(text, name));
  const JsonNode root(parsed, name);
  TokenizerStages stages;
  ST_RETURN_IF_ERROR(readStages(root, stages));
  TokenNames names;
  if (root.has("added_tokens")) {
    ST_ASSIGN_OR_RETURN(JsonNode node, root.at("added_tokens"));
    ST_ASSIGN_OR_RETURN(std::vector<AddedToken> tokens, readAddedTokens(node, *stages.model));
    for (const AddedToken &token : tokens)
      names.emplace_back(token.content, token.id);
    ST_RETURN_IF_ERROR(addTokens(std::move(tokens), stages));
  }
  ST_RETURN_IF_ERROR(findRoles(stages, names, config, vocabulary, name));
  return std::make_unique<PipelineTokenizer>(std::move(stages));
}

absl::StatusOr<std::vector<Merge>> readMergesTxt(absl::string_view text, absl::string_view name) {
  std::vector<Merge> merges;
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    line = absl::StripSuffix(line, "\r");
    if (line.empty() || absl::StartsWith(line, "#version"))
      continue;
    const std::vector<absl::string_view> pieces = absl::StrSplit(line, ' ');
    if (pieces.size() != 2 || pieces[0].empty() || pieces[1].empty())
      return absl::InvalidArgumentError(absl::StrCat(name, ":", number, ": ", quoteForMessage(line),
                                                     ": expected two pieces separated by a space"));
    merges.push_back({std::string(pieces[0]), std::string(pieces[1])});
  }
  return merges;
}

// The special tokens that GPT-2 and RoBERTa have.
void addUsualTokens(TokenizerStages &stages) {
  for (absl::string_view name : {"<|endoftext|>", "<s>", "</s>", "<pad>", "<unk>", "<mask>"})
    if (std::optional<int32_t> id = stages.model->find(name)) {
      AddedToken token;
      token.content = std::string(name);
      token.id = *id;
      token.stripsLeft = name == "<mask>";
      token.isNormalized = false;
      stages.rawTokens.add(std::move(token));
    }
  const std::optional<int32_t> begin = stages.model->find("<s>"), end = stages.model->find("</s>");
  if (begin && end)
    stages.postProcessor =
        PostProcessor({{0, *begin}, {1, 0}, {0, *end}},
                      {{0, *begin}, {1, 0}, {0, *end}, {0, *end}, {2, 0}, {0, *end}});
}

absl::StatusOr<std::unique_ptr<Tokenizer>>
createFromMerges(absl::string_view vocabJson, absl::string_view mergesTxt,
                 const std::string &config, int64_t vocabulary, const std::string &prefix) {
  const std::string vocabName = absl::StrCat(prefix, kVocabJson);
  const std::string mergesName = absl::StrCat(prefix, kMergesTxt);
  ST_ASSIGN_OR_RETURN(nlohmann::json parsed, parseJsonText(vocabJson, vocabName));
  ST_ASSIGN_OR_RETURN(Vocabulary pieces, readVocabulary(JsonNode(parsed, vocabName)));
  ST_ASSIGN_OR_RETURN(std::vector<Merge> merges, readMergesTxt(mergesTxt, mergesName));
  TokenizerStages stages;
  ST_ASSIGN_OR_RETURN(stages.model, createBpe(std::move(pieces), merges, {}, mergesName));
  ST_ASSIGN_OR_RETURN(stages.preTokenizer, createByteLevelPreTokenizer(/*addsPrefixSpace=*/false));
  addUsualTokens(stages);
  ST_RETURN_IF_ERROR(findRoles(stages, {}, config, vocabulary, vocabName));
  return std::make_unique<PipelineTokenizer>(std::move(stages));
}

} // namespace

absl::StatusOr<std::optional<int32_t>> findEndToken(const std::string &config, int64_t limit) {
  using google::protobuf::Value;
  if (config.empty())
    return std::nullopt;
  ST_ASSIGN_OR_RETURN(google::protobuf::Struct fields, parseJsonObject(config, "config.json"));
  const Value *value = findField(fields, "eos_token_id");
  if (value && value->has_list_value() && value->list_value().values_size() > 0)
    value = &value->list_value().values(0);
  if (!value || value->kind_case() != Value::kNumberValue)
    return std::nullopt;
  const double id = value->number_value();
  if (!(id >= 0 && id < static_cast<double>(limit)))
    return std::nullopt;
  return static_cast<int32_t>(id);
}

absl::StatusOr<std::unique_ptr<Tokenizer>> createFileTokenizer(const TokenizerFiles &files,
                                                               const std::string &config,
                                                               int64_t vocabulary,
                                                               const std::string &prefix) {
  auto has = [&](const char *name) { return files.count(name) != 0; };
  if (has(kTokenizerJson))
    return createFromJson(files.at(kTokenizerJson), config, vocabulary,
                          absl::StrCat(prefix, kTokenizerJson));
  if (has(kVocabJson) != has(kMergesTxt))
    return absl::InvalidArgumentError(
        absl::StrCat(prefix, has(kVocabJson) ? kVocabJson : kMergesTxt, ": expected ",
                     has(kVocabJson) ? kMergesTxt : kVocabJson,
                     " in the same folder; the tokenizer needs both"));
  if (has(kVocabJson))
    return createFromMerges(files.at(kVocabJson), files.at(kMergesTxt), config, vocabulary, prefix);
  if (has(kVocabTxt))
    return createWordPieceTokenizer(files.at(kVocabTxt), config, vocabulary,
                                    absl::StrCat(prefix, kVocabTxt));
  return absl::NotFoundError(absl::StrCat(
      prefix, kTokenizerJson, ": missing, and so are vocab.json with merges.txt, and vocab.txt"));
}

} // namespace st
