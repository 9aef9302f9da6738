// The samples of masked-language training: runs of sentences of one document.
#ifndef ST_RUNTIME_DATA_PAIRSAMPLES_H
#define ST_RUNTIME_DATA_PAIRSAMPLES_H

#include "lib/Runtime/Data/Corpus.h"

#include <vector>

namespace st {

/// `count` sentences starting at `sentence`, truncated to `target` tokens.
struct PairSample {
  int64_t sentence = 0;
  int32_t count = 0, target = 0;
};

/// Walks the documents of the corpus' part as Megatron-LM does: gathers sentences until they have
/// the target number of tokens, which is a full row (`room`) or, with the options' probability,
/// less. Each sample has at least two sentences; no sentence is in two samples, and none is dropped
/// unless it is the only one of a document. The result depends only on the corpus and the seed.
std::vector<PairSample> makePairSamples(const Corpus &corpus, const BatchSpec &spec, int64_t room);

} // namespace st

#endif // ST_RUNTIME_DATA_PAIRSAMPLES_H
