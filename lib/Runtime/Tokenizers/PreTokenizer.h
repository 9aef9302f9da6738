// The second stage of a tokenizer: splits normalized text into words. No token crosses words.
#ifndef ST_RUNTIME_TOKENIZERS_PRETOKENIZER_H
#define ST_RUNTIME_TOKENIZERS_PRETOKENIZER_H

#include "lib/Runtime/Tokenizers/JsonNode.h"
#include "lib/Runtime/Tokenizers/Text/AlignedText.h"

#include <memory>
#include <vector>

namespace st {

/// A text and its words, in order. Bytes outside of words are dropped.
struct Words {
  struct Range {
    size_t begin = 0, end = 0;
  };
  AlignedText text;
  std::vector<Range> ranges;

  /// One word.
  explicit Words(AlignedText content) : text(std::move(content)) {
    if (!text.empty())
      ranges.push_back({0, text.size()});
  }
};

class PreTokenizer {
public:
  virtual ~PreTokenizer() = default;
  virtual absl::Status apply(Words &words) const = 0;
};

/// The pre-tokenizer that a tokenizer.json describes. Known types: BertPreTokenizer, ByteLevel,
/// CharDelimiterSplit, Digits, Metaspace, Punctuation, Sequence, Split, Whitespace,
/// WhitespaceSplit. An error names an unknown type.
absl::StatusOr<std::unique_ptr<PreTokenizer>> readPreTokenizer(const JsonNode &node);

/// BERT's: splits at white space and around punctuation.
std::unique_ptr<PreTokenizer> createBertPreTokenizer();

/// GPT-2's byte-level pre-tokenizer.
absl::StatusOr<std::unique_ptr<PreTokenizer>> createByteLevelPreTokenizer(bool addsPrefixSpace);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_PRETOKENIZER_H
