#include "lib/Runtime/Evaluation/SpanScore.h"

#include "lib/Runtime/Tokenizers/Text/Unicode.h"
#include "lib/Support/Text.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
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
  std::u32string plain;
  for (size_t i = 0; i < text.size();) {
    const char32_t code = decodeUtf8(text, i);
    if (code >= 0x80 || !absl::ascii_ispunct(static_cast<unsigned char>(code)))
      appendLowercase(code, plain);
  }
  // An article is a word, that is a run of letters and digits; it leaves a space.
  std::string spaced, word;
  const auto endWord = [&] {
    absl::StrAppend(&spaced, word == "a" || word == "an" || word == "the" ? " " : word);
    word.clear();
  };
  for (char32_t code : plain) {
    if (isLetter(code) || isNumber(code)) {
      appendUtf8(code, word);
      continue;
    }
    endWord();
    appendUtf8(isWhiteSpace(code) ? U' ' : code, spaced);
  }
  endWord();
  const std::vector<absl::string_view> words = absl::StrSplit(spaced, ' ', absl::SkipEmpty());
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
                                         int64_t first, int64_t last, int64_t maximum) {
  std::pair<int64_t, int64_t> best = {first, first};
  for (int64_t i = first; i < last; ++i)
    for (int64_t j = i; j < std::min(last, i + maximum); ++j)
      if (start[i] + end[j] > start[best.first] + end[best.second])
        best = {i, j};
  return best;
}

} // namespace st
