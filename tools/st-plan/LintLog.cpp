// Reports contradictions in a Megatron log, and compares its phases with predicted ones.

#include "lib/Frontend/Megatron/Lint.h"
#include "lib/Frontend/Megatron/Megatron.h"
#include "lib/Planner/Answers/Answers.h"
#include "tools/st-plan/PlanTool.h"

#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace mlir::st;

/// A phase deviates if its ratio to the prediction exceeds kOffRatio and the difference exceeds the
/// fraction kOffShare of the step.
constexpr double kOffRatio = 1.25, kOffShare = 0.02;

static void addPhase(::st::proto::PlanLint &lint, const std::string &name, double log,
                     double predicted, double stepMs) {
  ::st::proto::PlanLogPhase &phase = *lint.add_phases();
  phase.set_name(name);
  phase.set_log(log);
  phase.set_predicted(predicted);
  const bool isFar = log > kOffRatio * predicted || predicted > kOffRatio * log;
  phase.set_is_off(stepMs > 0 && isFar && std::abs(log - predicted) > kOffShare * stepMs);
}

absl::Status PlanTool::comparePhases(const MegatronLog &log, ::st::proto::PlanLint &lint) {
  auto run = buildTrainingRun(log);
  if (!run.ok())
    return run.status();
  auto input = readTrainingRun(*run);
  if (!input.ok())
    return input.status();
  takeRun(*input);
  if (!input->measured || input->measured->timers.empty())
    return absl::InvalidArgumentError("the log has no timers");
  auto step = ::st::estimateStep(inputsOf(*input), *input->layout);
  if (!step.ok())
    return step.status();
  const auto samples = static_cast<double>(input->layout->globalBatch());
  const RunMeasurements &measured = *input->measured;
  const double stepMs = measured.perSample ? *measured.perSample * samples : step->ms;
  for (const auto &[name, ms] : measured.timers) {
    double predicted = 0;
    for (const ::st::Timer &timer : step->timers)
      if (timer.name == name)
        predicted = timer.last;
    // If the log has timers of the update's parts, those show which part deviates.
    const bool isSum =
        name == "optimizer" && measured.timers.count("optimizer-unscale-and-check-inf") > 0;
    addPhase(lint, name, ms, predicted, isSum ? 0 : stepMs);
  }
  if (measured.perSample)
    addPhase(lint, "a sample", *measured.perSample, step->ms / samples, 0);
  if (measured.memoryMax)
    addPhase(lint, "memory of the fullest device (MiB)", *measured.memoryMax,
             step->memory[step->fullest].total() / (1 << 20), 0);
  return absl::OkStatus();
}

absl::Status PlanTool::lintLog() {
  auto log = loadMegatronLog(flags.lintLog);
  if (!log.ok())
    return log.status();
  ::st::proto::PlanLint lint;
  bool canPlan = true;
  std::string text;
  for (const LintFinding &finding : lintMegatronLog(*log)) {
    ::st::proto::PlanFinding &added = *lint.add_findings();
    added.set_id(finding.id);
    added.set_sentence(finding.sentence);
    for (unsigned line : finding.lines)
      added.add_lines(static_cast<int>(line));
    added.set_prevents_plan(finding.preventsPlan);
    canPlan &= !finding.preventsPlan;
    text += printFinding(finding, flags.lintLog) + "\n";
  }
  // A log that cannot be planned is still linted.
  if (absl::Status status = canPlan ? comparePhases(*log, lint) : absl::OkStatus(); !status.ok())
    lint.set_no_prediction(std::string(status.message()));
  if (flags.json) {
    llvm::outs() << ::st::printJson(lint) << '\n';
    return absl::OkStatus();
  }
  llvm::outs() << text << lint.findings_size()
               << (lint.findings_size() == 1 ? " contradiction\n" : " contradictions\n")
               << ::st::printPhases(lint);
  return absl::OkStatus();
}
