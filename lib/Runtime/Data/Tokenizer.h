// Converts text to token ids.
#ifndef ST_RUNTIME_DATA_TOKENIZER_H
#define ST_RUNTIME_DATA_TOKENIZER_H

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace st {

/// A token and the bytes [begin, end) of the text that it covers.
struct Token {
  int32_t id = 0;
  uint32_t begin = 0, end = 0;
};

std::vector<int32_t> idsOf(absl::Span<const Token> tokens);

/// The ids of special tokens, and the range of ids for text. -1: the vocabulary does not have the
/// token.
struct TokenIds {
  int32_t pad = 0, cls = 1, sep = 2, mask = 3;
  int32_t textBegin = 4, textEnd = 4;
  int32_t endOfDocument = -1;
};

/// Thread-safe.
class Tokenizer {
public:
  virtual ~Tokenizer() = default;

  /// Appends the tokens of `text` without special tokens around it. Invalid UTF-8 counts as U+FFFD,
  /// unless tokens are bytes. An error if the model has no token for a piece.
  virtual absl::Status encode(absl::string_view text, std::vector<Token> &tokens) const = 0;

  /// Adds the special tokens that the model expects around the tokens of a text.
  virtual std::vector<int32_t> addSpecial(absl::Span<const int32_t> tokens) const {
    return {tokens.begin(), tokens.end()};
  }

  const TokenIds &ids() const { return tokenIds; }

protected:
  explicit Tokenizer(TokenIds ids) : tokenIds(ids) {}

private:
  TokenIds tokenIds;
};

/// The lines of a vocab.txt, without carriage returns.
std::vector<absl::string_view> vocabularyPieces(absl::string_view vocabTxt);

/// One token per byte. With special tokens, [PAD], [CLS], [SEP] and [MASK] are 0 to 3 and byte b is
/// 4 + b; without them byte b is b. An error if the vocabulary is too small.
absl::StatusOr<std::unique_ptr<Tokenizer>> createByteTokenizer(int64_t vocabulary,
                                                               bool withSpecialTokens);

/// BERT's tokenizer (Devlin et al. 2018, as published with the model). Removes control characters;
/// splits text at white space, around punctuation and around CJK ideographs; in an uncased model
/// lowercases words and strips their accents; splits each word into the longest matching pieces, or
/// [UNK].
///
/// `vocabTxt` has one piece per line; of equal pieces the last counts. It must have [PAD], [UNK],
/// [CLS], [SEP] and [MASK], and at most `vocabulary` pieces. Errors refer to it as `name`. The
/// vocabulary is cased if another piece has an ASCII capital letter, unless `config` (JSON) has a
/// boolean "do_lower_case".
absl::StatusOr<std::unique_ptr<Tokenizer>>
createWordPieceTokenizer(absl::string_view vocabTxt, const std::string &config, int64_t vocabulary,
                         absl::string_view name = "the model's vocab.txt");

} // namespace st

#endif // ST_RUNTIME_DATA_TOKENIZER_H
