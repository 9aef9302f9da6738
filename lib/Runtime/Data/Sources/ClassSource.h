// Batches of texts with a class, and of tokens with classes.
#ifndef ST_RUNTIME_DATA_SOURCES_CLASSSOURCE_H
#define ST_RUNTIME_DATA_SOURCES_CLASSSOURCE_H

#include "lib/Runtime/Data/BatchSource.h"

namespace st {

/// Returns true if the program classifies texts or tokens.
bool classifiesText(const BatchSpec &spec);

/// Samples of a file of JSON lines; other keys and empty lines are ignored:
///
///   classify         {"text": ..., "text_pair": ..., "label": ...}; text_pair is optional. A label
///                    is the number of a class or its name in `label2id`; for a model with numeric
///                    outputs a number, or an array of them
///   classify-tokens  {"words": [...], "labels": [...]}, a label for each word; null is none. The
///                    first token of a word has its label, the others have none
///
/// Encoders read [CLS] text [SEP], or [CLS] text [SEP] pair [SEP]; decoders read the text with the
/// tokenizer's special tokens, followed by the model's padding token. Texts are truncated to a row,
/// of two texts the longer one. Every sample occurs once before any is repeated.
absl::StatusOr<std::unique_ptr<BatchSource>> createJsonLinesClasses(const std::string &path,
                                                                    const BatchSpec &spec);

/// Texts that a model can learn: half of the tokens of a text belong to its class (token t
/// belongs to class t modulo the number of classes); a token's class is the one it belongs
/// to.
absl::StatusOr<std::unique_ptr<BatchSource>> createSyntheticClasses(const BatchSpec &spec);

} // namespace st

#endif // ST_RUNTIME_DATA_SOURCES_CLASSSOURCE_H
