// Finds the tokens that a tokenizer matches before all other stages.
#ifndef ST_RUNTIME_TOKENIZERS_ADDEDTOKENS_H
#define ST_RUNTIME_TOKENIZERS_ADDEDTOKENS_H

#include "lib/Runtime/Tokenizers/Normalizer.h"
#include "lib/Runtime/Tokenizers/WordModel.h"

#include <array>
#include <optional>
#include <vector>

namespace st {

/// An entry of a tokenizer.json's "added_tokens".
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool isSingleWord = false;                    ///< matches only if no letter is adjacent
  bool stripsLeft = false, stripsRight = false; ///< includes adjacent white space
  bool isNormalized = true;                     ///< matched in normalized text
};

/// A part of a text: a token, or text between them.
struct Segment {
  size_t begin = 0, end = 0;
  std::optional<int32_t> token;
};

/// Tokens that are matched in one pass. The longest match at a position wins.
class AddedTokens {
public:
  void add(AddedToken token);
  bool empty() const { return tokens.empty(); }

  /// Splits a text, in order. Parts between tokens are not empty.
  std::vector<Segment> split(absl::string_view text) const;

private:
  const AddedToken *findAt(absl::string_view text, size_t place) const;

  std::vector<AddedToken> tokens; // longest first
  std::array<bool, 256> isFirstByte = {};
};

/// Reads those of a tokenizer.json. An error names one whose id differs from the model's.
absl::StatusOr<std::vector<AddedToken>> readAddedTokens(const JsonNode &node,
                                                        const WordModel &model);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_ADDEDTOKENS_H
