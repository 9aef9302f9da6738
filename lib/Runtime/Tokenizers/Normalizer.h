// The first stage of a tokenizer: brings text into the form that its vocabulary uses.
#ifndef ST_RUNTIME_TOKENIZERS_NORMALIZER_H
#define ST_RUNTIME_TOKENIZERS_NORMALIZER_H

#include "lib/Runtime/Tokenizers/JsonNode.h"
#include "lib/Runtime/Tokenizers/Text/AlignedText.h"

#include <memory>

namespace st {

class Normalizer {
public:
  virtual ~Normalizer() = default;
  virtual absl::Status apply(AlignedText &text) const = 0;
};

/// The normalizer that a tokenizer.json describes. Known types: BertNormalizer, ByteLevel,
/// Lowercase, NFC, NFD, NFKC, NFKD, Nmt, Precompiled, Prepend, Replace, Sequence, Strip,
/// StripAccents. An error names an unknown type.
absl::StatusOr<std::unique_ptr<Normalizer>> readNormalizer(const JsonNode &node);

/// BERT's: removes control characters, turns white space into blanks, separates CJK ideographs, and
/// optionally strips accents and lowercases.
struct BertNormalizerOptions {
  bool cleansText = true, spacesIdeographs = true, stripsAccents = true, lowercases = true;
};
std::unique_ptr<Normalizer> createBertNormalizer(const BertNormalizerOptions &options);

/// SentencePiece's table of replacements, base64 as in a tokenizer.json.
absl::StatusOr<std::unique_ptr<Normalizer>> readCharsMap(const JsonNode &node);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_NORMALIZER_H
