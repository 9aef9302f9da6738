// The last stage of a tokenizer: special tokens around a text, or around a pair of texts.
#ifndef ST_RUNTIME_TOKENIZERS_POSTPROCESSOR_H
#define ST_RUNTIME_TOKENIZERS_POSTPROCESSOR_H

#include "lib/Runtime/Tokenizers/JsonNode.h"

#include "absl/types/span.h"

#include <cstdint>
#include <vector>

namespace st {

/// A template of special tokens and the texts between them.
class PostProcessor {
public:
  struct Item {
    int sequence = 0; ///< 1 and 2: the first and the second text; 0: the token
    int32_t token = 0;
  };

  /// Adds nothing.
  PostProcessor() : single{{1, 0}}, pair{{1, 0}, {2, 0}} {}
  PostProcessor(std::vector<Item> single, std::vector<Item> pair)
      : single(std::move(single)), pair(std::move(pair)) {}

  std::vector<int32_t> apply(absl::Span<const int32_t> text) const;
  std::vector<int32_t> apply(absl::Span<const int32_t> first,
                             absl::Span<const int32_t> second) const;

private:
  std::vector<Item> single, pair;
};

/// The post-processor that a tokenizer.json describes. Known types: BertProcessing, ByteLevel,
/// RobertaProcessing, Sequence (with at most one that adds tokens), TemplateProcessing. An error
/// names an unknown type.
absl::StatusOr<PostProcessor> readPostProcessor(const JsonNode &node);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_POSTPROCESSOR_H
