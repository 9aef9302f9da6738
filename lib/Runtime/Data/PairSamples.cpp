#include "lib/Runtime/Data/PairSamples.h"
#include "lib/Runtime/Data/CounterRandom.h"

#include <algorithm>

namespace st {
namespace {

constexpr int64_t kMinTokens = 2;

int32_t drawTarget(const DataOptions &options, int64_t room, CounterRandom &random) {
  const bool isShort = random.happens(options.shortSequenceProbability);
  return static_cast<int32_t>(isShort ? kMinTokens + random.below(room - kMinTokens + 1) : room);
}

} // namespace

std::vector<PairSample> makePairSamples(const Corpus &corpus, const BatchSpec &spec, int64_t room) {
  std::vector<PairSample> samples;
  CounterRandom random(spec.seed, CounterRandom::Lengths, 0);
  for (int64_t document = 0; document < corpus.numDocuments(); ++document) {
    const int64_t first = std::max(corpus.document(document), corpus.part.begin);
    const int64_t last = std::min(corpus.document(document + 1), corpus.part.end);
    if (last - first < 2)
      continue;
    PairSample sample{first, 0, drawTarget(spec.options, room, random)};
    for (int64_t sentence = first; sentence < last; ++sentence) {
      ++sample.count;
      const int64_t tokens = corpus.sentence(sentence + 1) - corpus.sentence(sample.sentence);
      const int64_t left = last - sentence - 1; // a single sentence makes no pair
      if (left == 0 || (left > 1 && sample.count > 1 && tokens >= sample.target)) {
        samples.push_back(sample);
        sample = {sentence + 1, 0, left == 0 ? 0 : drawTarget(spec.options, room, random)};
      }
    }
  }
  return samples;
}

} // namespace st
