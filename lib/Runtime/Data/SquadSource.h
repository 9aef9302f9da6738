// Question answering on files of the SQuAD 1.1 format.
#ifndef ST_RUNTIME_DATA_SQUADSOURCE_H
#define ST_RUNTIME_DATA_SQUADSOURCE_H

#include "lib/Runtime/Data/BatchSource.h"

namespace st {

/// Each question is set before windows of its context, as in BERT's own
/// fine-tuning: a question has at most 64 tokens, the next window begins 128
/// tokens further on (or half a window, if that is less), and an answer that
/// does not lie within a window is position 0, the [CLS]. Of several answers the
/// first counts. Every window comes once before any comes again.
absl::StatusOr<std::unique_ptr<BatchSource>> createSquadSource(const std::string &path,
                                                               const BatchSpec &spec);

} // namespace st

#endif // ST_RUNTIME_DATA_SQUADSOURCE_H
