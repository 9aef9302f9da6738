// Scores of predicted answers, as SQuAD 1.1 defines them.
#ifndef ST_RUNTIME_EVALUATION_SPANSCORE_H
#define ST_RUNTIME_EVALUATION_SPANSCORE_H

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

#include <cstdint>
#include <string>
#include <utility>

namespace st {

/// The text in lower case, without ASCII punctuation and the words a, an and the, with single
/// spaces between the rest: `normalize_answer` of SQuAD 1.1's evaluation script.
std::string normalizeAnswer(absl::string_view text);

/// Returns true if two answers are equal after normalisation.
bool isExactMatch(absl::string_view found, absl::string_view expected);

/// F1 of the words of two normalised answers, from 0 to 1.
double f1Score(absl::string_view found, absl::string_view expected);

/// The (i, j) with the largest start[i] + end[j], where first <= i <= j < last and j - i < `most`;
/// of equal sums the first. The range [first, last) must not be empty.
std::pair<int64_t, int64_t> findBestSpan(absl::Span<const float> start, absl::Span<const float> end,
                                         int64_t first, int64_t last, int64_t most);

} // namespace st

#endif // ST_RUNTIME_EVALUATION_SPANSCORE_H
