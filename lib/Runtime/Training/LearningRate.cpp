#include "lib/Runtime/Training/LearningRate.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/Support/StatusMacros.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace st {
namespace {

constexpr std::pair<DecayStyle, absl::string_view> kStyles[] = {
    {DecayStyle::Constant, "constant"},
    {DecayStyle::Linear, "linear"},
    {DecayStyle::Cosine, "cosine"},
    {DecayStyle::InverseSquareRoot, "inverse-square-root"}};

constexpr double kPi = 3.14159265358979323846;

absl::Status require(bool holds, absl::string_view what) {
  return holds ? absl::OkStatus() : absl::InvalidArgumentError(what);
}

absl::Status requireCount(int64_t value, absl::string_view flag) {
  return require(value >= 0, absl::StrCat(flag, "=", value, ": expected 0 or more"));
}

absl::Status requireRate(double value, absl::string_view flag) {
  return require(value >= 0 && std::isfinite(value),
                 absl::StrCat(flag, "=", value, ": expected a finite number from 0"));
}

absl::Status checkValues(const LearningRateOptions &options, double peak) {
  ST_RETURN_IF_ERROR(requireRate(peak, "--lr"));
  ST_RETURN_IF_ERROR(requireRate(options.floor, "--min-lr"));
  ST_RETURN_IF_ERROR(require(options.floor <= peak,
                             absl::StrCat("--min-lr=", options.floor,
                                          ": expected at most the peak learning rate, ", peak)));
  ST_RETURN_IF_ERROR(requireCount(options.warmupSteps, "--warmup"));
  ST_RETURN_IF_ERROR(requireCount(options.warmupSamples, "--lr-warmup-samples"));
  ST_RETURN_IF_ERROR(require(options.warmupFraction >= 0 && options.warmupFraction < 1,
                             absl::StrCat("--lr-warmup-fraction=", options.warmupFraction,
                                          ": expected a number from 0 to below 1")));
  ST_RETURN_IF_ERROR(requireCount(options.decaySteps, "--lr-decay-steps"));
  ST_RETURN_IF_ERROR(requireCount(options.decaySamples, "--lr-decay-samples"));
  return requireCount(options.totalSteps, "--total-steps");
}

absl::Status checkOneEach(const LearningRateOptions &options) {
  const int warmups =
      (options.warmupSteps > 0) + (options.warmupSamples > 0) + (options.warmupFraction > 0);
  ST_RETURN_IF_ERROR(require(
      warmups <= 1, "--warmup, --lr-warmup-samples and --lr-warmup-fraction: give one of them"));
  const int decays =
      (options.decaySteps > 0) + (options.decaySamples > 0) + (options.totalSteps > 0);
  ST_RETURN_IF_ERROR(require(
      decays <= 1, "--lr-decay-steps, --lr-decay-samples and --total-steps: give one of them"));
  return require(options.totalSteps == 0 || options.floor == 0,
                 "--min-lr has no effect with --total-steps, which falls to 0; give "
                 "--lr-decay-style=linear and --lr-decay-steps");
}

absl::StatusOr<DecayStyle> styleOf(const LearningRateOptions &options) {
  const DecayStyle standard = options.totalSteps > 0 ? DecayStyle::Linear : DecayStyle::Constant;
  if (options.style.empty())
    return standard;
  const std::optional<DecayStyle> style = decayStyleNamed(options.style);
  if (!style)
    return absl::InvalidArgumentError(
        absl::StrCat("--lr-decay-style=", options.style,
                     ": expected constant, linear, cosine or inverse-square-root"));
  if (options.totalSteps > 0 && *style != DecayStyle::Linear)
    return absl::InvalidArgumentError(
        absl::StrCat("--lr-decay-style=", options.style,
                     " contradicts --total-steps, whose decay is linear; give --lr-decay-steps"));
  return *style;
}

// Number of steps that take at least this many samples.
int64_t stepsFor(int64_t samples, int64_t batch) { return (samples + batch - 1) / batch; }

} // namespace

absl::string_view nameOf(DecayStyle style) {
  return std::find_if(std::begin(kStyles), std::end(kStyles),
                      [&](const auto &entry) { return entry.first == style; })
      ->second;
}

std::optional<DecayStyle> decayStyleNamed(absl::string_view name) {
  for (const auto &[style, text] : kStyles)
    if (text == name)
      return style;
  return std::nullopt;
}

double LearningRateSchedule::at(int64_t step) const {
  if (step <= warmup)
    return peak * static_cast<double>(step) / static_cast<double>(warmup);
  if (style == DecayStyle::Constant || step <= decayBegin)
    return peak;
  if (step >= decayEnd)
    return floor;
  if (style == DecayStyle::InverseSquareRoot)
    return std::max(floor, peak * std::sqrt(static_cast<double>(std::max<int64_t>(1, warmup)) /
                                            static_cast<double>(step)));
  const double left =
      static_cast<double>(decayEnd - step) / static_cast<double>(decayEnd - decayBegin);
  const double share = style == DecayStyle::Linear ? left : 0.5 * (1 + std::cos(kPi * (1 - left)));
  return floor + (peak - floor) * share;
}

bool LearningRateSchedule::operator==(const LearningRateSchedule &other) const {
  return std::tie(style, peak, floor, warmup, decayBegin, decayEnd, countsSamples) ==
         std::tie(other.style, other.peak, other.floor, other.warmup, other.decayBegin,
                  other.decayEnd, other.countsSamples);
}

std::string LearningRateSchedule::describe() const {
  std::string text = absl::StrFormat("%s %s %g", nameOf(style),
                                     style == DecayStyle::Constant ? "at" : "from", peak);
  if (style != DecayStyle::Constant)
    absl::StrAppendFormat(&text, " to %g", floor);
  if (warmup > 0)
    absl::StrAppend(&text, ", warm-up ", warmup, countsSamples ? " samples" : " steps");
  if (style != DecayStyle::Constant)
    absl::StrAppend(&text, ", decay until ", countsSamples ? "sample " : "step ", decayEnd);
  return text;
}

bool LearningRateOptions::isGiven() const {
  return peak || floor > 0 || !style.empty() || warmupSteps > 0 || warmupSamples > 0 ||
         warmupFraction > 0 || decaySteps > 0 || decaySamples > 0 || totalSteps > 0;
}

absl::StatusOr<LearningRateSchedule> resolveSchedule(const LearningRateOptions &options,
                                                     double programPeak, int64_t batch,
                                                     int64_t trainSteps) {
  LearningRateSchedule schedule;
  schedule.peak = options.peak.value_or(programPeak);
  schedule.floor = options.floor;
  ST_RETURN_IF_ERROR(checkValues(options, schedule.peak));
  ST_RETURN_IF_ERROR(checkOneEach(options));
  ST_ASSIGN_OR_RETURN(schedule.style, styleOf(options));
  const bool decays = schedule.style != DecayStyle::Constant;

  const int64_t length = options.decaySteps > 0     ? options.decaySteps
                         : options.decaySamples > 0 ? stepsFor(options.decaySamples, batch)
                         : options.totalSteps > 0   ? options.totalSteps
                                                    : trainSteps;
  const bool isGiven = options.decaySteps > 0 || options.decaySamples > 0;
  ST_RETURN_IF_ERROR(require(decays || !isGiven,
                             "--lr-decay-steps and --lr-decay-samples have no effect with a "
                             "constant learning rate; give --lr-decay-style"));
  ST_RETURN_IF_ERROR(require(decays || options.floor == 0,
                             "--min-lr has no effect with a constant learning rate; give "
                             "--lr-decay-style"));
  ST_RETURN_IF_ERROR(
      require(length > 0 || (!decays && options.warmupFraction == 0),
              absl::StrCat(decays ? absl::StrCat("--lr-decay-style=", nameOf(schedule.style))
                                  : "--lr-warmup-fraction",
                           " needs a length: give --lr-decay-steps or --train-steps")));
  schedule.warmup = options.warmupSamples > 0 ? stepsFor(options.warmupSamples, batch)
                    : options.warmupFraction > 0
                        ? std::llround(options.warmupFraction * static_cast<double>(length))
                        : options.warmupSteps;
  if (!decays)
    return schedule;
  ST_RETURN_IF_ERROR(
      require(length > schedule.warmup,
              absl::StrCat(options.totalSteps > 0     ? "--total-steps="
                           : options.decaySamples > 0 ? "--lr-decay-samples, steps "
                           : options.decaySteps > 0   ? "--lr-decay-steps="
                                                      : "--train-steps=",
                           length, ": expected more than --warmup=", schedule.warmup)));
  // transformers' convention: the step after the warm-up has the full rate, and the last step a
  // non-zero rate. Megatron-LM's last step has the floor.
  const int64_t later = options.totalSteps > 0 ? 1 : 0;
  schedule.decayBegin = schedule.warmup + later;
  schedule.decayEnd = length + later;
  return schedule;
}

absl::StatusOr<LearningRateSchedule> resolveSampleSchedule(const LearningRateOptions &options,
                                                           double programPeak,
                                                           int64_t trainSamples) {
  const std::tuple<int64_t, absl::string_view, absl::string_view> steps[] = {
      {options.warmupSteps, "--warmup", "--lr-warmup-samples"},
      {options.decaySteps, "--lr-decay-steps", "--lr-decay-samples"},
      {options.totalSteps, "--total-steps", "--lr-decay-samples"}};
  for (const auto &[value, flag, instead] : steps)
    ST_RETURN_IF_ERROR(require(value == 0, absl::StrCat(flag, "=", value,
                                                        " counts steps, which have different "
                                                        "sizes with --rampup-batch-size; give ",
                                                        instead)));
  const bool decays = !options.style.empty() && options.style != nameOf(DecayStyle::Constant);
  ST_RETURN_IF_ERROR(require(trainSamples > 0 || options.decaySamples > 0 ||
                                 (!decays && options.warmupFraction == 0),
                             "--lr-decay-style and --lr-warmup-fraction need a length with "
                             "--rampup-batch-size: give --lr-decay-samples or --train-samples"));
  ST_ASSIGN_OR_RETURN(LearningRateSchedule schedule,
                      resolveSchedule(options, programPeak, /*batch=*/1, trainSamples));
  schedule.countsSamples = true;
  return schedule;
}

} // namespace st
