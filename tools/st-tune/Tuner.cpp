#include "tools/st-tune/Tuner.h"

#include "lib/Planner/Answers/Report.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/Files.h"
#include "lib/Support/InputFile.h"
#include "lib/Support/ProcessEnd.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"
#include "lib/Timing/ClusterDescription.h"
#include "tools/st-tune/ChildProcess.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir::st;

constexpr size_t kLargestPlan = size_t(1) << 30;
/// Longer than any planner takes.
constexpr double kPlanSeconds = 24 * 3600;
/// The largest micro-batch of a device; doubling ends here if no other limit stops it.
constexpr int64_t kMaxMicroBatch = 65536;

void Tuner::note(const std::string &text) const {
  if (!flags.quiet)
    llvm::errs() << "st-tune: " << text << '\n';
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

absl::StatusOr<::st::proto::PlanReport> Tuner::runPlanner(const std::string &batch) const {
  std::vector<std::string> arguments = {joinPath(toolFolder, "st-plan"), settings.model, "-q",
                                        "--json"};
  arguments.insert(arguments.end(), settings.planFlags.begin(), settings.planFlags.end());
  if (!batch.empty())
    arguments.push_back(absl::StrCat("--batch=", batch));
  const std::string out = joinPath(work->getPath(), "plan.json"),
                    error = joinPath(work->getPath(), "plan.err");
  ST_ASSIGN_OR_RETURN(ChildEnd end, runChild(arguments, out, error, kPlanSeconds));
  ST_ASSIGN_OR_RETURN(std::string said, ::st::readFile(error, kLargestPlan));
  if (!end.succeeded()) {
    absl::string_view reason = absl::StripSuffix(said, "\n");
    absl::ConsumePrefix(&reason, "st-plan: error: ");
    return absl::InvalidArgumentError(
        absl::StrCat("st-plan: ", reason.empty() ? end.describe() : reason));
  }
  if (!flags.quiet)
    llvm::errs() << said;
  ST_ASSIGN_OR_RETURN(std::string text, ::st::readFile(out, kLargestPlan));
  return parsePlanReport(text, "st-plan");
}

absl::Status Tuner::plan() {
  std::vector<::st::proto::PlanReport> reports;
  std::string name = "st-plan";
  if (!flags.plan.empty()) {
    name = flags.plan;
    absl::StatusOr<std::string> text = ::st::readInputFile(flags.plan, kLargestPlan);
    if (!text.ok())
      return absl::InvalidArgumentError(
          absl::StrCat(name, ": cannot read: ", text.status().message()));
    ST_ASSIGN_OR_RETURN(reports.emplace_back(), parsePlanReport(*text, name));
  }
  for (const std::string &batch : settings.batches) {
    ST_ASSIGN_OR_RETURN(reports.emplace_back(), runPlanner(batch));
  }
  ST_ASSIGN_OR_RETURN(set, chooseCandidates(reports, flags.top, name));
  note(absl::StrCat(set.candidates.size(), " candidates for ", set.devices, " devices of ",
                    set.cluster));
  if (!measuresPlannedHardware())
    note(absl::StrCat("note: predictions are for ", set.cluster, ", trials run on ",
                      settings.target));
  return absl::OkStatus();
}

bool Tuner::measuresPlannedHardware() const {
  if (!settings.compiles)
    return true; // Another program's command runs on the planned devices.
  const std::string flag = flags.planFlag("cluster");
  auto cluster = ::st::findClusterDescription(flag.empty() ? set.cluster : flag);
  return cluster.ok() && cluster->device() == settings.target;
}

//===----------------------------------------------------------------------===//
// Trials
//===----------------------------------------------------------------------===//

const TrialRow *Tuner::findFinished(const std::string &key) const {
  // The same layout may be a candidate and a step of the baseline.
  for (const std::vector<MeasuredTrial> *list : {&baseline, &trials})
    for (const MeasuredTrial &trial : *list)
      if (trial.row.key == key)
        return &trial.row;
  const TrialRow *row = results ? results->find(key) : nullptr;
  if (!row || row->isOk())
    return row;
  const bool hasMoreTime =
      row->status == TrialStatus::Timeout && row->timeoutSeconds < flags.trialTimeout;
  return flags.retryFailed || hasMoreTime ? nullptr : row;
}

absl::StatusOr<TrialRow> Tuner::measure(const TuneCandidate &candidate) {
  if (isEndRequested())
    return absl::CancelledError("interrupted");
  const TrialRow *finished = findFinished(trialKey(settings, set, candidate.layout));
  TrialRow row;
  if (finished) {
    row = *finished;
    ++resumed;
  } else {
    ST_ASSIGN_OR_RETURN(row, runTrial(settings, set, candidate, flags.trialTimeout, *work));
    seconds += row.seconds;
    if (results)
      ST_RETURN_IF_ERROR(results->append(row));
  }
  const std::string outcome =
      row.isOk()
          ? absl::StrCat(::st::printFigure(rankOf(row, settings.ranksByEndToEnd)), " samples/s")
          : absl::StrCat(statusName(row.status), ": ", row.error);
  note(absl::StrCat(row.name, ": ", outcome, finished ? " (finished before)" : ""));
  return row;
}

absl::Status Tuner::measureBaseline() {
  if (!flags.baseline)
    return absl::OkStatus();
  double best = 0;
  for (int64_t microBatch = 1; microBatch <= kMaxMicroBatch; microBatch *= 2) {
    TuneCandidate candidate;
    candidate.layout = plainLayout(set.devices, microBatch);
    ST_ASSIGN_OR_RETURN(TrialRow row, measure(candidate));
    const double rank = rankOf(row, settings.ranksByEndToEnd);
    baseline.push_back({candidate, std::move(row)});
    if (rank <= best)
      return absl::OkStatus();
    best = rank;
  }
  return absl::OkStatus();
}

bool Tuner::noneCanWin(size_t next, double best) const {
  for (size_t i = next; i < set.candidates.size(); ++i) {
    const TuneCandidate &candidate = set.candidates[i];
    const auto batch = static_cast<double>(candidate.layout.globalBatch());
    if (candidate.boundMs <= 0 || batch / candidate.boundMs * 1e3 > best)
      return false;
  }
  return true;
}

absl::Status Tuner::measureCandidates() {
  const bool boundsHold = measuresPlannedHardware();
  double best = 0;
  size_t sinceImprovement = 0;
  for (size_t i = 0; i < set.candidates.size(); ++i) {
    const size_t left = set.candidates.size() - i;
    if (flags.earlyStop > 0 && sinceImprovement >= flags.earlyStop) {
      note(absl::StrCat("stopped: no improvement in ", sinceImprovement, " trials; ", left,
                        " remain"));
      return absl::OkStatus();
    }
    if (boundsHold && best > 0 && noneCanWin(i, best)) {
      note(absl::StrCat("stopped: the lower bounds of the ", left,
                        " remaining trials show that none is faster"));
      return absl::OkStatus();
    }
    ST_ASSIGN_OR_RETURN(TrialRow row, measure(set.candidates[i]));
    const double rank = rankOf(row, settings.ranksByEndToEnd);
    sinceImprovement = rank > best ? 0 : sinceImprovement + 1;
    best = std::max(best, rank);
    trials.push_back({set.candidates[i], std::move(row)});
  }
  return absl::OkStatus();
}

//===----------------------------------------------------------------------===//
// Conclusion
//===----------------------------------------------------------------------===//

absl::Status Tuner::conclude() const {
  const bool byEndToEnd = settings.ranksByEndToEnd;
  const MeasuredTrial *best = findBest(trials, byEndToEnd), *plain = findBest(baseline, byEndToEnd);
  llvm::outs() << printTrials(baseline, trials) << '\n'
               << printSpaces(baseline, trials, byEndToEnd) << '\n'
               << "best_metric_val is " << (byEndToEnd ? "end-to-end" : "in-step")
               << " throughput in samples/s"
               << (best && best->row.isSimulated && !byEndToEnd ? " of the simulated devices" : "")
               << ".\n";
  if (best && plain)
    llvm::outs() << absl::StrFormat(
        "%s (global batch %d) is %.3f times as fast as %s (%d), the best of plain data "
        "parallelism.\n",
        best->row.name, best->candidate.layout.globalBatch(),
        rankOf(best->row, byEndToEnd) / rankOf(plain->row, byEndToEnd), plain->row.name,
        plain->candidate.layout.globalBatch());
  if (const OrderedPairs pairs = compareOrder(trials, byEndToEnd); pairs.all > 0)
    llvm::outs() << absl::StrFormat("Predictions put %d of %d pairs in the right order.\n",
                                    pairs.right, pairs.all);
  const auto total = static_cast<int64_t>(seconds);
  llvm::outs() << absl::StrFormat(
      "Tuning completed in %d:%02d:%02d. Total number of experiments: %d", total / 3600,
      total / 60 % 60, total % 60, baseline.size() + trials.size());
  if (resumed > 0)
    llvm::outs() << ", " << resumed << " of them finished before";
  llvm::outs() << ".\n";
  llvm::outs().flush();
  if (!best)
    return absl::InvalidArgumentError(absl::StrCat("no trial succeeded; ", trials.front().row.name,
                                                   ": ", trials.front().row.error));
  if (flags.emit.empty())
    return absl::OkStatus();
  return ::st::writeFileAtomically(flags.emit,
                                   ::st::emitParallelFile(best->candidate.layout, set.precision));
}

absl::Status Tuner::run() {
  ST_ASSIGN_OR_RETURN(settings, readSettings(flags, toolFolder));
  if (!flags.results.empty()) {
    ST_ASSIGN_OR_RETURN(results, ResultsFile::open(flags.results));
    if (results->tornBytes() > 0)
      note(absl::StrCat("note: ", flags.results.getValue(), ": removed an incomplete last line of ",
                        results->tornBytes(), " bytes"));
  }
  if (!flags.emit.empty())
    ST_RETURN_IF_ERROR(::st::AtomicFile::probe(flags.emit));
  // A signal waits until the trial has ended and the folder is gone, and then ends this process.
  const ::st::SignalsWait signals;
  ST_ASSIGN_OR_RETURN(work, WorkFolder::open(flags.work));
  absl::Status status = plan();
  if (status.ok() && results)
    status = results->start();
  if (status.ok())
    status = measureBaseline();
  if (status.ok())
    status = measureCandidates();
  work.reset();
  if (!status.ok())
    return status;
  return conclude();
}
