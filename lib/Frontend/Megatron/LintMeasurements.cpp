//===- LintMeasurements.cpp - Contradictions with what was measured -------===//

#include "lib/Frontend/Megatron/LintChecks.h"

#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;

/// Returns true if the batch does not grow during the training, so that the number of samples is a
/// multiple of it.
static bool batchIsFixed(const Linter &linter) {
  return linter.layout.globalBatch > 0 && !linter.log.find("rampup_batch_size");
}

static void checkSamples(Linter &linter) {
  if (!batchIsFixed(linter))
    return;
  for (const LoggedSamples &logged : linter.log.measured.samples) {
    int64_t expected = saturatingProduct({logged.iterations, linter.layout.globalBatch});
    if (expected != logged.samples)
      linter.report("sample-count", {"global_batch_size"}, logged.line, "samples",
                    Twine(logged.samples),
                    Twine(logged.iterations) + " iterations at a global batch of " +
                        Twine(linter.layout.globalBatch) + " are " + Twine(expected) +
                        " samples, not " + Twine(logged.samples));
  }
}

static void checkConsumed(Linter &linter) {
  int64_t batch = linter.layout.globalBatch;
  const LoggedIteration *before = nullptr;
  for (const LoggedIteration &logged : linter.log.measured.iterations) {
    if (batch > 0 && logged.globalBatch && *logged.globalBatch != batch)
      linter.report("iteration-batch", {"global_batch_size"}, logged.line,
                    "printed global batch size", Twine(*logged.globalBatch),
                    "an iteration prints a global batch of " + Twine(*logged.globalBatch) +
                        ", the arguments specify " + Twine(batch));
    // Without a checkpoint the count begins at zero; otherwise it continues.
    bool isFresh = linter.log.dumpLine != 0 && !linter.log.find("load");
    int64_t iterations = before ? logged.iteration - before->iteration : logged.iteration;
    int64_t start = before ? before->consumedSamples.value_or(0) : 0;
    bool isKnown =
        logged.consumedSamples && (before ? before->consumedSamples.has_value() : isFresh);
    if (isKnown && iterations > 0) {
      int64_t expected = saturatingProduct({iterations, batch});
      if (llvm::AddOverflow(start, expected, expected))
        expected = INT64_MAX;
      if (expected != *logged.consumedSamples)
        linter.report("consumed-samples", {"global_batch_size"}, logged.line, "consumed samples",
                      Twine(*logged.consumedSamples),
                      "after " + Twine(iterations) + " iterations at a global batch of " +
                          Twine(batch) + " there are " + Twine(expected) +
                          " consumed samples, not " + Twine(*logged.consumedSamples));
    }
    before = &logged;
  }
}

static void checkIterations(Linter &linter) {
  if (batchIsFixed(linter))
    checkConsumed(linter);
  std::optional<int64_t> total = linter.log.integer("train_iters");
  for (const LoggedIteration &logged : linter.log.measured.iterations)
    if (total && !linter.log.find("train_samples") && logged.total != *total) {
      linter.report("train-iterations", {"train_iters"}, logged.line, "printed iterations",
                    Twine(logged.total),
                    "an iteration prints a total of " + Twine(logged.total) +
                        " iterations, the arguments specify " + Twine(*total));
      break;
    }
}

/// The median of the milliseconds of an iteration that the log prints; std::nullopt if it prints
/// none.
static std::optional<double> medianIteration(const MegatronLog &log) {
  SmallVector<double> times;
  for (const LoggedIteration &logged : log.measured.iterations)
    if (logged.elapsed && *logged.elapsed > 0)
      times.push_back(*logged.elapsed);
  if (times.empty())
    return std::nullopt;
  llvm::sort(times);
  return times[times.size() / 2];
}

static void checkSampleTime(Linter &linter) {
  // The two are means over different iterations.
  constexpr double tolerance = 0.1;
  std::optional<double> iteration = medianIteration(linter.log);
  if (!iteration || !batchIsFixed(linter))
    return;
  auto batch = static_cast<double>(linter.layout.globalBatch);
  // People usually copy the last figures from a log.
  constexpr size_t most = 10;
  ArrayRef<LoggedSampleTime> all = linter.log.measured.sampleTimes;
  for (const LoggedSampleTime &logged : all.take_back(std::min(all.size(), most))) {
    double expected = *iteration / batch;
    // Two decimals are printed.
    double slack = std::max(tolerance * expected, 0.011);
    auto isNear = [&](const LoggedIteration &line) {
      return line.elapsed && std::fabs(*line.elapsed / batch - logged.milliseconds) <= slack;
    };
    if (std::fabs(expected - logged.milliseconds) <= slack ||
        llvm::any_of(linter.log.measured.iterations, isNear))
      continue;
    auto shown = llvm::find_if(linter.log.measured.iterations, [&](const LoggedIteration &line) {
      return line.elapsed == iteration;
    });
    LintFinding &finding =
        linter.report("sample-time", {"global_batch_size"}, logged.line, "ms per sample",
                      printNumber(logged.milliseconds),
                      printNumber(*iteration) + " ms an iteration at a global batch of " +
                          Twine(linter.layout.globalBatch) + " are " + printNumber(expected) +
                          " ms a sample, not " + printNumber(logged.milliseconds));
    finding.values.emplace_back("elapsed time per iteration (ms)", printNumber(*iteration));
    if (!llvm::is_contained(finding.lines, shown->line)) {
      finding.lines.push_back(shown->line);
      llvm::sort(finding.lines);
    }
  }
}

/// Returns true if a timer measures messages between stages.
static bool isPipelineTimer(StringRef name) {
  return (name.starts_with("forward-") || name.starts_with("backward-")) &&
         (name.contains("send") || name.contains("recv"));
}

static void checkPipelineTimers(Linter &linter) {
  int64_t stages = linter.layout.pipelineParallel;
  for (const LoggedTimers &logged : linter.log.measured.timers) {
    auto messages = llvm::find_if(logged.timers,
                                  [](const auto &timer) { return isPipelineTimer(timer.first); });
    bool has = messages != logged.timers.end();
    if (has && stages == 1)
      linter.report("pipeline-timer", {"pipeline_model_parallel_size"}, logged.line,
                    messages->first, printNumber(messages->second),
                    "there is one pipeline stage, and " + shorten(messages->first) +
                        " measures messages between stages");
    // Coarser levels of timing have no timers of messages, nor of single passes.
    if (!has && stages > 1 && logged.find("forward-compute") && logged.find("backward-compute"))
      linter.report("pipeline-timer-missing", {"pipeline_model_parallel_size"}, logged.line,
                    "time (ms)", "no send or recv",
                    "there are " + Twine(stages) +
                        " pipeline stages, and no timer measures messages between them");
  }
}

/// With one stage the two copies of the embeddings are one and need no all-reduce.
static void checkEmbeddingTimer(Linter &linter) {
  constexpr double most = 1.0;
  if (linter.layout.pipelineParallel != 1)
    return;
  for (const LoggedTimers &logged : linter.log.measured.timers)
    for (StringRef name : {"backward-embedding-all-reduce", "embedding-grads-all-reduce"})
      if (std::optional<double> time = logged.find(name); time && *time > most)
        linter.report("embedding-all-reduce", {"pipeline_model_parallel_size"}, logged.line, name,
                      printNumber(*time),
                      "there is one pipeline stage, and " + name + " takes " + printNumber(*time) +
                          " ms although there is nothing to reduce between stages");
}

/// Checks the sum of the top-level timers, and that no part exceeds it.
static double sumTimers(const LoggedTimers &logged) {
  // All of a step's passes and messages, where a version measures that.
  std::optional<double> passes = logged.find("forward-backward");
  double sum = passes.value_or(0.0), part = 0.0;
  for (const auto &[name, milliseconds] : logged.timers) {
    bool isPass = name == "forward-compute" || name == "backward-compute" ||
                  name == "backward-params-all-reduce" || name == "backward-embedding-all-reduce" ||
                  name == "backward-layernorm-all-reduce" || isPipelineTimer(name);
    if (name == "optimizer" || (isPass && !passes))
      sum += milliseconds;
    if (name == "batch-generator")
      part = milliseconds;
  }
  return std::max(sum, part);
}

/// Checks the timers that add up to the optimizer's.
static void checkOptimizerParts(Linter &linter) {
  constexpr double tolerance = 1.05;
  for (const LoggedTimers &logged : linter.log.measured.timers) {
    std::optional<double> total = logged.find("optimizer");
    double sum = 0.0;
    for (const auto &[name, milliseconds] : logged.timers)
      if (StringRef(name).starts_with("optimizer-"))
        sum += milliseconds;
    // Two decimals are printed of each.
    double slack = 0.005 * static_cast<double>(logged.timers.size());
    if (!total || sum <= *total * tolerance + slack)
      continue;
    linter
        .report("timer-sum", {}, logged.line, "sum of the optimizer's timers", printNumber(sum),
                "the timers within the optimizer add up to " + printNumber(sum) +
                    " ms, and the optimizer takes " + printNumber(*total) + " ms")
        .values.emplace_back("optimizer", printNumber(*total));
  }
}

static void checkTimerSum(Linter &linter) {
  constexpr double tolerance = 1.05;
  const LogMeasurements &measured = linter.log.measured;
  size_t next = 0;
  std::optional<double> elapsed;
  for (const LoggedTimers &logged : measured.timers) {
    for (; next < measured.iterations.size() && measured.iterations[next].line <= logged.line;
         ++next)
      if (measured.iterations[next].elapsed)
        elapsed = measured.iterations[next].elapsed;
    std::optional<double> iteration = elapsed;
    StringRef source = "elapsed time per iteration (ms)";
    double limit = iteration.value_or(0.0) * tolerance;
    if (!iteration && !measured.sampleTimes.empty() && batchIsFixed(linter)) {
      auto batch = static_cast<double>(linter.layout.globalBatch);
      double milliseconds = measured.sampleTimes.back().milliseconds;
      iteration = milliseconds * batch;
      // Two decimals are printed.
      limit = (milliseconds + 0.005) * batch * tolerance;
      source = "ms per sample x global batch";
    }
    double sum = sumTimers(logged);
    if (!iteration || sum <= limit)
      continue;
    linter
        .report("timer-sum", {}, logged.line, "sum of timers", printNumber(sum),
                "the timers add up to " + printNumber(sum) + " ms, and an iteration takes " +
                    printNumber(*iteration) + " ms")
        .values.emplace_back(source.str(), printNumber(*iteration));
  }
}

static void checkMemory(Linter &linter) {
  for (const LoggedMemory &logged : linter.log.measured.memory) {
    std::string range = printNumber(logged.least) + " to " + printNumber(logged.most);
    if (logged.capacity && logged.most > *logged.capacity)
      linter.report("memory-capacity", {}, logged.line, "GPU mem", range,
                    "a device uses " + printNumber(logged.most) + " MiB and has " +
                        printNumber(*logged.capacity) + " MiB");
    if (logged.least > logged.most)
      linter.report("memory-range", {}, logged.line, "GPU mem", range,
                    "the minimum memory used, " + printNumber(logged.least) +
                        " MiB, is above the maximum, " + printNumber(logged.most) + " MiB");
  }
}

constexpr StringRef sampleIds[] = {"sample-count"},
                    iterationIds[] = {"iteration-batch", "consumed-samples", "train-iterations"},
                    sampleTimeIds[] = {"sample-time"},
                    pipelineIds[] = {"pipeline-timer", "pipeline-timer-missing"},
                    embeddingIds[] = {"embedding-all-reduce"}, sumIds[] = {"timer-sum"},
                    memoryIds[] = {"memory-capacity", "memory-range"};

ArrayRef<LintCheck> mlir::st::measurementChecks() {
  static const LintCheck checks[] = {
      {sampleIds, checkSamples},           {iterationIds, checkIterations},
      {sampleTimeIds, checkSampleTime},    {pipelineIds, checkPipelineTimers},
      {embeddingIds, checkEmbeddingTimer}, {sumIds, checkTimerSum},
      {{}, checkOptimizerParts},           {memoryIds, checkMemory}};
  return checks;
}
