// Runs the stages of a tokenizer.
#ifndef ST_RUNTIME_TOKENIZERS_PIPELINE_H
#define ST_RUNTIME_TOKENIZERS_PIPELINE_H

#include "lib/Runtime/Data/Tokenizer.h"
#include "lib/Runtime/Tokenizers/AddedTokens.h"
#include "lib/Runtime/Tokenizers/Normalizer.h"
#include "lib/Runtime/Tokenizers/PostProcessor.h"
#include "lib/Runtime/Tokenizers/PreTokenizer.h"
#include "lib/Runtime/Tokenizers/WordModel.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

namespace st {

/// The stages of a tokenizer. A null stage does nothing.
struct TokenizerStages {
  AddedTokens rawTokens;        ///< matched in the text
  AddedTokens normalizedTokens; ///< matched in normalized text
  std::unique_ptr<Normalizer> normalizer;
  std::unique_ptr<PreTokenizer> preTokenizer;
  std::unique_ptr<WordModel> model;
  PostProcessor postProcessor;
  TokenIds ids;
};

/// Memoises the tokens of words, because most words repeat.
class WordCache;

class PipelineTokenizer : public Tokenizer {
public:
  explicit PipelineTokenizer(TokenizerStages stages);
  ~PipelineTokenizer() override;

  absl::Status encode(absl::string_view text, std::vector<Token> &tokens) const override;
  std::vector<int32_t> addSpecial(absl::Span<const int32_t> tokens) const override;

private:
  absl::Status encodeSegment(AlignedText text, WordCache &cache, std::vector<Token> &tokens) const;
  absl::Status encodeWords(Words words, WordCache &cache, std::vector<Token> &tokens) const;
  std::unique_ptr<WordCache> takeCache() const;
  void release(std::unique_ptr<WordCache> cache) const;

  TokenizerStages stages;
  mutable absl::Mutex mutex;
  /// One per thread that encodes.
  mutable std::vector<std::unique_ptr<WordCache>> caches ABSL_GUARDED_BY(mutex);
};

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_PIPELINE_H
