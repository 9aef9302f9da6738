// Splits text at delimiters, for pre-tokenizers.
#ifndef ST_RUNTIME_TOKENIZERS_SPLIT_H
#define ST_RUNTIME_TOKENIZERS_SPLIT_H

#include "lib/Runtime/Tokenizers/PreTokenizer.h"

#include "absl/functional/function_ref.h"

namespace st {

/// The treatment of delimiters.
enum class SplitBehavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

/// Reads the key "behavior" of a pre-tokenizer.
absl::StatusOr<SplitBehavior> readSplitBehavior(const JsonNode &node);

/// A function that finds the delimiters of a text and calls its argument for each, from left to
/// right.
using DelimiterSearch = absl::FunctionRef<absl::Status(
    absl::string_view text, absl::FunctionRef<void(size_t begin, size_t end)> found)>;

/// Splits each word. `inverts` exchanges delimiters and the text between them.
absl::Status splitWords(Words &words, SplitBehavior behavior, bool inverts,
                        DelimiterSearch delimiters);

/// Splits each word at the characters for which `isDelimiter` holds.
void splitAtChars(Words &words, SplitBehavior behavior,
                  absl::FunctionRef<bool(char32_t)> isDelimiter);

} // namespace st

#endif // ST_RUNTIME_TOKENIZERS_SPLIT_H
