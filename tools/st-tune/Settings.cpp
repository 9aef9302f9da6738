#include "tools/st-tune/Settings.h"

#include "lib/Driver/Planning/PlanInput.h"
#include "lib/Support/InputFile.h"
#include "lib/Support/StatusMacros.h"
#include "lib/Timing/ClusterDescription.h"
#include "tools/st-tune/DeepSpeedFile.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace mlir::st;

template <typename... Parts> static absl::Status invalid(const Parts &...parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

static bool isGpu(llvm::StringRef target) {
  return llvm::sys::path::filename(target).starts_with("cuda-");
}

static absl::Status checkNumbers(const TuneFlags &flags) {
  if (flags.top == 0)
    return invalid("--top=0: expected at least one candidate");
  if (flags.trialTimeout == 0)
    return invalid("--trial-timeout=0: expected at least a second");
  if (flags.steps < 2)
    return invalid("--steps=", flags.steps.getValue(),
                   ": expected at least 2, for the first step is not counted");
  if (flags.rankBy != "in-step" && flags.rankBy != "end-to-end")
    return invalid("--rank-by=", flags.rankBy.getValue(), ": expected in-step or end-to-end");
  return absl::OkStatus();
}

/// Reads the command of a trial and the patterns that find its figures.
static absl::Status readLaunch(const TuneFlags &flags, TuneSettings &settings) {
  settings.steps = flags.steps;
  settings.launchText = flags.launch;
  if (flags.launch.empty())
    settings.launchText = isGpu(flags.target) || flags.steps.getNumOccurrences() > 0
                              ? "{binary} --steps={steps} --metrics={metrics}"
                              : "{binary} --timing-only --report={report}";
  ST_ASSIGN_OR_RETURN(settings.launch, LaunchTemplate::parse(settings.launchText));
  settings.compiles = settings.launch.uses("binary");
  std::optional<FigureUnit> unit = parseFigureUnit(flags.metricUnit.getValue());
  if (!unit)
    return invalid("--metric-unit=", flags.metricUnit.getValue(),
                   ": expected samples/s, tokens/s, ms or s");
  settings.unit = *unit;
  if (!flags.metricPattern.empty()) {
    ST_ASSIGN_OR_RETURN(settings.inStep,
                        FigurePattern::parse("--metric-pattern", flags.metricPattern));
  }
  if (!flags.endToEndPattern.empty()) {
    ST_ASSIGN_OR_RETURN(settings.endToEnd,
                        FigurePattern::parse("--end-to-end-pattern", flags.endToEndPattern));
  }
  settings.ranksByEndToEnd = flags.rankBy == "end-to-end";
  const bool hasEndToEnd = settings.endToEnd || settings.launch.uses("steps");
  if (settings.ranksByEndToEnd && !hasEndToEnd)
    return invalid("--rank-by=end-to-end: expected --end-to-end-pattern or a command with {steps}, "
                   "found ",
                   settings.launchText);
  if (!settings.compiles && !settings.inStep && !settings.ranksByEndToEnd)
    return invalid("--launch: expected {binary}, or --metric-pattern for what the command prints");
  if (!settings.compiles)
    for (const auto *flag : {static_cast<const cl::Option *>(&flags.target),
                             static_cast<const cl::Option *>(std::addressof(flags.compileFlags))})
      if (flag->getNumOccurrences() > 0)
        return invalid("--", flag->ArgStr.str(),
                       " has no effect: nothing is compiled for a command without {binary}");
  return absl::OkStatus();
}

static absl::StatusOr<std::string> hashFile(const std::string &path) {
  absl::StatusOr<std::string> text = ::st::readInputFile(path, ::st::kMaxConfigBytes * 4);
  if (!text.ok())
    return invalid(path, ": cannot read: ", text.status().message());
  llvm::SHA256 hash;
  hash.update(llvm::StringRef(*text));
  return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

static absl::Status readModel(const TuneFlags &flags, TuneSettings &settings) {
  settings.model = flags.model;
  if (flags.model.empty()) {
    if (settings.compiles || flags.plan.empty())
      return invalid("expected a model folder or a config.json");
    return absl::OkStatus();
  }
  std::string file = flags.model;
  if (llvm::sys::fs::is_directory(file))
    file = absl::StrCat(file, "/config.json");
  ST_ASSIGN_OR_RETURN(settings.modelHash, hashFile(file));
  if (!settings.compiles)
    return absl::OkStatus();
  std::optional<Task> task;
  if (std::string name = flags.planFlag("task"); !name.empty()) {
    task = symbolizeTask(name);
    if (!task || *task == Task::Encode || *task == Task::Seq2Seq)
      return invalid("--task=", name, ": expected mlm, span, clm, classify or classify-tokens");
  }
  if (!absl::EndsWith(file, ".json"))
    return invalid(file, ": expected a model folder or a config.json, which st-compile takes");
  absl::StatusOr<PlanInput> input = readModelFolder(flags.model, {task, std::nullopt, "f32", {}});
  if (!input.ok())
    return input.status();
  settings.compileFlags.push_back(absl::StrCat("--task=", stringify(input->task).str()));
  return absl::OkStatus();
}

/// Reads the arguments of st-compile that do not depend on the layout.
static absl::Status readCompilation(const TuneFlags &flags, TuneSettings &settings) {
  if (!settings.compiles)
    return absl::OkStatus();
  settings.target = flags.target;
  settings.compileFlags.push_back(absl::StrCat("--target=", flags.target.getValue()));
  if (std::string optimizer = flags.planFlag("optimizer"); !optimizer.empty()) {
    if (!::st::isOptimizer(optimizer))
      return invalid("--optimizer=", optimizer, ": expected ", ::st::kOptimizerNames);
    settings.compileFlags.push_back(absl::StrCat("--optimizer=", optimizer));
  }
  for (const std::string &flag : flags.compileFlags) {
    if (!absl::StartsWith(flag, "-"))
      return invalid("--compile=", flag, ": expected a flag of st-compile");
    settings.compileFlags.push_back(flag);
  }
  return absl::OkStatus();
}

/// The one cluster that comes with St and has the target's devices.
static absl::StatusOr<std::string> findCluster(const std::string &target) {
  std::vector<std::string> names;
  for (const std::string &name : ::st::builtinClusterDescriptionNames()) {
    ST_ASSIGN_OR_RETURN(auto cluster, ::st::builtinClusterDescription(name));
    if (cluster.device() == target)
      names.push_back(name);
  }
  if (names.size() != 1)
    return invalid("expected --cluster, the cluster to plan for: ",
                   names.empty() ? "no cluster that comes with St" : absl::StrJoin(names, " and "),
                   names.size() > 1 ? " have" : " has", " devices ", target);
  return names.front();
}

/// Arguments of st-plan; this tool has some of its flags.
static absl::Status readPlanFlags(const TuneFlags &flags, TuneSettings &settings) {
  std::map<std::string, std::string> given;
  for (const auto &flag : flags.planFlags)
    if (flag->getNumOccurrences() > 0)
      given[flag->ArgStr.str()] = *flag;
  if (!flags.plan.empty()) {
    for (const auto &[name, value] : given)
      if (name != "task" && name != "optimizer" && name != "deepspeed")
        return invalid("--", name, " has no effect with --plan, which gives the candidates");
    if (!flags.otherPlanFlags.empty())
      return invalid("--plan-flag has no effect with --plan, which gives the candidates");
    return absl::OkStatus();
  }
  if (settings.compiles && !given.count("cluster")) {
    ST_ASSIGN_OR_RETURN(given["cluster"], findCluster(settings.target));
  }
  // The binaries that run are compiled by St.
  if (settings.compiles && !given.count("profile") && isGpu(settings.target))
    given["profile"] = "st";
  settings.batches = {""};
  if (auto batch = given.find("batch"); batch != given.end()) {
    settings.batches = absl::StrSplit(batch->second, ',');
    given.erase(batch);
  }
  for (const auto &[name, value] : given)
    settings.planFlags.push_back(absl::StrCat("--", name, "=", value));
  settings.planFlags.insert(settings.planFlags.end(), flags.otherPlanFlags.begin(),
                            flags.otherPlanFlags.end());
  return absl::OkStatus();
}

static absl::Status readDeepSpeed(const TuneFlags &flags, TuneSettings &settings) {
  settings.deepspeed = "{}";
  settings.deepspeedPath = flags.planFlag("deepspeed");
  if (settings.deepspeedPath.empty())
    return absl::OkStatus();
  absl::StatusOr<std::string> text =
      ::st::readInputFile(settings.deepspeedPath, ::st::kMaxConfigBytes);
  if (!text.ok())
    return invalid(settings.deepspeedPath, ": cannot read: ", text.status().message());
  settings.deepspeed = *std::move(text);
  // An error in this file would make every trial fail.
  return writeDeepSpeedConfig(settings.deepspeed, settings.deepspeedPath, {}).status();
}

absl::StatusOr<TuneSettings> mlir::st::readSettings(const TuneFlags &flags,
                                                    const std::string &toolFolder) {
  TuneSettings settings;
  settings.toolFolder = toolFolder;
  ST_RETURN_IF_ERROR(checkNumbers(flags));
  ST_RETURN_IF_ERROR(readLaunch(flags, settings));
  ST_RETURN_IF_ERROR(readModel(flags, settings));
  ST_RETURN_IF_ERROR(readCompilation(flags, settings));
  ST_RETURN_IF_ERROR(readPlanFlags(flags, settings));
  ST_RETURN_IF_ERROR(readDeepSpeed(flags, settings));
  return settings;
}
