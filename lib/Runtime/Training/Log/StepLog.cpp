#include "lib/Runtime/Training/Log/StepLog.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"

#include <cerrno>
#include <cstring>
#include <map>
#include <unistd.h>
#include <utility>

namespace st {
namespace {

// Time of a step: on a simulated device the simulated time.
double millisecondsOf(const StepReport &report) {
  constexpr double kPicosecondsPerMillisecond = 1e9, kMillisecondsPerSecond = 1e3;
  return report.simulatedPicoseconds
             ? static_cast<double>(*report.simulatedPicoseconds) / kPicosecondsPerMillisecond
             : report.hostSeconds * kMillisecondsPerSecond;
}

std::string printDuration(double seconds) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86400;
  if (seconds < 2 * kMinute)
    return absl::StrFormat("%.0f s", seconds);
  if (seconds < 2 * kHour)
    return absl::StrFormat("%.0f min", seconds / kMinute);
  return seconds < 2 * kDay ? absl::StrFormat("%.1f h", seconds / kHour)
                            : absl::StrFormat("%.1f days", seconds / kDay);
}

} // namespace

StepLog::StepLog(const LogOptions &options, std::FILE *out, std::FILE *progress)
    : options(options), out(out), progress(progress),
      isTerminal(::isatty(::fileno(progress)) == 1) {}

absl::StatusOr<std::unique_ptr<StepLog>> StepLog::open(const LogOptions &options, bool appends,
                                                       std::FILE *out, std::FILE *progress) {
  if (options.style != "st" && options.style != "megatron")
    return absl::InvalidArgumentError(
        absl::StrCat("--log-style=", options.style, ": expected st or megatron"));
  if (options.interval < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("--log-interval=", options.interval, ": expected 1 or more"));
  if (options.eventInterval < 1)
    return absl::InvalidArgumentError(
        absl::StrCat("--tensorboard-log-interval=", options.eventInterval, ": expected 1 or more"));
  std::unique_ptr<StepLog> log(new StepLog(options, out, progress));
  if (!options.metrics.empty()) {
    ST_ASSIGN_OR_RETURN(log->metrics, LineFile::create(options.metrics, appends));
  }
  if (!options.tensorboard.empty()) {
    ST_ASSIGN_OR_RETURN(log->events, EventFile::create(options.tensorboard));
  }
  return log;
}

void StepLog::setTimers(StepTimers timers, std::map<std::string, double> events) {
  run.timers = std::move(timers);
  run.events = std::move(events);
}

absl::Status StepLog::write(const StepReport &report, int64_t examples) {
  clear();
  ++steps;
  loss += report.loss;
  milliseconds += millisecondsOf(report);
  dataSeconds += report.dataSeconds;
  if (report.stragglers)
    slowestProcess = report.stragglers->slowest;
  ++sampledSteps;
  samples += report.batch.value_or(run.batch);
  sampledMilliseconds += millisecondsOf(report);
  if (report.step % options.interval == 0 || report.step == run.lastStep)
    ST_RETURN_IF_ERROR(writeLine(report, examples));
  if (metrics)
    ST_RETURN_IF_ERROR(metrics->write(printStepJson(report)));
  if (events && (report.step % options.eventInterval == 0 || report.step == run.lastStep))
    ST_RETURN_IF_ERROR(writeEvents(report));
  showProgress(report);
  return absl::OkStatus();
}

absl::Status StepLog::write(const EvaluationReport &report) {
  ST_RETURN_IF_ERROR(print(options.style == "megatron" ? printMegatronEvaluation(report)
                                                       : printEvaluation(report)));
  if (metrics)
    ST_RETURN_IF_ERROR(metrics->write(printEvaluationJson(report)));
  if (!options.predictions.empty())
    ST_RETURN_IF_ERROR(writeFileAtomically(options.predictions, printPredictions(report)));
  return events ? events->write(report.step, tagEvaluation(report)) : absl::OkStatus();
}

absl::Status StepLog::writeLine(const StepReport &report, int64_t examples) {
  const std::string lines =
      options.style == "megatron" ? printMegatronLines(report, examples) : printStep(report);
  steps = 0;
  loss = milliseconds = dataSeconds = 0;
  return print(lines);
}

// Megatron-LM prints the memory once, and its users log the time per sample over 100 iterations.
std::string StepLog::printMegatronLines(const StepReport &report, int64_t examples) {
  constexpr int64_t kSampled = 100;
  const double count = static_cast<double>(steps);
  std::string text = printMegatronLine(report, run, examples, loss / count, milliseconds / count);
  if (!run.timers.empty())
    text += printTimers(run.timers, 1e3 * dataSeconds / count);
  if (!hasMemory)
    text += run.memory;
  hasMemory = true;
  if (sampledSteps >= kSampled || report.step == run.lastStep) {
    text += printSampleTime(sampledSteps, samples, sampledMilliseconds);
    sampledSteps = samples = 0;
    sampledMilliseconds = 0;
  }
  return text;
}

absl::Status StepLog::writeEvents(const StepReport &report) {
  constexpr double kMillisecondsPerSecond = 1e3;
  const double seconds = millisecondsOf(report) / kMillisecondsPerSecond;
  const auto rows = static_cast<double>(report.batch.value_or(run.batch));
  std::map<std::string, double> scalars = {{"loss", report.loss},
                                           {"learning-rate", report.learningRate},
                                           {"batch-size", rows},
                                           {"iteration-time", seconds},
                                           {"host-time", report.hostSeconds},
                                           {"data-time", report.dataSeconds}};
  if (run.tokens > 0 && seconds > 0)
    scalars["tokens-per-second"] =
        static_cast<double>(run.tokens) * rows / static_cast<double>(run.batch) / seconds;
  for (const auto &[name, value] : report.metrics)
    scalars[name] = value;
  scalars.insert(run.events.begin(), run.events.end());
  if (slowestProcess)
    scalars["slowest-process"] = *slowestProcess;
  slowestProcess.reset();
  return events->write(report.step, scalars);
}

void StepLog::showProgress(const StepReport &report) {
  if (!isTerminal || report.step == run.lastStep)
    return;
  // The first step touches all memory, so its time counts only until the second step.
  if (timedSteps == 1 && isFirstCounted) {
    timedSteps = 0;
    timedSeconds = 0;
    isFirstCounted = false;
  }
  timedSeconds += report.hostSeconds;
  ++timedSteps;
  const double each = timedSeconds / static_cast<double>(timedSteps);
  std::string text =
      absl::StrFormat("step %d of %d, %s left", report.step, run.lastStep,
                      printDuration(each * static_cast<double>(run.lastStep - report.step)));
  if (run.tokens > 0 && each > 0)
    absl::StrAppend(&text, ", ", printFigure(static_cast<double>(run.tokens) / each),
                    " tokens/s on this host");
  std::fprintf(progress, "%s", text.c_str());
  std::fflush(progress);
  isShown = true;
}

void StepLog::showEvaluation(int64_t batch, int64_t of) {
  if (!isTerminal)
    return;
  clear();
  std::fprintf(progress, "evaluation: batch %lld of %lld", static_cast<long long>(batch + 1),
               static_cast<long long>(of));
  std::fflush(progress);
  isShown = true;
}

void StepLog::clear() {
  if (!isShown)
    return;
  std::fputs("\r\033[K", progress);
  std::fflush(progress);
  isShown = false;
}

absl::Status StepLog::print(const std::string &text) {
  clear();
  if (std::fputs(text.c_str(), out) < 0 || std::fflush(out) != 0)
    return absl::UnavailableError(
        absl::StrCat("cannot write to standard output: ", std::strerror(errno)));
  return absl::OkStatus();
}

std::string printMegatronLine(const StepReport &report, const LoggedRun &run, int64_t examples,
                              double loss, double milliseconds) {
  std::string line = absl::StrFormat(
      " iteration %8d/%8d | consumed samples: %12d | elapsed time per iteration (ms): %.1f | "
      "learning rate: %.3E | global batch size: %5d | lm loss: %.6E |",
      report.step, run.lastStep, examples, milliseconds, report.learningRate,
      report.batch.value_or(run.batch), loss);
  const auto add = [&](const char *label, const char *name) {
    if (auto it = report.metrics.find(name); it != report.metrics.end())
      absl::StrAppendFormat(&line, " %s: %.3f |", label, it->second);
  };
  add("loss scale", "loss_scale");
  add("grad norm", "grad_norm");
  if (auto it = report.metrics.find("num_zeros"); it != report.metrics.end())
    absl::StrAppendFormat(&line, " num zeros: %.1f |", it->second);
  add("params norm", "params_norm");
  return line + "\n";
}

} // namespace st
