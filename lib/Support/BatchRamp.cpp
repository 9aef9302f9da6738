#include "lib/Support/BatchRamp.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include <algorithm>
#include <numeric>

namespace st {

absl::StatusOr<BatchRamp> BatchRamp::parse(absl::string_view text, int64_t full) {
  const auto error = [&](const std::string &what) {
    return absl::InvalidArgumentError(absl::StrCat("--rampup-batch-size=", text, ": ", what));
  };
  BatchRamp ramp;
  ramp.full = full;
  const std::vector<absl::string_view> words =
      absl::StrSplit(text, absl::ByAnyChar(", "), absl::SkipEmpty());
  int64_t *const values[] = {&ramp.start, &ramp.increment, &ramp.samples};
  bool areNumbers = words.size() == std::size(values);
  for (size_t i = 0; areNumbers && i < words.size(); ++i)
    areNumbers = absl::SimpleAtoi(words[i], values[i]) && *values[i] >= 1;
  if (!areNumbers)
    return error("expected START,INCREMENT,SAMPLES, three numbers from 1");
  if (ramp.start >= full)
    return error(absl::StrCat("expected a start below the full batch of ", full));
  if ((full - ramp.start) % ramp.increment != 0)
    return error(absl::StrCat("expected an increment that divides ", full - ramp.start,
                              ", the distance from the start to the full batch"));
  constexpr int64_t kMaxSizes = 256;
  if ((full - ramp.start) / ramp.increment > kMaxSizes)
    return error(absl::StrCat("expected at most ", kMaxSizes, " sizes, found ",
                              (full - ramp.start) / ramp.increment));
  return ramp;
}

std::string BatchRamp::text() const { return absl::StrCat(start, ",", increment, ",", samples); }

int64_t BatchRamp::at(int64_t consumed) const {
  if (consumed > samples)
    return full;
  const double increments = static_cast<double>((full - start) / increment);
  const double each = static_cast<double>(samples) / increments;
  const auto grown = static_cast<int64_t>(static_cast<double>(consumed) / each);
  return std::min(full, start + grown * increment);
}

std::vector<int64_t> BatchRamp::sizes() const {
  std::vector<int64_t> sizes;
  for (int64_t size = start; size < full; size += increment)
    sizes.push_back(size);
  return sizes;
}

int64_t BatchRamp::unit() const { return std::gcd(start, increment); }

// Megatron-LM's update_train_iters (megatron/training/training.py).
int64_t BatchRamp::countSteps(int64_t trainSamples) const {
  int64_t steps = 0, consumed = 0;
  while (consumed <= samples && consumed <= trainSamples) {
    consumed += at(consumed);
    ++steps;
  }
  return steps + std::max<int64_t>(0, trainSamples - consumed) / full;
}

std::string BatchRamp::nameOf(int64_t size) { return absl::StrCat("batch ", size); }

} // namespace st
