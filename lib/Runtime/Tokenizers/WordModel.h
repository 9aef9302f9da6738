// The third stage of a tokenizer: words as token ids of a vocabulary.
#ifndef ST_RUNTIME_TOKENIZERS_WORDMODEL_H
#define ST_RUNTIME_TOKENIZERS_WORDMODEL_H

#include "lib/Runtime/Tokenizers/JsonNode.h"

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace st {

/// A token id and the bytes [begin, end) of the word that it stands for.
struct WordToken {
  int32_t id = 0;
  uint32_t begin = 0, end = 0;
};

using Vocabulary = absl::flat_hash_map<std::string, int32_t>;

/// Several threads may use one at once.
class WordModel {
public:
  virtual ~WordModel() = default;

  /// Appends the tokens of a word in UTF-8, which has at least one byte. The text of a whole file
  /// may be one word.
  virtual absl::Status encode(absl::string_view word, std::vector<WordToken> &tokens) const = 0;

  virtual std::optional<int32_t> find(absl::string_view piece) const = 0;

  /// One more than the greatest id.
  virtual int64_t size() const = 0;
};

/// The model that a tokenizer.json describes: BPE, WordPiece, Unigram or WordLevel. An error names
/// another, or an option that is not supported.
absl::StatusOr<std::unique_ptr<WordModel>> readWordModel(const JsonNode &node);

absl::StatusOr<std::unique_ptr<WordModel>> readBpe(const JsonNode &node);
absl::StatusOr<std::unique_ptr<WordModel>> readUnigram(const JsonNode &node);

/// Cuts a word into the longest pieces from the left; all but the first begin with `prefix`. A word
/// that cannot be cut, or has more than `longestWord` characters, is `unknown`.
std::unique_ptr<WordModel> createWordPiece(Vocabulary vocabulary, int32_t unknown,
                                           std::string prefix = "##", int64_t longestWord = 100);

/// Options of byte-pair encoding. A token that the vocabulary lacks is "unknown".
struct BpeOptions {
  std::string prefix, suffix; ///< of pieces that do not begin a word, and that end one
  std::optional<int32_t> unknown;
  bool fusesUnknown = false;      ///< several in a row are one
  bool fallsBackToBytes = false;  ///< characters without a piece are pieces "<0x00>" to "<0xFF>"
  bool prefersWholeWords = false; ///< a word in the vocabulary is a token, whatever merges make it
};
struct Merge {
  std::string first, second;
};
/// Byte-pair encoding (Sennrich et al. 2016): of all neighbours the ones whose merge comes first in
/// the list merge, from the left, until none do. Errors call the merges by `name`.
absl::StatusOr<std::unique_ptr<WordModel>> createBpe(Vocabulary vocabulary,
                                                     const std::vector<Merge> &merges,
                                                     const BpeOptions &options,
                                                     absl::string_view name);

/// The object of pieces and their ids.
absl::StatusOr<Vocabulary> readVocabulary(const JsonNode &node);

/// One more than the greatest id.
int64_t sizeOf(const Vocabulary &vocabulary);

/// "<0x0A>", the name of a byte's piece.
std::string bytePiece(unsigned char byte);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_WORDMODEL_H
