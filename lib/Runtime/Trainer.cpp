#include "lib/Runtime/Trainer.h"
#include "lib/Runtime/Checkpoint.h"
#include "lib/Runtime/Feeder.h"
#include "lib/Runtime/HostMemory.h"
#include "lib/Runtime/LearningRate.h"
#include "lib/Runtime/Parallel.h"
#include "lib/Runtime/Prediction.h"
#include "lib/Runtime/Pretrained.h"
#include "lib/Runtime/Report.h"
#include "lib/Runtime/States.h"
#include "lib/Runtime/TraceWriter.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <memory>
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
        progress(progress) {}

  absl::Status run();

private:
  absl::Status checkOptions();
  absl::Status openInputsAndOutputs();
  absl::Status load();
  absl::Status timeStep();
  absl::Status initialize();
  absl::Status runStep(int64_t step);
  absl::Status save();
  // Progress, of which nobody misses a line.
  void print(const std::string &text) {
    if (communicator.process() != 0)
      return;
    std::fputs(text.c_str(), progress);
    std::fflush(progress);
  }
  absl::Status printResult(const std::string &text);
  absl::Status printSummary();
  absl::Status saveTrace(const StepTrace &rows);

  const proto::Executable &program;
  Client &client;
  Communicator &communicator;
  const TrainOptions &options;
  std::FILE *out, *progress;

  LearningRateSchedule schedule;
  BatchSpec spec;
  std::vector<StateTensor> states;
  std::unique_ptr<BatchSource> source;
  // Goes last of the outputs: the others may lie in the folder that it removes.
  std::unique_ptr<CheckpointFolder> checkpoint;
  std::unique_ptr<LineFile> metrics;
  std::unique_ptr<AtomicFile> trace, report;
  std::unique_ptr<CheckpointReader> resumed;
  std::unique_ptr<PretrainedWeights> pretrained;
  std::unique_ptr<Executable> executable;
  std::unique_ptr<Feeder> feeder;
  StepTime time;
  TrainerState trainer;
  double hostSeconds = 0;
  std::vector<double> stepSeconds; ///< of each step, reading its batch aside
  int64_t stepsRun = 0;
};

absl::Status require(bool holds, absl::string_view what) {
  return holds ? absl::OkStatus() : absl::InvalidArgumentError(what);
}

bool readsLearningRate(const proto::Executable &program) {
  for (const proto::Group &group : program.groups())
    for (const proto::Input &input : group.inputs())
      if (input.role() == "scalar" && input.name() == "learning_rate")
        return true;
  return false;
}

absl::Status Trainer::run() {
  ST_RETURN_IF_ERROR(checkOptions());
  ST_RETURN_IF_ERROR(openInputsAndOutputs());
  ST_RETURN_IF_ERROR(load());
  const bool isMeasured = !executable->isSimulated();
  if (isMeasured && !options.trace.empty() && options.steps == 0)
    return absl::InvalidArgumentError("--trace has no step to measure: expected --steps above 0");
  const bool wantsTime = options.timingOnly || (trace && !isMeasured) || report;
  bool isTimed = wantsTime || (options.steps > 0 && executable->isSimulated());
  if (isTimed && (options.timingOnly || !executable->timeDependsOnData()))
    ST_RETURN_IF_ERROR(timeStep());
  if (options.timingOnly)
    return printSummary();
  ST_RETURN_IF_ERROR(initialize());
  const int64_t before = trainer.step;
  for (int64_t i = 1; i <= options.steps; ++i)
    ST_RETURN_IF_ERROR(runStep(before + i));
  if (stepsRun > 0)
    ST_RETURN_IF_ERROR(printSummary());
  return options.save.empty() ? absl::OkStatus() : save();
}

absl::Status Trainer::checkOptions() {
  schedule.peak = options.learningRate.value_or(program.optimizer().learning_rate());
  schedule.warmup = options.warmup;
  schedule.total = options.decaySteps;
  constexpr int kMostThreads = 1024;
  ST_RETURN_IF_ERROR(
      require(options.steps >= 0, absl::StrCat("--steps=", options.steps, ": expected 0 or more")));
  ST_RETURN_IF_ERROR(
      require(schedule.peak >= 0 && std::isfinite(schedule.peak),
              absl::StrCat("--lr=", schedule.peak, ": expected a finite number from 0")));
  ST_RETURN_IF_ERROR(require(options.warmup >= 0,
                             absl::StrCat("--warmup=", options.warmup, ": expected 0 or more")));
  ST_RETURN_IF_ERROR(require(options.decaySteps == 0 || options.decaySteps > options.warmup,
                             absl::StrCat("--total-steps=", options.decaySteps,
                                          ": expected more than --warmup=", options.warmup)));
  ST_RETURN_IF_ERROR(require(
      options.hostThreads >= 0 && options.hostThreads <= kMostThreads,
      absl::StrCat("--host-threads=", options.hostThreads, ": expected 0 to ", kMostThreads)));
  ST_RETURN_IF_ERROR(
      require(options.init.empty() || options.resume.empty(),
              "--init starts a run and --resume goes on with one; give one of them"));
  const bool asksForRate = options.learningRate || options.warmup > 0 || options.decaySteps > 0;
  return require(readsLearningRate(program) || !asksForRate,
                 "--lr, --warmup and --total-steps have no effect: this program reads no "
                 "learning rate");
}

bool hasLoss(const proto::Executable &program) {
  for (const proto::Group &group : program.groups())
    for (const proto::Output &output : group.outputs())
      if (output.role() == "loss")
        return true;
  return false;
}

// Everything that can fail for the user's files fails here, before minutes of work.
absl::Status Trainer::openInputsAndOutputs() {
  if (!options.timingOnly && !hasLoss(program))
    return absl::InvalidArgumentError(
        "this program has no loss to train by; run it with --inputs=FILE --outputs=FILE");
  ST_ASSIGN_OR_RETURN(states, collectStates(program));
  ST_ASSIGN_OR_RETURN(spec, batchSpecOf(program));
  if (!options.resume.empty()) {
    ST_ASSIGN_OR_RETURN(resumed, CheckpointReader::open(options.resume, program, states));
    trainer = resumed->trainer();
    print(resumed->warnings());
  }
  if (!options.init.empty()) {
    ST_ASSIGN_OR_RETURN(pretrained, PretrainedWeights::open(options.init, program, states));
    print(pretrained->note());
  }
  trainer.seed = options.seed.value_or(trainer.seed);
  spec.seed = trainer.seed;
  if (options.data && spec.inputs.empty())
    return absl::InvalidArgumentError("--data has no effect: this program reads no batches");
  if (!options.timingOnly && !spec.inputs.empty() && (options.steps > 0 || options.data)) {
    ST_ASSIGN_OR_RETURN(source, createBatchSource(options.data.value_or("synthetic"), spec));
  }
  if (communicator.process() != 0)
    return absl::OkStatus();
  // The folder comes first: the other files may lie in it.
  if (!options.save.empty()) {
    ST_ASSIGN_OR_RETURN(checkpoint, CheckpointFolder::claim(options.save));
  }
  if (!options.trace.empty()) {
    ST_ASSIGN_OR_RETURN(trace, AtomicFile::create(options.trace));
  }
  if (!options.report.empty()) {
    ST_ASSIGN_OR_RETURN(report, AtomicFile::create(options.report));
  }
  if (!options.metrics.empty()) {
    ST_ASSIGN_OR_RETURN(metrics, LineFile::create(options.metrics));
  }
  return absl::OkStatus();
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
  feeder = std::make_unique<Feeder>(program, *executable);
  return absl::OkStatus();
}

absl::Status Trainer::timeStep() {
  Stopwatch watch;
  StepTrace rows;
  ST_ASSIGN_OR_RETURN(time, executable->timeStep(trace ? &rows : nullptr, nullptr));
  print(absl::StrFormat("timed one step in %.1f s", watch.seconds()));
  if (time.simulatedTasks < time.tasks)
    print(absl::StrFormat(", %d of %d runs of a task simulated", time.simulatedTasks, time.tasks));
  print("\n");
  if (report) {
    ST_RETURN_IF_ERROR(report->write(printStepTimeJson(time, program)));
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

absl::Status Trainer::initialize() {
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

absl::Status Trainer::runStep(int64_t step) {
  Stopwatch watch;
  Batch batch;
  if (source) {
    const int64_t rows = std::max<int64_t>(1, spec.batch);
    ST_ASSIGN_OR_RETURN(batch, source->batch((trainer.examples + rows - 1) / rows));
    trainer.examples += rows;
  }
  StepReport report;
  report.step = step;
  report.learningRate = schedule.at(step);
  ST_RETURN_IF_ERROR(feeder->feed(batch, {trainer.seed, step, report.learningRate}));
  report.dataSeconds = watch.seconds();
  // The last one is as all others but the first are.
  const bool isTraced =
      !executable->isSimulated() && !options.trace.empty() && stepsRun + 1 == options.steps;
  if (isTraced)
    ST_RETURN_IF_ERROR(executable->traceNextStep());
  ST_RETURN_IF_ERROR(executable->launchStep().wait());
  if (isTraced) {
    ST_ASSIGN_OR_RETURN(const StepTrace rows, executable->tracedStep());
    ST_RETURN_IF_ERROR(saveTrace(rows));
  }
  ST_ASSIGN_OR_RETURN(report.loss, feeder->readLoss());
  if (!std::isfinite(report.loss))
    return absl::OutOfRangeError(absl::StrFormat("step %d: the loss is %s", step,
                                                 std::isnan(report.loss) ? "NaN" : "infinite"));
  ST_ASSIGN_OR_RETURN(report.metrics, feeder->readMetrics());
  if (executable->timeDependsOnData()) {
    // Each step takes its own time; the first is the one that is traced.
    if (stepsRun == 0) {
      ST_RETURN_IF_ERROR(timeStep());
    } else {
      ST_ASSIGN_OR_RETURN(time, executable->timeStep(nullptr, nullptr));
    }
  }
  if (executable->isSimulated())
    report.simulatedPicoseconds = time.total;
  report.hostSeconds = watch.seconds();
  hostSeconds += report.hostSeconds;
  stepSeconds.push_back(report.hostSeconds - report.dataSeconds);
  ++stepsRun;
  trainer.step = step;
  ST_RETURN_IF_ERROR(printResult(printStep(report)));
  return metrics ? metrics->write(printStepJson(report)) : absl::OkStatus();
}

absl::Status Trainer::printResult(const std::string &text) {
  if (communicator.process() == 0 && (std::fputs(text.c_str(), out) < 0 || std::fflush(out) != 0))
    return absl::UnavailableError(
        absl::StrCat("cannot write to standard output: ", std::strerror(errno)));
  return absl::OkStatus();
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
  StepWork executed;
  if (stepsRun > 0) {
    ST_ASSIGN_OR_RETURN(executed, executable->lastStepWork());
  }
  return printResult(text + printMemory(program) +
                     comparePrediction(program, time, stepsRun > 0 ? &executed : nullptr));
}

absl::Status Trainer::save() {
  Stopwatch watch;
  // What one process writes all read together.
  ST_RETURN_IF_ERROR(checkpoint ? checkpoint->save(program, states, *executable, trainer)
                                : CheckpointFolder::readAll(states, *executable));
  print(absl::StrFormat("saved step %d to %s in %.1f s\n", trainer.step,
                        escapeControls(options.save), watch.seconds()));
  return communicator.barrier();
}

} // namespace

absl::Status train(const proto::Executable &program, Client &client, Communicator &communicator,
                   const TrainOptions &options, std::FILE *out, std::FILE *progress) {
  return Trainer(program, client, communicator, options, out, progress).run();
}

} // namespace st
