#include "lib/Runtime/Training/Trainer.h"

#include "absl/strings/str_cat.h"
#include "lib/Support/StatusMacros.h"

#include <cmath>

namespace st {
namespace {

absl::Status require(bool holds, absl::string_view what) {
  return holds ? absl::OkStatus() : absl::InvalidArgumentError(what);
}

absl::Status checkSaving(const TrainOptions &options) {
  const SaveOptions &saving = options.saving;
  auto requireTime = [](double value, absl::string_view flag) {
    return require(value >= 0 && std::isfinite(value),
                   absl::StrCat(flag, "=", value, ": expected minutes from 0"));
  };
  auto requireCount = [](int64_t value, absl::string_view flag) {
    return require(value >= 0, absl::StrCat(flag, "=", value, ": expected 0 or more"));
  };
  ST_RETURN_IF_ERROR(requireCount(saving.interval, "--save-interval"));
  ST_RETURN_IF_ERROR(requireTime(saving.minutes, "--save-minutes"));
  ST_RETURN_IF_ERROR(requireCount(saving.keep, "--keep"));
  ST_RETURN_IF_ERROR(requireCount(options.exitInterval, "--exit-interval"));
  ST_RETURN_IF_ERROR(requireTime(options.exitMinutes, "--exit-duration-in-mins"));
  ST_RETURN_IF_ERROR(require(!saving.isSeries() || !options.save.empty(),
                             "--save-interval, --save-minutes and --keep need --save=DIR"));
  ST_RETURN_IF_ERROR(checkSpikeOptions(options.spikes));
  return require(!options.spikes.restores() || saving.isSeries(),
                 absl::StrCat("--on-spike=", options.spikes.action,
                              " needs --save=DIR and --save-interval or --save-minutes: it "
                              "restores the newest checkpoint"));
}

} // namespace

absl::Status checkTrainOptions(const TrainOptions &options, bool readsLearningRate) {
  constexpr int kMaxThreads = 1024;
  ST_RETURN_IF_ERROR(
      require(options.steps >= 0, absl::StrCat("--steps=", options.steps, ": expected 0 or more")));
  ST_RETURN_IF_ERROR(
      require(options.trainSteps >= 0,
              absl::StrCat("--train-steps=", options.trainSteps, ": expected 0 or more")));
  ST_RETURN_IF_ERROR(
      require(options.trainSamples >= 0,
              absl::StrCat("--train-samples=", options.trainSamples, ": expected 0 or more")));
  ST_RETURN_IF_ERROR(require(options.batchRamp.empty() || options.trainSteps == 0,
                             "--train-steps counts steps, which have different sizes with "
                             "--rampup-batch-size; give --train-samples"));
  ST_RETURN_IF_ERROR(require(
      options.hostThreads >= 0 && options.hostThreads <= kMaxThreads,
      absl::StrCat("--host-threads=", options.hostThreads, ": expected 0 to ", kMaxThreads)));
  ST_RETURN_IF_ERROR(require(options.init.empty() || options.resume.empty(),
                             "--init starts a run and --resume continues one; give one of them"));
  ST_RETURN_IF_ERROR(checkSaving(options));
  ST_RETURN_IF_ERROR(checkStragglerOptions(options.stragglers));
  return require(readsLearningRate || !options.rate.isGiven(),
                 "--lr and the flags of its schedule have no effect: this program reads no "
                 "learning rate");
}

} // namespace st
