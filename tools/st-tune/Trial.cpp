#include "tools/st-tune/Trial.h"

#include "lib/Planner/Answers/Report.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/Files.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Support/Text.h"
#include "tools/st-tune/ChildProcess.h"
#include "tools/st-tune/DeepSpeedFile.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SHA256.h"

#include <algorithm>

using namespace mlir::st;

/// The number of bytes that are read from the end of a trial's output.
constexpr size_t kLargestOutput = size_t(64) << 20;
constexpr size_t kLongestReason = 400;

std::string mlir::st::trialKey(const TuneSettings &settings, const CandidateSet &set,
                               const ::st::Layout &layout) {
  llvm::SHA256 hash;
  auto add = [&](const std::string &part) {
    hash.update(part);
    hash.update(llvm::ArrayRef<uint8_t>{0});
  };
  add(settings.modelHash.empty() ? set.model : settings.modelHash);
  add(::st::printLayout(layout));
  add(set.precision);
  add(absl::StrCat(set.sequence));
  add(absl::StrJoin(settings.compileFlags, " "));
  add(settings.launchText);
  add(settings.launch.uses("steps") ? absl::StrCat(settings.steps) : "");
  add(settings.inStep ? settings.inStep->getRegex() : "");
  add(settings.endToEnd ? settings.endToEnd->getRegex() : "");
  add(settings.inStep || settings.endToEnd ? absl::StrCat(static_cast<int>(settings.unit)) : "");
  add(settings.launch.uses("deepspeed") ? settings.deepspeed : "");
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

/// Returns the last line that is not empty: the error of St's tools, and usually that of other
/// programs.
static std::string lastLine(llvm::StringRef text) {
  const llvm::StringRef line =
      text.rtrim().rsplit('\n').second.empty() ? text.rtrim() : text.rtrim().rsplit('\n').second;
  return ::st::escapeControls(
      absl::string_view(line.data(), std::min(line.size(), kLongestReason)));
}

static absl::StatusOr<std::string> readTail(const std::string &path) {
  ST_ASSIGN_OR_RETURN(std::unique_ptr<::st::MappedFile> file, ::st::MappedFile::open(path));
  const absl::string_view content = file->content();
  return std::string(content.substr(content.size() - std::min(content.size(), kLargestOutput)));
}

static bool saysOutOfMemory(llvm::StringRef text) {
  // The second is plan-memory's (passes/Memory/Capacity.cpp) and the simulator's.
  static const llvm::Regex patterns[] = {
      llvm::Regex("out[ _-]?of[ _-]?memory|cannot allocate memory|std::bad_alloc",
                  llvm::Regex::IgnoreCase),
      llvm::Regex("device [0-9]+ needs [0-9]+ bytes|bytes of device memory on device")};
  return llvm::any_of(patterns, [&](const llvm::Regex &regex) { return regex.match(text); });
}

namespace {

/// The end of a child process and its output.
struct Ended {
  ChildEnd end;
  std::string out, error; ///< the output of the trial
};

class TrialRun {
public:
  TrialRun(const TuneSettings &settings, const CandidateSet &set, const TuneCandidate &candidate,
           double limitSeconds, std::string folder)
      : settings(settings), set(set), candidate(candidate), limitSeconds(limitSeconds),
        folder(std::move(folder)) {}

  absl::StatusOr<TrialRow> run();

private:
  absl::Status writeFiles();
  absl::StatusOr<Ended> runCommand(const std::vector<std::string> &arguments,
                                   llvm::StringRef logName);
  /// Returns true if the trial continues.
  absl::StatusOr<bool> compile();
  absl::Status execute();
  void fail(TrialStatus status, const std::string &error);
  void failWith(const Ended &ended, TrialStatus status, llvm::StringRef what);
  absl::Status readFigures(const Ended &ended);
  absl::StatusOr<double> findFigure(const FigurePattern &pattern, const Ended &ended) const;
  absl::Status readInStep(const Ended &ended);
  absl::Status readEndToEnd(const Ended &ended);
  void describe();

  void detail(const char *name, llvm::json::Value value) {
    row.details.emplace_back(name, std::move(value));
  }
  std::string path(llvm::StringRef name) const { return joinPath(folder, name); }

  const TuneSettings &settings;
  const CandidateSet &set;
  const TuneCandidate &candidate;
  const double limitSeconds;
  const std::string folder;
  TrialRow row;
};

} // namespace

void TrialRun::fail(TrialStatus status, const std::string &error) {
  row.status = status;
  row.error = error;
}

void TrialRun::failWith(const Ended &ended, TrialStatus status, llvm::StringRef what) {
  if (ended.end.way == ChildEnd::TimedOut)
    return fail(TrialStatus::Timeout,
                absl::StrCat(what.str(), " did not end within ", limitSeconds, " s"));
  if (saysOutOfMemory(ended.error) || saysOutOfMemory(ended.out))
    status = TrialStatus::OutOfMemory;
  const std::string line = lastLine(ended.error.empty() ? ended.out : ended.error);
  // St's programs print the complete reason as "program: error: reason".
  static const llvm::Regex ownError("^[^ :]+: error: (.*)$");
  llvm::SmallVector<llvm::StringRef, 2> groups;
  if (settings.compiles && ownError.match(line, &groups))
    return fail(status, absl::StrCat(what.str(), ": ", groups[1].str()));
  fail(status,
       absl::StrCat(what.str(), ": ", ended.end.describe(), line.empty() ? "" : ": ", line));
}

absl::Status TrialRun::writeFiles() {
  ST_RETURN_IF_ERROR(::st::writeFileAtomically(
      path("parallel.json"), ::st::emitParallelFile(candidate.layout, set.precision)));
  if (!settings.launch.uses("deepspeed"))
    return absl::OkStatus();
  ST_ASSIGN_OR_RETURN(
      std::string config,
      writeDeepSpeedConfig(settings.deepspeed, settings.deepspeedPath, candidate.layout));
  return ::st::writeFileAtomically(path("deepspeed.json"), config);
}

absl::StatusOr<Ended> TrialRun::runCommand(const std::vector<std::string> &arguments,
                                           llvm::StringRef logName) {
  const std::string out = path((logName + ".out").str()), error = path((logName + ".err").str());
  ST_ASSIGN_OR_RETURN(ChildEnd end,
                      runChild(arguments, out, error, std::max(0.0, limitSeconds - row.seconds)));
  row.seconds += end.seconds;
  Ended ended{end, {}, {}};
  ST_ASSIGN_OR_RETURN(ended.out, readTail(out));
  ST_ASSIGN_OR_RETURN(ended.error, readTail(error));
  return ended;
}

absl::StatusOr<bool> TrialRun::compile() {
  if (candidate.layout.offloadOptimizer) {
    fail(TrialStatus::DoesNotCompile, "st-compile keeps optimizer state on the devices");
    return false;
  }
  std::vector<std::string> arguments = {joinPath(settings.toolFolder, "st-compile"),
                                        settings.model,
                                        "-q",
                                        "--predict=false",
                                        absl::StrCat("--batch=", candidate.layout.globalBatch()),
                                        absl::StrCat("--seq=", set.sequence),
                                        absl::StrCat("--parallel=", path("parallel.json")),
                                        "-o",
                                        path("train")};
  arguments.insert(arguments.end(), settings.compileFlags.begin(), settings.compileFlags.end());
  ST_ASSIGN_OR_RETURN(Ended ended, runCommand(arguments, "compile"));
  detail("compile_s", ended.end.seconds);
  if (ended.end.succeeded())
    return true;
  failWith(ended, TrialStatus::DoesNotCompile, "st-compile");
  return false;
}

/// In samples a second.
absl::StatusOr<double> TrialRun::findFigure(const FigurePattern &pattern,
                                            const Ended &ended) const {
  for (const std::string *text : {&ended.out, &ended.error}) {
    ST_ASSIGN_OR_RETURN(std::optional<double> figure, pattern.find(*text));
    if (figure)
      return toSamplesPerSecond(*figure, settings.unit, candidate.layout.globalBatch(),
                                set.sequence);
  }
  return absl::NotFoundError(absl::StrCat("its output does not match ", pattern.getFlag()));
}

absl::Status TrialRun::readInStep(const Ended &ended) {
  const auto batch = static_cast<double>(candidate.layout.globalBatch());
  if (settings.inStep) {
    ST_ASSIGN_OR_RETURN(row.inStepSamplesPerSecond, findFigure(*settings.inStep, ended));
    row.inStepMs = batch / row.inStepSamplesPerSecond * 1e3;
    return absl::OkStatus();
  }
  if (!settings.compiles)
    return absl::OkStatus(); // It is ranked by its end-to-end throughput.
  absl::StatusOr<std::string> metrics = readTail(path("metrics.jsonl")),
                              report = readTail(path("report.json"));
  ST_ASSIGN_OR_RETURN(InStepTime time, metrics.ok()  ? readMetrics(*metrics)
                                       : report.ok() ? readReport(*report)
                                                     : readPrintedSteps(ended.out));
  row.inStepMs = time.ms;
  row.inStepSamplesPerSecond = batch / time.ms * 1e3;
  row.isSimulated = time.isSimulated;
  return absl::OkStatus();
}

/// The wall-clock time of a simulator does not measure the simulated device.
absl::Status TrialRun::readEndToEnd(const Ended &ended) {
  if (settings.endToEnd) {
    ST_ASSIGN_OR_RETURN(row.endToEndSamplesPerSecond, findFigure(*settings.endToEnd, ended));
  } else if (settings.launch.uses("steps") && !row.isSimulated) {
    row.endToEndSamplesPerSecond =
        static_cast<double>(candidate.layout.globalBatch()) * settings.steps / ended.end.seconds;
  }
  if (settings.ranksByEndToEnd && row.endToEndSamplesPerSecond == 0)
    return absl::NotFoundError("a simulated run has no end-to-end throughput");
  return absl::OkStatus();
}

absl::Status TrialRun::execute() {
  std::map<std::string, std::string> values = layoutValues(candidate.layout);
  values["binary"] = path("train");
  values["metrics"] = path("metrics.jsonl");
  values["report"] = path("report.json");
  values["parallel"] = path("parallel.json");
  values["deepspeed"] = path("deepspeed.json");
  values["work"] = folder;
  values["model"] = settings.model;
  values["name"] = row.name;
  values["steps"] = absl::StrCat(settings.steps);
  values["sequence"] = absl::StrCat(set.sequence);
  ST_ASSIGN_OR_RETURN(Ended ended,
                      runCommand({"/bin/sh", "-c", settings.launch.expand(values)}, "run"));
  detail("run_s", ended.end.seconds);
  if (!ended.end.succeeded()) {
    failWith(ended, TrialStatus::Failed, "the run");
    return absl::OkStatus();
  }
  absl::Status found = readInStep(ended);
  if (found.ok())
    found = readEndToEnd(ended);
  if (!found.ok())
    fail(TrialStatus::NoFigure, std::string(found.message()));
  return absl::OkStatus();
}

/// Adds the layout and other details for users to the row.
void TrialRun::describe() {
  const ::st::Layout &layout = candidate.layout;
  detail("layout", llvm::json::Object{
                       {"tp", layout.tensor},
                       {"pp", layout.stages},
                       {"dp", layout.replicas},
                       {"context", layout.context},
                       {"context_attention", ::st::contextAttentionName(layout.contextAttention)},
                       {"expert", layout.expert},
                       {"virtual_stages", layout.virtualStages},
                       {"micro_batch", layout.microBatch},
                       {"accumulation", layout.microBatches},
                       {"global_batch", layout.globalBatch()},
                       {"zero", layout.zero},
                       {"recompute", ::st::recomputeName(layout.recompute)},
                       {"schedule", ::st::scheduleName(layout.schedule)},
                       {"sequence_parallel", layout.sequenceParallel},
                       {"placement", ::st::rankOrderName(layout.placement)},
                       {"offload_optimizer", layout.offloadOptimizer},
                       {"devices", layout.devices()}});
  detail("model", set.model);
  detail("model_hash", settings.modelHash);
  detail("sequence", set.sequence);
  detail("precision", set.precision);
  if (settings.compiles)
    detail("target", settings.target);
  if (candidate.predictedMs > 0)
    detail("predicted_ms", candidate.predictedMs);
  if (settings.launch.uses("steps"))
    detail("steps", settings.steps);
  detail("command", settings.launchText);
}

absl::StatusOr<TrialRow> TrialRun::run() {
  row.key = trialKey(settings, set, candidate.layout);
  row.name = experimentName(candidate.layout);
  row.timeoutSeconds = limitSeconds;
  ST_RETURN_IF_ERROR(writeFiles());
  // A file of an earlier run must not be mistaken for this run's.
  for (const char *name : {"metrics.jsonl", "report.json"})
    llvm::sys::fs::remove(path(name));
  bool continues = true;
  if (settings.compiles) {
    ST_ASSIGN_OR_RETURN(continues, compile());
  }
  absl::Status executed = continues ? execute() : absl::OkStatus();
  llvm::sys::fs::remove(path("train")); // Runner and program, of each trial.
  if (!executed.ok())
    return executed;
  describe();
  return std::move(row);
}

absl::StatusOr<TrialRow> mlir::st::runTrial(const TuneSettings &settings, const CandidateSet &set,
                                            const TuneCandidate &candidate, double limitSeconds,
                                            const WorkFolder &work) {
  ST_ASSIGN_OR_RETURN(std::string folder, work.makeFolder(experimentName(candidate.layout)));
  return TrialRun(settings, set, candidate, limitSeconds, std::move(folder)).run();
}
