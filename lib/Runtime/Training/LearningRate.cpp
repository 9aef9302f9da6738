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
    {DecayStyle::InverseSquareRoot, "inverse-square-root"},
    {DecayStyle::Exponential, "exponential"},
    {DecayStyle::MinusSquareRoot, "minus_sqrt"}};

// A stable rate with a decay at its end, whose style is a separate option.
constexpr char kStable[] = "WSD";

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
                                          ": expected a number of at least 0 and below 1")));
  ST_RETURN_IF_ERROR(requireCount(options.decaySteps, "--lr-decay-steps"));
  ST_RETURN_IF_ERROR(requireCount(options.decaySamples, "--lr-decay-samples"));
  ST_RETURN_IF_ERROR(requireCount(options.stableDecaySteps, "--lr-wsd-decay-steps"));
  ST_RETURN_IF_ERROR(requireCount(options.stableDecaySamples, "--lr-wsd-decay-samples"));
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

absl::Status checkStable(const LearningRateOptions &options) {
  const int lengths = (options.stableDecaySteps > 0) + (options.stableDecaySamples > 0);
  if (options.style != kStable)
    return require(lengths == 0 && options.stableStyle.empty(),
                   "--lr-wsd-decay-style, --lr-wsd-decay-steps and --lr-wsd-decay-samples have no "
                   "effect without --lr-decay-style=WSD");
  return require(lengths == 1, "--lr-decay-style=WSD: give one of --lr-wsd-decay-steps and "
                               "--lr-wsd-decay-samples, the length of the decay");
}

absl::StatusOr<DecayStyle> stableStyleOf(const LearningRateOptions &options) {
  const std::optional<DecayStyle> style =
      options.stableStyle.empty() ? DecayStyle::Exponential : decayStyleNamed(options.stableStyle);
  if (style && *style != DecayStyle::Constant && *style != DecayStyle::InverseSquareRoot)
    return *style;
  return absl::InvalidArgumentError(
      absl::StrCat("--lr-wsd-decay-style=", options.stableStyle,
                   ": expected linear, cosine, exponential or minus_sqrt"));
}

absl::StatusOr<DecayStyle> styleOf(const LearningRateOptions &options) {
  const DecayStyle standard = options.totalSteps > 0 ? DecayStyle::Linear : DecayStyle::Constant;
  ST_RETURN_IF_ERROR(checkStable(options));
  if (options.style.empty())
    return standard;
  if (options.style == kStable && options.totalSteps == 0)
    return stableStyleOf(options);
  const std::optional<DecayStyle> style =
      options.style == kStable ? DecayStyle::Exponential : decayStyleNamed(options.style);
  const bool isEnd = style == DecayStyle::Exponential || style == DecayStyle::MinusSquareRoot;
  if (!style || (isEnd && options.style != kStable))
    return absl::InvalidArgumentError(
        absl::StrCat("--lr-decay-style=", options.style,
                     ": expected constant, linear, cosine, inverse-square-root or WSD"));
  if (options.totalSteps > 0 && *style != DecayStyle::Linear)
    return absl::InvalidArgumentError(
        absl::StrCat("--lr-decay-style=", options.style,
                     " contradicts --total-steps, whose decay is linear; give --lr-decay-steps"));
  return *style;
}

// The remaining fraction of the rate's range if the fraction `left` of the decay remains.
double shareOf(DecayStyle style, double left) {
  switch (style) {
  case DecayStyle::Cosine:
    return 0.5 * (1 + std::cos(kPi * (1 - left)));
  case DecayStyle::Exponential:
    return 2 * std::exp2(left - 1) - 1;
  case DecayStyle::MinusSquareRoot:
    return 1 - std::sqrt(1 - left);
  default:
    return left;
  }
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
  return floor + (peak - floor) * shareOf(style, left);
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
  // The step after the warm-up may have the full rate in any schedule.
  if (style != DecayStyle::Constant && decayBegin > warmup + 1)
    absl::StrAppend(&text, ", stable until ", countsSamples ? "sample " : "step ", decayBegin);
  if (style != DecayStyle::Constant)
    absl::StrAppend(&text, ", decay until ", countsSamples ? "sample " : "step ", decayEnd);
  return text;
}

bool LearningRateOptions::isGiven() const {
  return peak || floor > 0 || !style.empty() || warmupSteps > 0 || warmupSamples > 0 ||
         warmupFraction > 0 || decaySteps > 0 || decaySamples > 0 || totalSteps > 0 ||
         !stableStyle.empty() || stableDecaySteps > 0 || stableDecaySamples > 0;
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
              absl::StrCat(decays ? absl::StrCat("--lr-decay-style=", options.style)
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
  if (options.style != kStable)
    return schedule;
  const int64_t end = options.stableDecaySamples > 0 ? stepsFor(options.stableDecaySamples, batch)
                                                     : options.stableDecaySteps;
  ST_RETURN_IF_ERROR(
      require(end <= length - schedule.warmup,
              absl::StrCat(options.stableDecaySamples > 0 ? "--lr-wsd-decay-samples, steps "
                                                          : "--lr-wsd-decay-steps=",
                           end, ": expected at most the ", length - schedule.warmup,
                           " steps of the decay after the warm-up")));
  schedule.decayBegin = length - end;
  return schedule;
}

absl::StatusOr<LearningRateSchedule> resolveSampleSchedule(const LearningRateOptions &options,
                                                           double programPeak,
                                                           int64_t trainSamples) {
  const std::tuple<int64_t, absl::string_view, absl::string_view> steps[] = {
      {options.warmupSteps, "--warmup", "--lr-warmup-samples"},
      {options.decaySteps, "--lr-decay-steps", "--lr-decay-samples"},
      {options.stableDecaySteps, "--lr-wsd-decay-steps", "--lr-wsd-decay-samples"},
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
