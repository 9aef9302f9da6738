#include "lib/Runtime/Training/Trainer.h"
#include "lib/Runtime/BackgroundTask.h"
#include "lib/Runtime/Checkpoint/Checkpoint.h"
#include "lib/Runtime/Checkpoint/CheckpointFiles.h"
#include "lib/Runtime/Checkpoint/CheckpointSeries.h"
#include "lib/Runtime/Data/ReadAhead.h"
#include "lib/Runtime/Data/RecordedBatches.h"
#include "lib/Runtime/HostMemory.h"
#include "lib/Runtime/Parallel.h"
#include "lib/Runtime/Program/Prediction.h"
#include "lib/Runtime/Report.h"
#include "lib/Runtime/State/ParameterNorm.h"
#include "lib/Runtime/State/Pretrained.h"
#include "lib/Runtime/State/StateRows.h"
#include "lib/Runtime/State/States.h"
#include "lib/Runtime/TraceWriter.h"
#include "lib/Runtime/Training/LearningRate.h"
#include "lib/Runtime/Training/LoadCheckpoint.h"
#include "lib/Runtime/Training/RunControl.h"
#include "lib/Runtime/Training/RunSaves.h"
#include "lib/Runtime/Training/SimulatedEvents.h"
#include "lib/Runtime/Training/SpikeWatch.h"
#include "lib/Runtime/Training/StepPrograms.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace st {
namespace {

class Stopwatch {
public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

class Trainer {
public:
  Trainer(const proto::Executable &program, Client &client, Communicator &communicator,
          const TrainOptions &options, std::FILE *out, std::FILE *progress)
      : program(program), client(client), communicator(communicator), options(options), out(out),
        progress(progress), control(options, communicator) {}
  ~Trainer() { saves.leave(); }
  Trainer(const Trainer &) = delete;
  Trainer &operator=(const Trainer &) = delete;

  absl::Status run();

private:
  absl::Status claimCheckpoints();
  absl::Status loadInPart();
  absl::Status openCheckpoint();
  absl::Status chooseSchedule();
  int64_t chooseLastStep() const;
  absl::Status openInputsAndOutputs();
  void printHeading();
  absl::Status load();
  absl::Status timeStep();
  void finishTouching();
  absl::Status initialize();
  absl::Status runSteps();
  absl::Status timeStepThatRan(StepProgram &now);
  absl::Status runStep(int64_t step);
  absl::StatusOr<bool> watchLoss(int64_t step);
  absl::Status answerSpike(int64_t step);
  absl::Status goBack(int64_t step);
  absl::Status evaluate(bool isEnd);
  absl::Status save();
  // Prints progress; errors are ignored.
  void print(const std::string &text) {
    if (communicator.process() != 0 || text.empty())
      return;
    if (log)
      log->clear();
    std::fputs(text.c_str(), progress);
    std::fflush(progress);
  }
  absl::Status printResult(const std::string &text) {
    return log ? log->print(text) : absl::OkStatus();
  }
  absl::Status printSummary();
  absl::Status saveTrace(const StepTrace &rows);

  const proto::Executable &program;
  Client &client;
  Communicator &communicator;
  const TrainOptions &options;
  std::FILE *out, *progress;

  LearningRateSchedule schedule;
  // Created first, so that a signal during loading is not lost.
  RunControl control;
  BatchSpec spec;
  std::vector<StateTensor> states;
  std::unique_ptr<BatchSource> source;
  std::unique_ptr<Evaluator> evaluator; // set if the run evaluates
  // Destroyed last of the outputs: others may be in the folder that it removes.
  RunSaves saves{program, states, communicator, options};
  std::unique_ptr<StepLog> log; // only in process 0
  std::unique_ptr<AtomicFile> trace, report;
  std::unique_ptr<CheckpointReader> resumed;
  std::string resumedPath; // path of the initial checkpoint; empty: none
  std::unique_ptr<PretrainedWeights> pretrained;
  std::unique_ptr<Executable> executable;
  int64_t touched = 0;                      // bytes, counted by the thread of `touching`
  std::unique_ptr<BackgroundTask> touching; // ends before the executable is destroyed
  StepPrograms steps{program};
  Feeder *feeder = nullptr; // of the full batch
  StepTime time;
  RecordedBatches recorded;
  StepTimers timers;                    // timers of a step for Megatron-LM's log
  std::map<std::string, double> events; // values of a simulated step
  TrainerState trainer;
  double hostSeconds = 0;
  std::vector<double> stepSeconds; ///< per step, without reading its batch
  int64_t stepsRun = 0;
  int64_t rowsOfStep = 0;
  SpikeWatch spikes{options.spikes};
  float lossOfStep = 0;
  int64_t spikeStep = 0, spikesThere = 0; // the latest step with a spike, and their number
  std::set<int64_t> leftOut;              // batches of spikes, by the number of rows before them
  int64_t lastStep = 0;                   // best knowledge before the run
};

bool readsLearningRate(const proto::Executable &program) {
  for (const proto::Group &group : program.groups())
    for (const proto::Input &input : group.inputs())
      if (input.role() == "scalar" && input.name() == "learning_rate")
        return true;
  return false;
}

int64_t Trainer::chooseLastStep() const {
  if (options.evaluation.only)
    return trainer.step;
  if (options.trainSamples > 0)
    return steps.ramp() ? steps.ramp()->countSteps(options.trainSamples)
                        : options.trainSamples / std::max<int64_t>(1, spec.batch);
  return options.trainSteps > 0 ? options.trainSteps : trainer.step + options.steps;
}

absl::Status Trainer::run() {
  ST_RETURN_IF_ERROR(checkTrainOptions(options, readsLearningRate(program)));
  ST_RETURN_IF_ERROR(openInputsAndOutputs());
  lastStep = chooseLastStep();
  const bool isWhole = options.trainSteps > 0 || options.trainSamples > 0;
  if (isWhole && trainer.step >= lastStep && !options.timingOnly && !options.evaluation.only) {
    print(
        absl::StrFormat("step %d of %d is done: nothing is left to do\n", trainer.step, lastStep));
    return absl::OkStatus();
  }
  printHeading();
  ST_RETURN_IF_ERROR(load());
  const bool isMeasured = !executable->isSimulated();
  const bool hasSteps = trainer.step < lastStep;
  if (isMeasured && !options.trace.empty() && !hasSteps)
    return absl::InvalidArgumentError("--trace has no step to measure: expected --steps above 0");
  const bool wantsTime = options.timingOnly || (trace && !isMeasured) || report;
  bool isTimed = wantsTime || (hasSteps && executable->isSimulated());
  if (isTimed && (options.timingOnly || !executable->timeDependsOnData()))
    ST_RETURN_IF_ERROR(timeStep());
  if (options.timingOnly)
    return printSummary();
  ST_RETURN_IF_ERROR(initialize());
  ST_RETURN_IF_ERROR(runSteps());
  if (!options.recordBatches.empty() && stepsRun > 0 && communicator.process() == 0)
    ST_RETURN_IF_ERROR(recorded.write(options.recordBatches));
  if (trainer.step >= lastStep)
    ST_RETURN_IF_ERROR(evaluate(/*isEnd=*/true));
  if (stepsRun > 0)
    ST_RETURN_IF_ERROR(printSummary());
  const bool isSaved = options.saving.isSeries() && saves.newestStep() == trainer.step;
  if (!options.save.empty() && !isSaved)
    ST_RETURN_IF_ERROR(save());
  const absl::Status saved = saves.finish();
  print(saves.takeReport());
  return saved;
}

absl::Status Trainer::runSteps() {
  if (log)
    log->begin({lastStep, std::max<int64_t>(1, spec.batch), spec.batch * spec.sequence, timers,
                printMemoryRange(program), events});
  // The first checkpoint that a spike can restore.
  if (options.spikes.restores() && saves.newestStep() < 0 && trainer.step < lastStep)
    ST_RETURN_IF_ERROR(save());
  ST_ASSIGN_OR_RETURN(AfterStep then, control.beforeFirst());
  while (then.end.empty() && trainer.step < lastStep) {
    const int64_t step = trainer.step + 1;
    ST_RETURN_IF_ERROR(runStep(step));
    ST_ASSIGN_OR_RETURN(const bool isSpike, watchLoss(step));
    if (isSpike) {
      ST_RETURN_IF_ERROR(answerSpike(step));
      continue;
    }
    ST_RETURN_IF_ERROR(saves.check());
    print(saves.takeReport());
    ST_ASSIGN_OR_RETURN(then, control.after(trainer.step));
    if (then.saves)
      ST_RETURN_IF_ERROR(save());
    if (then.end.empty())
      ST_RETURN_IF_ERROR(evaluate(/*isEnd=*/false));
  }
  if (!then.end.empty())
    print(absl::StrFormat("%s: the run ends after step %d of %d\n", then.end, trainer.step,
                          lastStep));
  return absl::OkStatus();
}

// Validates when due during training; at the end validates if not done, and tests. Does not change
// the state of the training.
absl::Status Trainer::evaluate(bool isEnd) {
  if (!evaluator)
    return absl::OkStatus();
  const bool isDue = evaluator->isDue(trainer.step);
  const bool wasDone = isEnd && isDue && stepsRun > 0;
  if (isEnd ? evaluator->hasValidation() && !wasDone : isDue) {
    ST_ASSIGN_OR_RETURN(const EvaluationReport report, evaluator->validate(trainer.step));
    if (log)
      ST_RETURN_IF_ERROR(log->write(report));
  }
  if (!isEnd || !evaluator->hasTest())
    return absl::OkStatus();
  ST_ASSIGN_OR_RETURN(const EvaluationReport report, evaluator->testAfter(trainer.step));
  return log ? log->write(report) : absl::OkStatus();
}

// Returns true if a spike restores a checkpoint. Returns an error if it ends the run.
absl::StatusOr<bool> Trainer::watchLoss(int64_t step) {
  const bool isFinite = std::isfinite(lossOfStep);
  if (options.spikes.isWatching() ? !spikes.isSpike(lossOfStep) : isFinite)
    return false;
  if (options.spikes.restores())
    return true;
  if (!isFinite)
    return absl::OutOfRangeError(absl::StrFormat("step %d: the loss is %s", step,
                                                 std::isnan(lossOfStep) ? "NaN" : "infinite"));
  return absl::OutOfRangeError(
      absl::StrFormat("step %d: the loss %.6g is a spike: expected at most %.6g (--on-spike=stop)",
                      step, lossOfStep, spikes.bound()));
}

// All processes read the same loss, so they act alike.
absl::Status Trainer::answerSpike(int64_t step) {
  constexpr int64_t kMostSpikes = 3;
  spikesThere = step > spikeStep ? 1 : spikesThere + 1;
  spikeStep = std::max(spikeStep, step);
  if (spikesThere > kMostSpikes)
    return absl::OutOfRangeError(
        absl::StrFormat("step %d: the loss %.6g is spike number %d in succession at or before step "
                        "%d: going back does not help (--on-spike=%s)",
                        step, lossOfStep, spikesThere, spikeStep, options.spikes.action));
  const int64_t seen = trainer.examples;
  // Its report is a line before the next one, which goBack() completes.
  ST_RETURN_IF_ERROR(saves.finish());
  print(saves.takeReport());
  print(absl::StrFormat("step %d: the loss %.6g is a spike, expected at most %.6g; ", step,
                        lossOfStep, spikes.bound()));
  ST_RETURN_IF_ERROR(goBack(step));
  if (options.spikes.action == "rewind")
    trainer.examples = seen;
  else
    leftOut.insert(seen - rowsOfStep);
  return absl::OkStatus();
}

absl::Status Trainer::goBack(int64_t step) {
  Stopwatch watch;
  std::string warnings;
  const auto warn = [&](const std::string &line) { warnings += line; };
  auto newest = openNewest(options.save, program, states, warn);
  if (!newest.ok() || !*newest)
    print("\n" + warnings);
  ST_ASSIGN_OR_RETURN(resumed, std::move(newest));
  if (!resumed)
    return absl::DataLossError(
        absl::StrFormat("%s: none of its checkpoints is complete, so step %d cannot go back to one",
                        options.save, step));
  ST_RETURN_IF_ERROR(resumed->restore(states, *executable));
  const uint32_t seed = trainer.seed;
  trainer = resumed->trainer();
  trainer.seed = seed;
  spikes.restore(trainer.recentLosses);
  resumed.reset();
  saves.setNewestStep(trainer.step);
  print(absl::StrFormat(
      "back to step %d in %.1f s, without %s (--on-spike=%s)\n", trainer.step, watch.seconds(),
      options.spikes.action == "skip" ? "the batch of the spike" : "the batches since",
      options.spikes.action));
  print(warnings);
  return absl::OkStatus();
}

// The schedule of the flags if given, else of the resumed run, else the program's rate.
absl::Status Trainer::chooseSchedule() {
  const int64_t batch = std::max<int64_t>(1, spec.batch);
  const double peak = program.optimizer().learning_rate();
  const int64_t length =
      options.trainSamples > 0 ? options.trainSamples / batch : options.trainSteps;
  ST_ASSIGN_OR_RETURN(schedule,
                      steps.ramp() ? resolveSampleSchedule(options.rate, peak, options.trainSamples)
                                   : resolveSchedule(options.rate, peak, batch, length));
  if (!resumed || !resumed->schedule() || *resumed->schedule() == schedule)
    return absl::OkStatus();
  const LearningRateSchedule &before = *resumed->schedule();
  const LearningRateOptions &rate = options.rate;
  if (rate.overridesCheckpoint) {
    print(absl::StrCat("the learning rate was ", before.describe(), "; it goes on as ",
                       schedule.describe(), "\n"));
    return absl::OkStatus();
  }
  // Megatron-LM's rule: the configuration's schedule must be the checkpoint's.
  if (rate.isGiven() && rate.isOfBinary && !rate.isCheckpoints)
    return absl::InvalidArgumentError(absl::StrCat(
        "the checkpoint's learning rate is ", before.describe(), ", but this binary's is ",
        schedule.describe(), "; give --use-checkpoint-lr-scheduler or --override-lr-scheduler"));
  if (rate.isGiven() && !rate.isCheckpoints) {
    print(absl::StrCat("warning: the learning rate was ", before.describe(), "; it goes on as ",
                       schedule.describe(), "\n"));
    return absl::OkStatus();
  }
  print(absl::StrCat("the learning rate goes on as in the checkpoint: ", before.describe(), "\n"));
  schedule = before;
  return absl::OkStatus();
}

bool hasLoss(const proto::Executable &program) {
  for (const proto::Group &group : program.groups())
    for (const proto::Output &output : group.outputs())
      if (output.role() == "loss")
        return true;
  return false;
}

// Claims the folder before opening other files: these may be in it, and leftovers of killed saves
// must be removed before anything is read.
absl::Status Trainer::claimCheckpoints() {
  if (options.save.empty())
    return absl::OkStatus();
  ST_RETURN_IF_ERROR(saves.claim());
  return communicator.numProcesses() > 1 ? communicator.barrier() : absl::OkStatus();
}

// Applies LoadOptions to --load: loads parameters like those of a pretrained model.
absl::Status Trainer::loadInPart() {
  ST_ASSIGN_OR_RETURN(pretrained, PretrainedWeights::open(resumedPath, program, states));
  print(pretrained->note());
  if (!options.load.finetune)
    trainer = resumed->trainer();
  resumed.reset();
  return absl::OkStatus();
}

absl::Status Trainer::openCheckpoint() {
  const auto warn = [&](const std::string &line) { print(line); };
  const std::string path = chooseCheckpoint(options, warn);
  const bool goesOn = options.saving.isSeries() && options.resume.empty() && path == options.save;
  if (path.empty())
    return absl::OkStatus();
  if (goesOn || (!holdsCheckpoint(path) && !listSeries(path).empty())) {
    ST_ASSIGN_OR_RETURN(resumed, openNewest(path, program, states, warn));
    if (!resumed && !goesOn)
      return absl::DataLossError(absl::StrCat(path, ": none of its checkpoints is complete"));
  } else {
    ST_ASSIGN_OR_RETURN(resumed, CheckpointReader::open(path, program, states));
  }
  if (!resumed)
    return absl::OkStatus();
  resumedPath = checkpointAt(path, resumed->trainer().step);
  if (!goesOn && (options.load.finetune || options.load.withoutOptimizer))
    return loadInPart();
  trainer = resumed->trainer();
  spikes.restore(trainer.recentLosses);
  if (options.supervisor)
    options.supervisor->step = trainer.step;
  print(resumed->warnings());
  if (goesOn) {
    saves.setNewestStep(trainer.step);
    print(absl::StrFormat("going on after step %d of %s\n", trainer.step, escapeControls(path)));
  } else if (options.saving.isSeries()) {
    const std::vector<SeriesEntry> entries = listSeries(options.save);
    if (!entries.empty() && entries.front().step > trainer.step)
      return absl::InvalidArgumentError(absl::StrCat(
          options.save, ": holds step ", entries.front().step, ", later than step ", trainer.step,
          " of --resume; save to another folder or remove the later checkpoints"));
  }
  return absl::OkStatus();
}

// Reports all errors in the user's files before the long work starts.
absl::Status Trainer::openInputsAndOutputs() {
  if (!options.timingOnly && !hasLoss(program))
    return absl::InvalidArgumentError(
        "this program has no loss to minimise; run it with --inputs=FILE --outputs=FILE");
  ST_ASSIGN_OR_RETURN(states, collectStates(program));
  states = splitNamedRows(std::move(states));
  ST_ASSIGN_OR_RETURN(spec, batchSpecOf(program));
  ST_RETURN_IF_ERROR(steps.open(options.batchRamp, spec));
  ST_RETURN_IF_ERROR(claimCheckpoints());
  ST_RETURN_IF_ERROR(openCheckpoint());
  ST_RETURN_IF_ERROR(chooseSchedule());
  if (!options.init.empty() && !resumed) {
    ST_ASSIGN_OR_RETURN(pretrained, PretrainedWeights::open(options.init, program, states));
    print(pretrained->note());
  }
  if (!resumed || !options.isSeedOfBinary || options.load.withoutSeed)
    trainer.seed = options.seed.value_or(trainer.seed);
  spec.seed = trainer.seed;
  if (options.data && spec.inputs.empty())
    return absl::InvalidArgumentError("--data has no effect: this program reads no batches");
  if (!options.timingOnly && !spec.inputs.empty() &&
      (options.steps > 0 || options.trainSteps > 0 || options.trainSamples > 0 || options.data)) {
    spec.options = options.samples;
    ST_ASSIGN_OR_RETURN(
        source, createBatchSource(options.data.value_or("synthetic"), steps.sourceSpec(spec)));
    source = readAhead(std::move(source), 2 * static_cast<int>(steps.sourceBatches()));
  }
  if (options.evaluation.isWanted()) {
    spec.options = options.samples;
    ST_ASSIGN_OR_RETURN(evaluator, Evaluator::open(program, options.evaluation, spec));
  }
  if (communicator.process() != 0)
    return absl::OkStatus();
  if (!options.trace.empty()) {
    ST_ASSIGN_OR_RETURN(trace, AtomicFile::create(options.trace));
  }
  if (!options.report.empty()) {
    ST_ASSIGN_OR_RETURN(report, AtomicFile::create(options.report));
  }
  ST_ASSIGN_OR_RETURN(
      log, StepLog::open(options.log, /*appends=*/saves.newestStep() >= 0, out, progress));
  return absl::OkStatus();
}

// Prints the beginning of the log, which --replay reads.
void Trainer::printHeading() {
  if (options.heading.empty())
    return;
  std::string text = options.heading;
  absl::StrAppend(&text, "# seed ", trainer.seed, ", after step ", trainer.step, "\n");
  if (readsLearningRate(program))
    absl::StrAppend(&text, "# learning rate ", schedule.describe(), "\n");
  if (!resumedPath.empty())
    absl::StrAppend(&text, "# resumed ", escapeControls(resumedPath), "\n");
  print(absl::StrCat(text, kConfigurationEnd, "\n"));
}

absl::Status Trainer::load() {
  if (!options.timingOnly)
    ST_RETURN_IF_ERROR(checkHostMemory(program));
  ST_ASSIGN_OR_RETURN(executable, client.load(program));
  constexpr double kGibibyte = 1 << 30;
  print(absl::StrFormat("%d ranks on %d devices, %.1f GiB of device memory", executable->numRanks(),
                        client.devices().size(), arenaBytes(program) / kGibibyte));
  if (const double onHost = hostArenaBytes(program); onHost > 0)
    print(absl::StrFormat(", %.1f GiB of the host's", onHost / kGibibyte));
  if (communicator.numProcesses() > 1)
    print(absl::StrFormat(", in %d processes", communicator.numProcesses()));
  print("\n");
  ST_RETURN_IF_ERROR(steps.load(*executable));
  feeder = steps.ofRows(std::max<int64_t>(1, spec.batch)).feeder.get();
  if (!options.timingOnly && fitsFreeMemory(program, communicator.numProcesses()))
    touching = std::make_unique<BackgroundTask>([this] {
      touched = executable->touchMemory(hostThreadCount(options.hostThreads));
      return absl::OkStatus();
    });
  return evaluator && !options.timingOnly ? evaluator->load(*executable) : absl::OkStatus();
}

absl::Status Trainer::timeStep() {
  Stopwatch watch;
  StepTrace rows;
  StepTimeline timeline;
  const bool isFixed = !executable->timeDependsOnData();
  const bool hasTimers = log && options.log.style == "megatron" && isFixed;
  const bool hasEvents = log && !options.log.tensorboard.empty() && isFixed;
  const bool hasPhases = hasTimers || hasEvents || (report && isFixed);
  ST_ASSIGN_OR_RETURN(time, executable->timeStep(trace || hasTimers ? &rows : nullptr,
                                                 hasPhases ? &timeline : nullptr));
  if (hasTimers)
    timers = megatronTimers(program, timeline, rows);
  if (hasEvents)
    events = simulatedEvents(program, time, timeline);
  print(absl::StrFormat("timed one step in %.1f s", watch.seconds()));
  if (time.simulatedTasks < time.tasks)
    print(absl::StrFormat(", %d of %d runs of a task simulated", time.simulatedTasks, time.tasks));
  print("\n");
  if (report) {
    ST_RETURN_IF_ERROR(report->write(
        printStepTimeJson(time, program, timeline.ranks.empty() ? nullptr : &timeline)));
    ST_RETURN_IF_ERROR(report->commit());
  }
  return saveTrace(rows);
}

absl::Status Trainer::saveTrace(const StepTrace &rows) {
  if (!trace)
    return absl::OkStatus();
  ST_RETURN_IF_ERROR(writeTrace(rows, *trace));
  return trace->commit();
}

// Waits for the task that touches the host's memory during the timing, before the first step.
void Trainer::finishTouching() {
  if (!touching)
    return;
  Stopwatch watch;
  touching->wait();
  constexpr double kGibibyte = 1 << 30;
  if (touched > kGibibyte / 4)
    print(absl::StrFormat("took %.1f GiB of memory from the host in %.1f s; training waited %.1f s "
                          "for it\n",
                          static_cast<double>(touched) / kGibibyte, touching->seconds(),
                          watch.seconds()));
  touching.reset();
}

absl::Status Trainer::initialize() {
  finishTouching();
  Stopwatch watch;
  std::string what = "initialised the model";
  if (resumed) {
    ST_RETURN_IF_ERROR(resumed->restore(states, *executable));
    resumed.reset();
    what = absl::StrCat("read the checkpoint of step ", trainer.step);
  } else {
    ST_RETURN_IF_ERROR(
        initializeStates(states, *executable, trainer.seed, hostThreadCount(options.hostThreads)));
    if (pretrained)
      ST_RETURN_IF_ERROR(pretrained->apply(*executable));
    pretrained.reset();
  }
  print(absl::StrFormat("%s in %.1f s\n", what, watch.seconds()));
  return absl::OkStatus();
}

// Steps whose time depends on data are timed separately; the first one is traced.
absl::Status Trainer::timeStepThatRan(StepProgram &now) {
  const bool depends = executable->timeDependsOnData(), isFull = steps.isFull(rowsOfStep);
  if (isFull && depends && stepsRun == 0)
    return timeStep();
  if (!depends && (isFull || now.time))
    return absl::OkStatus();
  ST_ASSIGN_OR_RETURN(now.time, now.executable->timeStep(nullptr, nullptr));
  if (isFull)
    time = *now.time;
  return absl::OkStatus();
}

absl::Status Trainer::runStep(int64_t step) {
  Stopwatch watch;
  Batch batch;
  while (source && leftOut.count(trainer.examples))
    trainer.examples += steps.rowsAt(trainer.examples);
  rowsOfStep = steps.rowsAt(trainer.examples);
  StepProgram &now = steps.ofRows(rowsOfStep);
  if (source) {
    ST_ASSIGN_OR_RETURN(batch, steps.read(*source, trainer.examples, rowsOfStep,
                                          options.recordBatches.empty() ? nullptr : &recorded));
    trainer.examples += rowsOfStep;
  }
  StepReport report;
  if (steps.ramp())
    report.batch = rowsOfStep;
  report.step = step;
  // A skipped step does not count in the schedule.
  ST_ASSIGN_OR_RETURN(const int64_t skipped, feeder->readSkippedSteps());
  report.learningRate = schedule.at(
      schedule.countsSamples ? trainer.examples - trainer.skippedExamples : step - skipped);
  ST_RETURN_IF_ERROR(now.feeder->feed(batch, {trainer.seed, step, report.learningRate}));
  report.dataSeconds = watch.seconds();
  // Traces the last step, which is typical unlike the first.
  const bool isTraced = !executable->isSimulated() && !options.trace.empty() && step == lastStep;
  if (isTraced)
    ST_RETURN_IF_ERROR(now.executable->traceNextStep());
  ST_RETURN_IF_ERROR(now.executable->launchStep().wait());
  if (isTraced) {
    ST_ASSIGN_OR_RETURN(const StepTrace rows, now.executable->tracedStep());
    ST_RETURN_IF_ERROR(saveTrace(rows));
  }
  ST_ASSIGN_OR_RETURN(report.loss, now.feeder->readLoss());
  lossOfStep = report.loss;
  ST_ASSIGN_OR_RETURN(report.metrics, now.feeder->readMetrics());
  if (options.log.hasParameterNorm && (options.log.isLogged(step) || step == lastStep)) {
    ST_ASSIGN_OR_RETURN(const double norm, parameterNorm(states, *executable));
    report.metrics["params_norm"] = static_cast<float>(norm);
  }
  if (feeder->skipsSteps()) {
    ST_ASSIGN_OR_RETURN(const int64_t count, feeder->readSkippedSteps());
    report.metrics["skipped_steps"] = static_cast<float>(count);
    if (steps.ramp() && count > skipped)
      trainer.skippedExamples += rowsOfStep;
  }
  if (executable->isSimulated()) {
    ST_RETURN_IF_ERROR(timeStepThatRan(now));
    report.simulatedPicoseconds = steps.isFull(rowsOfStep) ? time.total : now.time->total;
  }
  report.hostSeconds = watch.seconds();
  hostSeconds += report.hostSeconds;
  if (steps.isFull(rowsOfStep)) // as the prediction
    stepSeconds.push_back(report.hostSeconds - report.dataSeconds);
  ++stepsRun;
  trainer.step = step;
  if (options.supervisor)
    options.supervisor->done(step);
  // JSON and TensorBoard have no NaN; later lines report the error.
  return log && std::isfinite(report.loss) ? log->write(report, trainer.examples)
                                           : absl::OkStatus();
}

absl::Status Trainer::printSummary() {
  constexpr double kPicosecondsPerSecond = 1e12;
  if (!executable->isSimulated())
    return printResult(
        absl::StrFormat("avg_step_fps host %.6g\n", static_cast<double>(stepsRun) / hostSeconds) +
        printMemory(program) + compareMeasured(program, stepSeconds));
  std::string text = absl::StrFormat("avg_step_fps simulated %.6g",
                                     kPicosecondsPerSecond / static_cast<double>(time.total));
  if (stepsRun > 0)
    absl::StrAppendFormat(&text, ", host %.6g", static_cast<double>(stepsRun) / hostSeconds);
  absl::StrAppend(&text, "\nsimulated step ", printMilliseconds(time.total), " ms (roofline bound ",
                  printMilliseconds(time.lowerBound), " ms, sum of all instructions ",
                  printMilliseconds(time.serialSum), " ms)\n");
  // Gathered by all processes. The prediction is that of a full batch.
  const bool hasWork = stepsRun > 0 && steps.isFull(rowsOfStep);
  StepWork executed;
  if (hasWork) {
    ST_ASSIGN_OR_RETURN(executed, executable->lastStepWork());
  }
  if (communicator.process() != 0)
    return absl::OkStatus();
  return printResult(text + printMemory(program) +
                     comparePrediction(program, time, hasWork ? &executed : nullptr));
}

absl::Status Trainer::save() {
  trainer.recentLosses = options.spikes.isWatching() ? spikes.losses() : std::vector<double>();
  const absl::Status status = saves.begin(
      *executable, trainer, readsLearningRate(program) ? std::optional(schedule) : std::nullopt);
  print(saves.takeReport());
  return status;
}

} // namespace

absl::Status train(const proto::Executable &program, Client &client, Communicator &communicator,
                   const TrainOptions &options, std::FILE *out, std::FILE *progress) {
  return Trainer(program, client, communicator, options, out, progress).run();
}

} // namespace st
