#include "lib/Runtime/Tokenizers/WordModel.h"
#include "lib/Runtime/Tokenizers/Text/AlignedText.h"

#include "absl/strings/str_format.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>

namespace st {
namespace {

class WordPiece : public VocabularyModel {
public:
  WordPiece(Vocabulary vocabulary, int32_t unknown, std::string prefix, int64_t longestWord)
      : VocabularyModel(std::move(vocabulary)), unknown(unknown), prefix(std::move(prefix)),
        longestWord(longestWord) {
    for (const auto &[piece, id] : this->vocabulary)
      longestPiece = std::max(longestPiece, piece.size());
  }

  absl::Status encode(absl::string_view word, std::vector<WordToken> &tokens) const override {
    const size_t firstToken = tokens.size();
    const int64_t length = std::count_if(word.begin(), word.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    });
    if (length > longestWord || !splitWord(word, tokens)) {
      tokens.resize(firstToken);
      tokens.push_back({unknown, 0, static_cast<uint32_t>(word.size())});
    }
    return absl::OkStatus();
  }

private:
  bool splitWord(absl::string_view word, std::vector<WordToken> &tokens) const {
    std::string piece;
    for (size_t begin = 0; begin < word.size();) {
      piece = begin > 0 ? prefix : "";
      const size_t before = piece.size();
      absl::StrAppend(&piece, word.substr(begin, longestPiece));
      auto found = vocabulary.end();
      for (; piece.size() > before && found == vocabulary.end(); shorten(piece))
        if (found = vocabulary.find(piece); found != vocabulary.end())
          break;
      if (found == vocabulary.end())
        return false;
      const size_t end = begin + piece.size() - before;
      tokens.push_back({found->second, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
      begin = end;
    }
    return true;
  }

  // Removes the last character.
  static void shorten(std::string &piece) {
    while (piece.size() > 1 && (static_cast<unsigned char>(piece.back()) & 0xC0) == 0x80)
      piece.pop_back();
    piece.pop_back();
  }

  int32_t unknown;
  std::string prefix;
  int64_t longestWord;
  size_t longestPiece = 0; // bytes
};

class WordLevel : public VocabularyModel {
public:
  WordLevel(Vocabulary vocabulary, std::optional<int32_t> unknown)
      : VocabularyModel(std::move(vocabulary)), unknown(unknown) {}

  absl::Status encode(absl::string_view word, std::vector<WordToken> &tokens) const override {
    std::optional<int32_t> id = find(word);
    if (!id && !unknown)
      return absl::InvalidArgumentError(absl::StrCat(
          "the word ", quoteForMessage(word), " is not in the vocabulary, which has no unk_token"));
    tokens.push_back({id ? *id : *unknown, 0, static_cast<uint32_t>(word.size())});
    return absl::OkStatus();
  }

private:
  std::optional<int32_t> unknown;
};

absl::StatusOr<std::unique_ptr<WordModel>> readWordPiece(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow(
      {"type", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"}));
  ST_ASSIGN_OR_RETURN(JsonNode vocab, node.at("vocab"));
  ST_ASSIGN_OR_RETURN(Vocabulary vocabulary, readVocabulary(vocab));
  ST_ASSIGN_OR_RETURN(std::string unknown, node.text("unk_token", "[UNK]"));
  ST_ASSIGN_OR_RETURN(std::string prefix, node.text("continuing_subword_prefix", "##"));
  int64_t longest = 100;
  if (node.has("max_input_chars_per_word")) {
    ST_ASSIGN_OR_RETURN(JsonNode field, node.at("max_input_chars_per_word"));
    ST_ASSIGN_OR_RETURN(longest, field.integer());
  }
  auto it = vocabulary.find(unknown);
  if (it == vocabulary.end())
    return node.error(
        absl::StrCat("the unk_token ", quoteForMessage(unknown), " is not in the vocabulary"));
  const int32_t id = it->second;
  return createWordPiece(std::move(vocabulary), id, std::move(prefix), longest);
}

absl::StatusOr<std::unique_ptr<WordModel>> readWordLevel(const JsonNode &node) {
  ST_RETURN_IF_ERROR(node.allow({"type", "unk_token", "vocab"}));
  ST_ASSIGN_OR_RETURN(JsonNode vocab, node.at("vocab"));
  ST_ASSIGN_OR_RETURN(Vocabulary vocabulary, readVocabulary(vocab));
  ST_ASSIGN_OR_RETURN(std::string unknown, node.text("unk_token", "<unk>"));
  auto it = vocabulary.find(unknown);
  std::optional<int32_t> id =
      it == vocabulary.end() ? std::nullopt : std::optional<int32_t>(it->second);
  return std::make_unique<WordLevel>(std::move(vocabulary), id);
}

// Older files do not name the model type.
std::string guessType(const JsonNode &node) {
  if (node.has("merges"))
    return "BPE";
  if (node.has("max_input_chars_per_word") || node.has("continuing_subword_prefix"))
    return "WordPiece";
  return node.has("vocab") && node.json()["vocab"].is_array() ? "Unigram" : "WordLevel";
}

} // namespace

std::unique_ptr<WordModel> createWordPiece(Vocabulary vocabulary, int32_t unknown,
                                           std::string prefix, int64_t longestWord) {
  return std::make_unique<WordPiece>(std::move(vocabulary), unknown, std::move(prefix),
                                     longestWord);
}

absl::StatusOr<Vocabulary> readVocabulary(const JsonNode &node) {
  if (!node.json().is_object() || node.json().empty())
    return node.error("expected an object of pieces and their ids");
  Vocabulary vocabulary;
  vocabulary.reserve(node.json().size());
  for (auto it = node.json().begin(); it != node.json().end(); ++it) {
    absl::StatusOr<int64_t> id = JsonNode(*it, node.place()).integer();
    if (!id.ok())
      return node.error(absl::StrCat("the id of ", quoteForMessage(it.key()),
                                     ": expected an integer from 0 to 2147483647"));
    vocabulary.emplace(it.key(), static_cast<int32_t>(*id));
  }
  return vocabulary;
}

std::optional<int32_t> VocabularyModel::find(absl::string_view piece) const {
  auto it = vocabulary.find(piece);
  return it == vocabulary.end() ? std::nullopt : std::optional(it->second);
}

int64_t VocabularyModel::size() const {
  int64_t size = 0;
  for (const auto &[piece, id] : vocabulary)
    size = std::max<int64_t>(size, int64_t{id} + 1);
  return size;
}

std::string bytePiece(unsigned char byte) { return absl::StrFormat("<0x%02X>", byte); }

absl::StatusOr<std::unique_ptr<WordModel>> readWordModel(const JsonNode &node) {
  if (!node.json().is_object())
    return node.error("expected an object");
  ST_ASSIGN_OR_RETURN(std::string type, node.text("type", guessType(node)));
  if (type == "BPE")
    return readBpe(node);
  if (type == "Unigram")
    return readUnigram(node);
  if (type == "WordPiece")
    return readWordPiece(node);
  if (type == "WordLevel")
    return readWordLevel(node);
  return node.error(absl::StrCat("the model ", quoteForMessage(type), " is not supported"));
}

} // namespace st
