#include "lib/Runtime/Data/Split.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace st {

absl::string_view nameOf(SplitPart part) {
  constexpr absl::string_view kNames[] = {"train", "validation", "test"};
  return kNames[static_cast<int>(part)];
}

absl::StatusOr<Split> Split::parse(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, absl::ByAnyChar(",/"));
  Split split;
  split.weights = {0, 0, 0};
  double sum = 0;
  bool isGood = words.size() <= 3;
  for (size_t i = 0; i < words.size() && isGood; ++i) {
    isGood = absl::SimpleAtod(words[i], &split.weights[i]) && split.weights[i] >= 0 &&
             std::isfinite(split.weights[i]);
    sum += split.weights[i];
  }
  if (!isGood || !(sum > 0) || !std::isfinite(sum))
    return absl::InvalidArgumentError(
        absl::StrCat("--split=", text,
                     ": expected up to three weights of 0 or more, not all 0, such as 949,50,1"));
  for (double &weight : split.weights)
    weight /= sum;
  return split;
}

Split::Range Split::range(SplitPart part, int64_t count) const {
  int64_t bounds[4] = {0, 0, 0, 0};
  for (int i = 0; i < 3; ++i) // rounds halves to even, like Python's round
    bounds[i + 1] =
        bounds[i] + static_cast<int64_t>(std::nearbyint(weights[i] * static_cast<double>(count)));
  const int64_t excess = bounds[3] - count;
  for (int i = 1; i < 4; ++i)
    bounds[i] = std::clamp<int64_t>(bounds[i] - excess, bounds[i - 1], count);
  const int i = static_cast<int>(part);
  return {bounds[i], bounds[i + 1]};
}

} // namespace st
