#include "lib/Runtime/Training/SpikeRecovery.h"

#include "lib/Runtime/Checkpoint/CheckpointSeries.h"
#include "lib/Runtime/Parallel.h"
#include "lib/Runtime/Stopwatch.h"
#include "lib/Support/StatusMacros.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>
#include <cmath>

namespace st {

absl::StatusOr<bool> SpikeRecovery::watch(const EndedStep &ended) {
  const bool isFinite = std::isfinite(ended.loss);
  if (options.spikes.isWatching() ? !spikes.isSpike(ended.loss) : isFinite)
    return false;
  if (options.spikes.restores())
    return true;
  if (!isFinite)
    return absl::OutOfRangeError(absl::StrFormat("step %d: the loss is %s", ended.step,
                                                 std::isnan(ended.loss) ? "NaN" : "infinite"));
  return absl::OutOfRangeError(
      absl::StrFormat("step %d: the loss %.4g is a spike: expected at most %.4g (--on-spike=stop)",
                      ended.step, ended.loss, spikes.bound()));
}

absl::Status SpikeRecovery::returnToCheckpoint(const EndedStep &ended, TrainerState &trainer,
                                               Executable &executable) {
  constexpr int64_t kMaxSpikes = 3;
  spikesThere = ended.step > latestStep ? 1 : spikesThere + 1;
  latestStep = std::max(latestStep, ended.step);
  if (spikesThere > kMaxSpikes)
    return absl::OutOfRangeError(
        absl::StrFormat("step %d: the loss %.4g is spike number %d in succession at or before step "
                        "%d: restoring a checkpoint does not help (--on-spike=%s)",
                        ended.step, ended.loss, spikesThere, latestStep, options.spikes.action));
  const int64_t seen = trainer.examples;
  // The report of the save is printed before the next line, which restoreNewest() completes.
  ST_RETURN_IF_ERROR(saves.finish());
  print(saves.takeReport());
  print(absl::StrFormat("step %d: the loss %.4g is a spike, expected at most %.4g; ", ended.step,
                        ended.loss, spikes.bound()));
  ST_RETURN_IF_ERROR(restoreNewest(ended.step, trainer, executable));
  if (options.spikes.action == "rewind")
    skip(seen - trainer.examples, trainer);
  else
    leftOut.insert(seen - ended.rows);
  return absl::OkStatus();
}

void SpikeRecovery::skip(int64_t rows, TrainerState &trainer) const {
  trainer.examples += rows;
  if (steps.ramp())
    trainer.skippedExamples += rows;
}

absl::Status SpikeRecovery::restoreNewest(int64_t step, TrainerState &trainer,
                                          Executable &executable) {
  Stopwatch watch;
  std::string warnings;
  const auto warn = [&](const std::string &line) { warnings += line; };
  auto newest =
      openNewest(options.save, program, states, hostThreadCount(options.hostThreads), warn);
  if (!newest.ok() || !*newest)
    print("\n" + warnings);
  ST_ASSIGN_OR_RETURN(const std::unique_ptr<CheckpointReader> checkpoint, std::move(newest));
  if (!checkpoint)
    return absl::DataLossError(absl::StrFormat(
        "%s: no checkpoint is complete, so the run cannot restore one after step %d", options.save,
        step));
  ST_RETURN_IF_ERROR(checkpoint->restore(states, executable));
  const uint32_t seed = trainer.seed;
  trainer = checkpoint->trainer();
  trainer.seed = seed;
  spikes.restore(trainer.recentLosses);
  saves.setNewestStep(trainer.step);
  print(absl::StrFormat(
      "back to step %d in %.1f s, without %s (--on-spike=%s)\n", trainer.step, watch.seconds(),
      options.spikes.action == "skip" ? "the batch of the spike" : "the batches since",
      options.spikes.action));
  print(warnings);
  return absl::OkStatus();
}

} // namespace st
