#include "lib/Runtime/Training/Trainer.h"
#include "lib/Runtime/BackgroundTask.h"
#include "lib/Runtime/Data/ReadAhead.h"
#include "lib/Runtime/Data/RecordedBatches.h"
#include "lib/Runtime/HostMemory.h"
#include "lib/Runtime/Parallel.h"
#include "lib/Runtime/Program/Prediction.h"
#include "lib/Runtime/Report.h"
#include "lib/Runtime/State/ParameterNorm.h"
#include "lib/Runtime/State/StateRows.h"
#include "lib/Runtime/State/States.h"
#include "lib/Runtime/Stopwatch.h"
#include "lib/Runtime/Training/LearningRate.h"
#include "lib/Runtime/Training/RunControl.h"
#include "lib/Runtime/Training/RunSaves.h"
#include "lib/Runtime/Training/RunStart.h"
#include "lib/Runtime/Training/SpikeRecovery.h"
#include "lib/Runtime/Training/StepPrograms.h"
#include "lib/Runtime/Training/StepTiming.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

namespace st {
namespace {

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
  int64_t chooseLastStep() const;
  absl::Status openInputsAndOutputs();
  void printHeading();
  absl::Status load();
  absl::Status timeStep() {
    return timing.time(*executable, [this](const std::string &text) { print(text); });
  }
  void finishTouching();
  absl::Status initialize();
  absl::Status runSteps();
  absl::Status timeStepThatRan(StepProgram &now);
  absl::Status launch(StepProgram &now, int64_t step);
  absl::Status runStep(int64_t step);
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
  RunStart start{program, states, options, [this](const std::string &text) { print(text); }};
  std::unique_ptr<Executable> executable;
  int64_t touched = 0;                      // bytes, counted by the thread of `touching`
  std::unique_ptr<BackgroundTask> touching; // ends before the executable is destroyed
  StepPrograms steps{program};
  Feeder *feeder = nullptr; // of the full batch
  StepTiming timing{program, options};
  RecordedBatches recorded;
  TrainerState trainer;
  double hostSeconds = 0;
  std::vector<double> stepSeconds; ///< per step, without reading its batch
  int64_t stepsRun = 0;
  int64_t rowsOfStep = 0;
  SpikeRecovery spikes{program, states,  steps,
                       saves,   options, [this](const std::string &text) { print(text); }};
  StragglerWatch stragglers{program, communicator, options.stragglers};
  float lossOfStep = 0;
  int64_t lastStep = 0; // best knowledge before the run
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
  const bool hasTotalLength = options.trainSteps > 0 || options.trainSamples > 0;
  if (hasTotalLength && trainer.step >= lastStep && !options.timingOnly &&
      !options.evaluation.only) {
    print(absl::StrFormat("step %d of %d is done: no steps remain\n", trainer.step, lastStep));
    return absl::OkStatus();
  }
  printHeading();
  ST_RETURN_IF_ERROR(load());
  const bool isMeasured = !executable->isSimulated();
  const bool hasSteps = trainer.step < lastStep;
  if (isMeasured && !options.trace.empty() && !hasSteps)
    return absl::InvalidArgumentError("--trace has no step to measure: expected --steps above 0");
  const bool wantsTime =
      options.timingOnly || (timing.hasTrace() && !isMeasured) || timing.hasReport();
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
    log->begin({lastStep, std::max<int64_t>(1, spec.batch), spec.batch * spec.sequence,
                timing.timers, printMemoryRange(program), timing.events});
  // The first checkpoint that a spike can restore.
  if (options.spikes.restores() && saves.newestStep() < 0 && trainer.step < lastStep)
    ST_RETURN_IF_ERROR(save());
  ST_ASSIGN_OR_RETURN(AfterStep then, control.beforeFirst());
  while (then.end.empty() && trainer.step < lastStep) {
    const int64_t step = trainer.step + 1;
    ST_RETURN_IF_ERROR(runStep(step));
    const EndedStep ended = {step, lossOfStep, rowsOfStep};
    ST_ASSIGN_OR_RETURN(const bool isSpike, spikes.watch(ended));
    if (isSpike) {
      ST_RETURN_IF_ERROR(spikes.returnToCheckpoint(ended, trainer, *executable));
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
  const auto showProgress = [&](int64_t batch, int64_t of) {
    if (log)
      log->showEvaluation(batch, of);
  };
  const bool isDue = evaluator->isDue(trainer.step);
  const bool wasDone = isEnd && isDue && stepsRun > 0;
  if (isEnd ? evaluator->hasValidation() && !wasDone : isDue) {
    ST_ASSIGN_OR_RETURN(const EvaluationReport report,
                        evaluator->validate(trainer.step, showProgress));
    if (log)
      ST_RETURN_IF_ERROR(log->write(report));
  }
  if (!isEnd || !evaluator->hasTest())
    return absl::OkStatus();
  ST_ASSIGN_OR_RETURN(const EvaluationReport report,
                      evaluator->testAfter(trainer.step, showProgress));
  return log ? log->write(report) : absl::OkStatus();
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
  ST_RETURN_IF_ERROR(start.openCheckpoint(saves, trainer));
  if (start.continues())
    spikes.restore(trainer.recentLosses);
  ST_ASSIGN_OR_RETURN(schedule, start.chooseSchedule(steps, std::max<int64_t>(1, spec.batch)));
  ST_RETURN_IF_ERROR(start.openWeights());
  if (!start.continues() || !options.isSeedOfBinary || options.load.withoutSeed)
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
  if (options.evaluation.isEnabled()) {
    spec.options = options.samples;
    ST_ASSIGN_OR_RETURN(evaluator, Evaluator::open(program, options.evaluation, spec));
  }
  if (communicator.process() != 0)
    return absl::OkStatus();
  ST_RETURN_IF_ERROR(timing.open());
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
  if (!start.path().empty())
    absl::StrAppend(&text, "# resumed ", escapeControls(start.path()), "\n");
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

// Waits for the task that touches the host's memory during the timing, before the first step.
void Trainer::finishTouching() {
  if (!touching)
    return;
  Stopwatch watch;
  touching->wait();
  constexpr double kGibibyte = 1 << 30;
  if (touched > kGibibyte / 4)
    print(absl::StrFormat("allocated %.1f GiB of host memory in %.1f s; training waited %.1f s "
                          "for it\n",
                          static_cast<double>(touched) / kGibibyte, touching->seconds(),
                          watch.seconds()));
  touching.reset();
}

absl::Status Trainer::initialize() {
  finishTouching();
  Stopwatch watch;
  ST_ASSIGN_OR_RETURN(const std::string what, start.load(*executable, trainer));
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
    timing.step = *now.time;
  return absl::OkStatus();
}

// Runs the step on the devices, and measures it if the log or the trace needs that.
absl::Status Trainer::launch(StepProgram &now, int64_t step) {
  const bool isReal = !executable->isSimulated();
  // The last step is traced, which is typical unlike the first.
  const bool isTraced = isReal && !options.trace.empty() && step == lastStep;
  const bool isTimed = isReal && steps.isFull(rowsOfStep) && timing.isMeasured(step);
  if (!isTraced && !isTimed)
    return now.executable->launchStep().wait();
  ST_RETURN_IF_ERROR(now.executable->traceNextStep());
  ST_RETURN_IF_ERROR(now.executable->launchStep().wait());
  ST_ASSIGN_OR_RETURN(const StepTrace rows, now.executable->tracedStep());
  if (isTimed && log) {
    timing.takeMeasured(rows);
    log->setTimers(timing.timers, timing.events);
  }
  return isTraced ? timing.saveTrace(rows) : absl::OkStatus();
}

absl::Status Trainer::runStep(int64_t step) {
  Stopwatch watch;
  Batch batch;
  while (source && spikes.skips(trainer.examples))
    spikes.skip(steps.rowsAt(trainer.examples), trainer);
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
  ST_RETURN_IF_ERROR(launch(now, step));
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
    report.simulatedPicoseconds = steps.isFull(rowsOfStep) ? timing.step.total : now.time->total;
  }
  ST_ASSIGN_OR_RETURN(report.stragglers, stragglers.after(now.executable->computeSeconds()));
  if (report.stragglers)
    print(report.stragglers->describeChanges());
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
    return printResult(absl::StrCat("avg_step_fps host ",
                                    printFigure(static_cast<double>(stepsRun) / hostSeconds),
                                    "\n") +
                       printMemory(program) + compareMeasured(program, stepSeconds));
  std::string text =
      absl::StrCat("avg_step_fps simulated ",
                   printFigure(kPicosecondsPerSecond / static_cast<double>(timing.step.total)));
  if (stepsRun > 0)
    absl::StrAppend(&text, ", host ", printFigure(static_cast<double>(stepsRun) / hostSeconds));
  absl::StrAppend(&text, "\nsimulated step ", printMilliseconds(timing.step.total),
                  " ms (roofline bound ", printMilliseconds(timing.step.lowerBound),
                  " ms, sum of all instructions ", printMilliseconds(timing.step.serialSum),
                  " ms)\n");
  // Gathered by all processes. The prediction is that of a full batch.
  const bool hasWork = stepsRun > 0 && steps.isFull(rowsOfStep);
  StepWork executed;
  if (hasWork) {
    ST_ASSIGN_OR_RETURN(executed, executable->lastStepWork());
  }
  if (communicator.process() != 0)
    return absl::OkStatus();
  return printResult(text + printMemory(program) +
                     comparePrediction(program, timing.step, hasWork ? &executed : nullptr));
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
