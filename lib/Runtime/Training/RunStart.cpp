#include "lib/Runtime/Training/RunStart.h"

#include "lib/Runtime/Checkpoint/CheckpointFiles.h"
#include "lib/Runtime/Checkpoint/CheckpointSeries.h"
#include "lib/Runtime/Parallel.h"
#include "lib/Runtime/Training/LoadCheckpoint.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include <algorithm>

namespace st {

absl::Status RunStart::openCheckpoint(RunSaves &saves, TrainerState &trainer) {
  const std::string path = chooseCheckpoint(options, print);
  const int threads = hostThreadCount(options.hostThreads);
  const bool continues =
      options.saving.isSeries() && options.resume.empty() && path == options.save;
  if (path.empty())
    return absl::OkStatus();
  if (continues || (!holdsCheckpoint(path) && !listSeries(path).empty())) {
    ST_ASSIGN_OR_RETURN(resumed, openNewest(path, program, states, threads, print));
    if (!resumed && !continues)
      return absl::DataLossError(absl::StrCat(path, ": none of its checkpoints is complete"));
  } else {
    ST_ASSIGN_OR_RETURN(resumed, CheckpointReader::open(path, program, states, threads));
  }
  if (!resumed)
    return absl::OkStatus();
  checkpointPath = checkpointAt(path, resumed->trainer().step);
  if (!continues && (options.load.finetune || options.load.withoutOptimizer))
    return loadInPart(trainer);
  trainer = resumed->trainer();
  if (options.supervisor)
    options.supervisor->step = trainer.step;
  print(resumed->warnings());
  if (!continues)
    return options.saving.isSeries() ? checkSeries(trainer) : absl::OkStatus();
  saves.setNewestStep(trainer.step);
  print(absl::StrFormat("continuing after step %d of %s\n", trainer.step, escapeControls(path)));
  return absl::OkStatus();
}

// Applies LoadOptions to --load: loads parameters like those of a pretrained model.
absl::Status RunStart::loadInPart(TrainerState &trainer) {
  ST_ASSIGN_OR_RETURN(pretrained, PretrainedWeights::open(checkpointPath, program, states));
  print(pretrained->note());
  if (!options.load.finetune)
    trainer = resumed->trainer();
  resumed.reset();
  return absl::OkStatus();
}

// The series that the run saves to must not be ahead of the checkpoint of --resume.
absl::Status RunStart::checkSeries(const TrainerState &trainer) const {
  const std::vector<SeriesEntry> entries = listSeries(options.save);
  if (entries.empty() || entries.front().step <= trainer.step)
    return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      options.save, ": holds step ", entries.front().step, ", later than step ", trainer.step,
      " of --resume; save to another folder or remove the later checkpoints"));
}

absl::StatusOr<LearningRateSchedule> RunStart::chooseSchedule(const StepPrograms &steps,
                                                              int64_t batch) const {
  const double peak = program.optimizer().learning_rate();
  const LearningRateOptions &rate = options.rate;
  const int64_t length =
      options.trainSamples > 0 ? options.trainSamples / batch : options.trainSteps;
  ST_ASSIGN_OR_RETURN(LearningRateSchedule schedule,
                      steps.ramp() ? resolveSampleSchedule(rate, peak, options.trainSamples)
                                   : resolveSchedule(rate, peak, batch, length));
  if (!resumed || !resumed->schedule() || *resumed->schedule() == schedule)
    return schedule;
  const LearningRateSchedule &before = *resumed->schedule();
  if (rate.overridesCheckpoint) {
    print(absl::StrCat("the learning rate was ", before.describe(), "; it continues as ",
                       schedule.describe(), "\n"));
    return schedule;
  }
  // Megatron-LM's rule: the configuration's schedule must be the checkpoint's.
  if (rate.isGiven() && rate.isOfBinary && !rate.isCheckpoints)
    return absl::InvalidArgumentError(absl::StrCat(
        "the checkpoint's learning rate is ", before.describe(), ", but this binary's is ",
        schedule.describe(), "; give --use-checkpoint-lr-scheduler or --override-lr-scheduler"));
  if (rate.isGiven() && !rate.isCheckpoints) {
    print(absl::StrCat("warning: the learning rate was ", before.describe(), "; it continues as ",
                       schedule.describe(), "\n"));
    return schedule;
  }
  print(
      absl::StrCat("the learning rate continues as in the checkpoint: ", before.describe(), "\n"));
  return before;
}

absl::Status RunStart::openWeights() {
  if (options.init.empty() || resumed)
    return absl::OkStatus();
  ST_ASSIGN_OR_RETURN(pretrained, PretrainedWeights::open(options.init, program, states));
  print(pretrained->note());
  return absl::OkStatus();
}

absl::StatusOr<std::string> RunStart::load(Executable &executable, const TrainerState &trainer) {
  if (resumed) {
    ST_RETURN_IF_ERROR(resumed->restore(states, executable));
    resumed.reset();
    return absl::StrCat("read the checkpoint of step ", trainer.step);
  }
  ST_RETURN_IF_ERROR(
      initializeStates(states, executable, trainer.seed, hostThreadCount(options.hostThreads)));
  if (pretrained)
    ST_RETURN_IF_ERROR(pretrained->apply(executable));
  pretrained.reset();
  return std::string("initialised the model");
}

} // namespace st
