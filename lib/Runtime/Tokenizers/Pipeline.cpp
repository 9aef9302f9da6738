#include "lib/Runtime/Tokenizers/Pipeline.h"
#include "lib/Runtime/Tokenizers/Text/Unicode.h"

#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

namespace st {

class WordCache {
public:
  absl::Status encode(const WordModel &model, absl::string_view word,
                      std::vector<WordToken> &tokens) {
    tokens.clear();
    if (word.size() > kLongestWord)
      return model.encode(word, tokens);
    if (auto it = places.find(word); it != places.end()) {
      tokens.assign(kept.begin() + it->second.first, kept.begin() + it->second.second);
      return absl::OkStatus();
    }
    ST_RETURN_IF_ERROR(model.encode(word, tokens));
    if (places.size() == kMaxWords) {
      places.clear();
      kept.clear();
    }
    const size_t begin = kept.size();
    kept.insert(kept.end(), tokens.begin(), tokens.end());
    places.emplace(word, std::pair(begin, kept.size()));
    return absl::OkStatus();
  }

private:
  static constexpr size_t kLongestWord = 64; // bytes
  static constexpr size_t kMaxWords = 1 << 16;

  absl::flat_hash_map<std::string, std::pair<size_t, size_t>> places; // in `kept`
  std::vector<WordToken> kept;
};

PipelineTokenizer::PipelineTokenizer(TokenizerStages stages)
    : Tokenizer(stages.ids), stages(std::move(stages)) {}

PipelineTokenizer::~PipelineTokenizer() = default;

std::unique_ptr<WordCache> PipelineTokenizer::takeCache() const {
  absl::MutexLock lock(&mutex);
  if (caches.empty())
    return std::make_unique<WordCache>();
  std::unique_ptr<WordCache> cache = std::move(caches.back());
  caches.pop_back();
  return cache;
}

void PipelineTokenizer::release(std::unique_ptr<WordCache> cache) const {
  absl::MutexLock lock(&mutex);
  caches.push_back(std::move(cache));
}

absl::Status PipelineTokenizer::encode(absl::string_view text, std::vector<Token> &tokens) const {
  AlignedText repaired;
  const bool isValid = isUtf8(text);
  if (!isValid)
    repaired = replaceInvalid(text);
  const absl::string_view valid = isValid ? text : repaired.bytes();
  std::unique_ptr<WordCache> cache = takeCache();
  for (const Segment &segment : stages.rawTokens.split(valid)) {
    const uint32_t begin = static_cast<uint32_t>(segment.begin);
    if (segment.token) {
      const SourceRange from = isValid ? SourceRange{begin, static_cast<uint32_t>(segment.end)}
                                       : repaired.source(segment.begin, segment.end);
      tokens.push_back({*segment.token, from.begin, from.end});
      continue;
    }
    AlignedText part;
    if (isValid)
      part = AlignedText(valid.substr(segment.begin, segment.end - segment.begin), begin);
    else
      part.append(repaired, segment.begin, segment.end);
    ST_RETURN_IF_ERROR(encodeSegment(std::move(part), *cache, tokens));
  }
  release(std::move(cache));
  return absl::OkStatus();
}

absl::Status PipelineTokenizer::encodeSegment(AlignedText text, WordCache &cache,
                                              std::vector<Token> &tokens) const {
  if (stages.normalizer)
    ST_RETURN_IF_ERROR(stages.normalizer->apply(text));
  if (stages.normalizedTokens.empty())
    return encodeWords(Words(std::move(text)), cache, tokens);
  for (const Segment &segment : stages.normalizedTokens.split(text.bytes())) {
    if (segment.token) {
      const SourceRange from = text.source(segment.begin, segment.end);
      tokens.push_back({*segment.token, from.begin, from.end});
      continue;
    }
    AlignedText part;
    part.append(text, segment.begin, segment.end);
    ST_RETURN_IF_ERROR(encodeWords(Words(std::move(part)), cache, tokens));
  }
  return absl::OkStatus();
}

absl::Status PipelineTokenizer::encodeWords(Words words, WordCache &cache,
                                            std::vector<Token> &tokens) const {
  if (stages.preTokenizer)
    ST_RETURN_IF_ERROR(stages.preTokenizer->apply(words));
  std::vector<WordToken> found;
  for (const Words::Range &word : words.ranges) {
    const absl::string_view bytes = words.text.bytes().substr(word.begin, word.end - word.begin);
    ST_RETURN_IF_ERROR(cache.encode(*stages.model, bytes, found));
    for (const WordToken &token : found) {
      const SourceRange from = words.text.source(word.begin + token.begin, word.begin + token.end);
      tokens.push_back({token.id, from.begin, from.end});
    }
  }
  return absl::OkStatus();
}

std::vector<int32_t> PipelineTokenizer::addSpecial(absl::Span<const int32_t> tokens) const {
  return stages.postProcessor.apply(tokens);
}

} // namespace st
