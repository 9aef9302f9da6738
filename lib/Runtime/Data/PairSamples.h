// The samples of masked-language training: runs of sentences of one document.
#ifndef ST_RUNTIME_DATA_PAIRSAMPLES_H
#define ST_RUNTIME_DATA_PAIRSAMPLES_H

#include "lib/Runtime/Data/Corpus.h"

#include <vector>

namespace st {

/// `count` sentences from `sentence` on, cut to `target` tokens.
struct PairSample {
  int64_t sentence = 0;
  int32_t count = 0, target = 0;
};

/// Goes through the documents of the corpus' part as Megatron-LM does: sentences are gathered until
/// they have the aimed-at number of tokens, which is all that a row takes (`room`) or, with the
/// options' probability, less. Each sample has two sentences at least; no sentence is in two, and
/// none is left out but the only one of a document. A function of the corpus and the seed.
std::vector<PairSample> makePairSamples(const Corpus &corpus, const BatchSpec &spec, int64_t room);

} // namespace st

#endif // ST_RUNTIME_DATA_PAIRSAMPLES_H
