// Batches of sources and targets.
#ifndef ST_RUNTIME_DATA_SOURCES_SEQ2SEQSOURCE_H
#define ST_RUNTIME_DATA_SOURCES_SEQ2SEQSOURCE_H

#include "lib/Runtime/Data/BatchSource.h"

namespace st {

/// Pairs of a file of JSON lines, {"source": ..., "target": ...}; other keys and empty lines are
/// ignored. The tokenizer's special tokens surround both texts, which are truncated to a row.
absl::StatusOr<std::unique_ptr<BatchSource>> createJsonLinesPairs(const std::string &path,
                                                                  const BatchSpec &spec);

/// Sources from the synthetic text, and targets that a model can learn from them: a fixed
/// permutation of the tokens replaces each token of the source.
absl::StatusOr<std::unique_ptr<BatchSource>> createSyntheticPairs(const BatchSpec &spec);

} // namespace st

#endif // ST_RUNTIME_DATA_SOURCES_SEQ2SEQSOURCE_H
