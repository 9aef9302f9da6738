#include "lib/Runtime/Evaluation/SpanScore.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <map>
#include <vector>

namespace st {
namespace {

std::vector<std::string> wordsOf(absl::string_view text) {
  return absl::StrSplit(normalizeAnswer(text), ' ', absl::SkipEmpty());
}

} // namespace

std::string normalizeAnswer(absl::string_view text) {
  std::string plain;
  for (char c : absl::AsciiStrToLower(text))
    if (!absl::ascii_ispunct(static_cast<unsigned char>(c)))
      plain += c;
  std::vector<absl::string_view> words =
      absl::StrSplit(plain, absl::ByAnyChar(" \t\n\v\f\r"), absl::SkipEmpty());
  words.erase(std::remove_if(words.begin(), words.end(),
                             [](absl::string_view word) {
                               return word == "a" || word == "an" || word == "the";
                             }),
              words.end());
  return absl::StrJoin(words, " ");
}

bool isExactMatch(absl::string_view found, absl::string_view expected) {
  return normalizeAnswer(found) == normalizeAnswer(expected);
}

double f1Score(absl::string_view found, absl::string_view expected) {
  const std::vector<std::string> a = wordsOf(found), b = wordsOf(expected);
  std::map<std::string, int64_t> left;
  for (const std::string &word : b)
    ++left[word];
  int64_t shared = 0;
  for (const std::string &word : a)
    if (auto it = left.find(word); it != left.end() && it->second > 0) {
      --it->second;
      ++shared;
    }
  if (shared == 0)
    return 0;
  return 2 * static_cast<double>(shared) / static_cast<double>(a.size() + b.size());
}

std::pair<int64_t, int64_t> findBestSpan(absl::Span<const float> start, absl::Span<const float> end,
                                         int64_t first, int64_t last, int64_t most) {
  std::pair<int64_t, int64_t> best = {first, first};
  for (int64_t i = first; i < last; ++i)
    for (int64_t j = i; j < std::min(last, i + most); ++j)
      if (start[i] + end[j] > start[best.first] + end[best.second])
        best = {i, j};
  return best;
}

} // namespace st
