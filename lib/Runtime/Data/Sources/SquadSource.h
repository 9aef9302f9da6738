// Question answering on files of the SQuAD 1.1 format.
#ifndef ST_RUNTIME_DATA_SQUADSOURCE_H
#define ST_RUNTIME_DATA_SQUADSOURCE_H

#include "lib/Runtime/Data/BatchSource.h"

namespace st {

/// Pairs each question with windows of its context, as in BERT's fine-tuning: a question has at
/// most 64 tokens, windows are 128 tokens apart (or half a window, if that is less), and an answer
/// outside a window is position 0, the [CLS]. Of several answers the first is the label. Every
/// window occurs once before any is repeated. In an evaluation the windows of a question follow
/// each other.
absl::StatusOr<std::unique_ptr<BatchSource>> createSquadSource(const std::string &path,
                                                               const BatchSpec &spec);

} // namespace st

#endif // ST_RUNTIME_DATA_SQUADSOURCE_H
