#include "lib/Runtime/Training/SpikeWatch.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace st {
namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1)
    return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

} // namespace

absl::Status checkSpikeOptions(const SpikeOptions &options) {
  if (!options.action.empty() && options.action != "stop" && !options.restores())
    return absl::InvalidArgumentError(
        absl::StrCat("--on-spike=", options.action, ": expected stop, skip or rewind"));
  if (!(options.deviations > 0) || !std::isfinite(options.deviations))
    return absl::InvalidArgumentError(
        absl::StrCat("--spike-deviations=", options.deviations, ": expected a number above 0"));
  if (options.window < SpikeWatch::kFewest)
    return absl::InvalidArgumentError(absl::StrCat("--spike-window=", options.window,
                                                   ": expected steps from ", SpikeWatch::kFewest));
  return absl::OkStatus();
}

double SpikeWatch::bound() const {
  constexpr double kDeviationOfNormal = 1.4826, kMinPart = 0.01;
  if (static_cast<int64_t>(recent.size()) < kFewest)
    return std::numeric_limits<double>::infinity();
  const double center = median(losses());
  std::vector<double> distances;
  for (double loss : recent)
    distances.push_back(std::abs(loss - center));
  const double deviation =
      std::max(kDeviationOfNormal * median(distances), kMinPart * std::abs(center));
  return center + options.deviations * deviation;
}

bool SpikeWatch::isSpike(double loss) {
  if (!std::isfinite(loss) || loss > bound())
    return true;
  recent.push_back(loss);
  if (static_cast<int64_t>(recent.size()) > options.window)
    recent.pop_front();
  return false;
}

void SpikeWatch::restore(const std::vector<double> &losses) {
  const auto skipped =
      std::max<std::ptrdiff_t>(0, static_cast<std::ptrdiff_t>(losses.size()) - options.window);
  recent.assign(losses.begin() + skipped, losses.end());
}

} // namespace st
