// The third stage of a tokenizer: maps words to token ids of a vocabulary.
#ifndef ST_RUNTIME_TOKENIZERS_WORDMODEL_H
#define ST_RUNTIME_TOKENIZERS_WORDMODEL_H

#include "lib/Runtime/Tokenizers/JsonNode.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace st {

/// A token id and the bytes [begin, end) of the word that it covers.
struct WordToken {
  int32_t id = 0;
  uint32_t begin = 0, end = 0;
};

using Vocabulary = absl::flat_hash_map<std::string, int32_t>;

/// Thread-safe.
class WordModel {
public:
  virtual ~WordModel() = default;

  /// Appends the tokens of a non-empty word in UTF-8. The text of a full file may be one word.
  virtual absl::Status encode(absl::string_view word, std::vector<WordToken> &tokens) const = 0;

  virtual std::optional<int32_t> find(absl::string_view piece) const = 0;

  /// One more than the greatest id.
  virtual int64_t size() const = 0;
};

/// A model that maps pieces of words to ids by a table.
class VocabularyModel : public WordModel {
public:
  std::optional<int32_t> find(absl::string_view piece) const override;
  int64_t size() const override;

protected:
  explicit VocabularyModel(Vocabulary vocabulary) : vocabulary(std::move(vocabulary)) {}

  Vocabulary vocabulary;
};

/// The model that a tokenizer.json describes: BPE, WordPiece, Unigram or WordLevel. An error names
/// an unknown type or an unsupported option.
absl::StatusOr<std::unique_ptr<WordModel>> readWordModel(const JsonNode &node);

absl::StatusOr<std::unique_ptr<WordModel>> readBpe(const JsonNode &node);
absl::StatusOr<std::unique_ptr<WordModel>> readUnigram(const JsonNode &node);

/// Splits a word into the longest pieces from the left; all but the first begin with `prefix`. A
/// word that cannot be split, or has more than `longestWord` characters, is `unknown`.
std::unique_ptr<WordModel> createWordPiece(Vocabulary vocabulary, int32_t unknown,
                                           std::string prefix = "##", int64_t longestWord = 100);

/// Options of byte-pair encoding. A token that the vocabulary lacks is "unknown".
struct BpeOptions {
  std::string prefix, suffix; ///< prefix of pieces inside a word, suffix of the last piece
  std::optional<int32_t> unknown;
  bool fusesUnknown = false;     ///< adjacent unknown tokens become one
  bool fallsBackToBytes = false; ///< characters without a piece are pieces "<0x00>" to "<0xFF>"
  bool prefersFullWords = false; ///< a word in the vocabulary is one token, regardless of merges
};
struct Merge {
  std::string first, second;
};
/// Byte-pair encoding (Sennrich et al. 2016): repeatedly merges the adjacent pair whose merge is
/// first in the list, from the left. Errors refer to the merges as `name`.
absl::StatusOr<std::unique_ptr<WordModel>> createBpe(Vocabulary vocabulary,
                                                     const std::vector<Merge> &merges,
                                                     const BpeOptions &options,
                                                     absl::string_view name);

/// Reads an object of pieces and their ids.
absl::StatusOr<Vocabulary> readVocabulary(const JsonNode &node);

/// "<0x0A>", the name of a byte's piece.
std::string bytePiece(unsigned char byte);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_WORDMODEL_H
