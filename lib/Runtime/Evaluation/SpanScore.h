// How well an answer's place was found, as SQuAD 1.1 counts it.
#ifndef ST_RUNTIME_EVALUATION_SPANSCORE_H
#define ST_RUNTIME_EVALUATION_SPANSCORE_H

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <cstdint>
#include <string>
#include <utility>

namespace st {

/// The text in lower case, without punctuation and the articles a, an and the, its words one space
/// apart. Letters and punctuation are those of ASCII; others stay as they are.
std::string normalizeAnswer(absl::string_view text);

/// Whether two answers are the same once they are normalised.
bool isExactMatch(absl::string_view found, absl::string_view expected);

/// The harmonic mean of the parts of their words that two normalised answers share, from 0 to 1; 0
/// where they share none.
double f1Score(absl::string_view found, absl::string_view expected);

/// Where start[i] + end[j] is largest, with first <= i <= j < last and at most `most` tokens from i
/// to j; of equal sums the first. There must be a token from `first` to before `last`.
std::pair<int64_t, int64_t> findBestSpan(absl::Span<const float> start, absl::Span<const float> end,
                                         int64_t first, int64_t last, int64_t most);

} // namespace st

#endif // ST_RUNTIME_EVALUATION_SPANSCORE_H
