#include "tools/st-plan/PlanTool.h"

#include "tools/st-plan/KeyStatuses.h"

#include "lib/Costs/Profile.h"
#include "lib/Driver/DiagnosticPrinter.h"
#include "lib/Driver/Planning/RunProfile.h"
#include "lib/Driver/ProgramFile.h"
#include "lib/Frontend/DeepSpeed/DeepSpeedConfig.h"
#include "lib/Frontend/Megatron/Megatron.h"
#include "lib/Planner/Answers/Answers.h"
#include "lib/Planner/Fitting/Fit.h"
#include "lib/Planner/Search/LayoutFilter.h"
#include "lib/Planner/Search/Placement.h"
#include "lib/Planner/Simulated/SimulatedReport.h"
#include "lib/Planner/Simulated/SimulatedSearch.h"
#include "lib/Report/PlanPage.h"
#include "lib/Support/AtomicFile.h"
#include "lib/Support/InputFile.h"
#include "lib/Support/JsonDepth.h"
#include "lib/Timing/ClusterDescription.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace mlir;
using namespace mlir::st;

template <typename... Parts> static absl::Status invalid(const Parts &...parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

template <typename T> static std::vector<T> asVector(const llvm::cl::list<T> &list) {
  return std::vector<T>(list.begin(), list.end());
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

absl::Status PlanTool::loadCluster() {
  auto foundCluster = ::st::findClusterDescription(flags.cluster);
  if (!foundCluster.ok())
    return invalid("--cluster: ", foundCluster.status().message());
  cluster = *std::move(foundCluster);
  if (!flags.memory.empty()) {
    double gigabytes = 0;
    absl::string_view number = flags.memory.getValue();
    if (!absl::ConsumeSuffix(&number, "GB") || !absl::SimpleAtod(number, &gigabytes) ||
        !(gigabytes > 0))
      return invalid("--memory=", flags.memory.getValue(),
                     ": expected gigabytes of a device as 40GB");
    cluster.mutable_memory_bytes()->set_value(
        std::min(cluster.memory_bytes().value(), gigabytes * 1e9));
  }
  if (simulates())
    return loadSimulatedCluster();
  if (flags.simulate.getNumOccurrences() > 0)
    return invalid("--simulate has no effect: the devices of cluster ", cluster.name(),
                   " are not simulated");
  if (flags.compose.getNumOccurrences() > 0)
    return invalid("--compose has no effect: the devices of cluster ", cluster.name(),
                   " are not simulated");
  auto foundProfile = ::st::findProfile(flags.profile);
  if (!foundProfile.ok())
    return invalid("--profile: ", foundProfile.status().message());
  profile = *std::move(foundProfile);
  auto fitted = flags.constants.empty() ? ::st::findConstants(cluster.name(), profile)
                                        : ::st::loadConstants(flags.constants);
  if (!fitted.ok())
    return fitted.status();
  auto read = ::st::readConstants(*fitted);
  if (!read.ok())
    return invalid(flags.constants.empty() ? "constants" : flags.constants.c_str(), ": ",
                   read.status().message());
  if (flags.constants.empty() &&
      (fitted->cluster() != cluster.name() || fitted->profile() != profile.name()))
    notes.push_back(absl::StrCat("nothing was measured for profile ", profile.name(), " on ",
                                 cluster.name(), "; constants are those fitted for ",
                                 fitted->profile(), " on ", fitted->cluster()));
  constants = *read;
  costs = std::make_unique<::st::GpuCosts>(cluster, profile, constants);
  return absl::OkStatus();
}

static bool isModelFolder(const std::string &path) {
  return llvm::sys::fs::is_directory(path) || StringRef(path).ends_with(".json");
}

/// Assumes that DeepSpeed fine-tunes a pretrained BERT with one of Hugging Face's examples, which
/// use sequences of 128 tokens by default.
static std::string assumeFineTuning(PlanInput &input, bool setsSequence) {
  constexpr int64_t kTokens = 128;
  input.task = Task::Span;
  if (setsSequence)
    input.model.sequence = std::min<int64_t>(input.model.sequence, kTokens);
  return absl::StrCat(input.model.name, " is fine-tuned on sequences of ", input.model.sequence,
                      " tokens; --task and --seq override this");
}

constexpr size_t kLargestModelFile = size_t(64) << 20;

/// Refuses a JSON file that is another configuration of a run, and names its kind.
static absl::Status checkIsModel(const std::string &path) {
  auto text = llvm::sys::fs::is_directory(path) ? absl::StatusOr<std::string>("")
                                                : ::st::readInputFile(path, kLargestModelFile);
  if (!text.ok() || ::st::nestsTooDeeply(*text))
    return absl::OkStatus();
  auto value = llvm::json::parse(*text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return absl::OkStatus();
  }
  const llvm::json::Object *object = value->getAsObject();
  if (object && (object->get("train_batch_size") || object->get("zero_optimization")))
    return invalid(path, ": expected a model, found a DeepSpeed configuration; give it with "
                         "--deepspeed with a model");
  if (object && (object->get("sharding_size") || object->get("stage_cnt")))
    return invalid(
        path,
        ": expected a model, found a parallel file of st-compile; --tp, --pp and --dp fix degrees");
  return absl::OkStatus();
}

std::vector<const llvm::cl::Option *> PlanTool::modelOptions() const {
  return {std::addressof(flags.labelSequence), std::addressof(flags.lora),
          std::addressof(flags.loraDropout),   std::addressof(flags.freeze),
          std::addressof(flags.trainOnly),     std::addressof(flags.expertCapacity)};
}

absl::StatusOr<FolderChoices> PlanTool::folderChoices() const {
  FolderChoices choices;
  choices.precision = flags.precision;
  if (!flags.task.empty()) {
    choices.task = symbolizeTask(flags.task);
    if (!choices.task || *choices.task == Task::Encode)
      return invalid("--task=", flags.task.getValue(),
                     ": expected mlm, span, clm, seq2seq, classify or classify-tokens");
  }
  if (flags.sequence > 0)
    choices.sequence = flags.sequence;
  if (flags.labelSequence.getNumOccurrences())
    choices.options["label-seq"] = std::to_string(flags.labelSequence);
  for (const auto &[name, value] :
       {std::pair<const char *, const std::string *>("lora", &flags.lora.getValue()),
        {"lora-dropout", &flags.loraDropout.getValue()},
        {"freeze", &flags.freeze.getValue()},
        {"train-only", &flags.trainOnly.getValue()},
        {"expert-capacity-factor", &flags.expertCapacity.getValue()}})
    if (!value->empty())
      choices.options[name] = *value;
  return choices;
}

/// Models with different layers have no smaller or larger version with the same proportions.
absl::Status PlanTool::checkLayers(const PlanInput &input) const {
  const char *why = input.model.hasUnequalLayers()
                        ? "its layers differ in their experts, or in what they train"
                        : "its encoder and its decoder have different layers";
  const char *question = flags.largestModel   ? "--largest-model"
                         : flags.shrinkTo > 0 ? "--shrink-to"
                                              : nullptr;
  if (question && input.model.layersDiffer())
    return invalid(question, ": expected a model of equal layers, found ", input.config.path, ": ",
                   why);
  return absl::OkStatus();
}

absl::StatusOr<PlanInput> PlanTool::loadInput() {
  auto choices = folderChoices();
  if (!choices.ok())
    return choices.status();
  PlanInput input;
  if (flags.model.empty())
    return invalid("expected a model folder, a config.json, a Megatron log or a command line");
  if (isModelFolder(flags.model)) {
    if (absl::Status status = checkIsModel(flags.model); !status.ok())
      return status;
    auto folder = readModelFolder(flags.model, *choices);
    if (!folder.ok())
      return folder.status();
    input = *std::move(folder);
    if (absl::Status status = checkLayers(input); !status.ok())
      return status;
    if (flags.deepspeed.empty())
      return input;
    if (input.config.type == ModelType::Bert &&
        (flags.task.empty() || choices->task == Task::Classify))
      notes.push_back(assumeFineTuning(input, flags.sequence == 0));
    auto text = ::st::readInputFile(flags.deepspeed, kLargestInput);
    if (!text.ok())
      return invalid(flags.deepspeed.getValue(), ": cannot read: ", text.status().message());
    if (flags.precision.getNumOccurrences())
      return invalid("--precision has no effect with --deepspeed, whose file sets it");
    if (absl::Status status = addDeepSpeedConfig(*text, flags.deepspeed, deviceCount(input), input);
        !status.ok())
      return status;
    return input;
  }
  std::vector<const llvm::cl::Option *> ofFolders = modelOptions();
  ofFolders.insert(ofFolders.end(), {std::addressof(flags.sequence),
                                     std::addressof(flags.precision), std::addressof(flags.task)});
  for (const llvm::cl::Option *option : ofFolders)
    if (option->getNumOccurrences())
      return invalid("--", option->ArgStr.str(),
                     " has no effect: the log or the command line sets it");
  auto log = loadMegatronLog(flags.model);
  if (!log.ok())
    return log.status();
  auto run = buildTrainingRun(*log);
  if (!run.ok())
    return run.status();
  if (!flags.deepspeed.empty()) {
    auto text = ::st::readInputFile(flags.deepspeed, kLargestInput);
    if (!text.ok())
      return invalid(flags.deepspeed.getValue(), ": cannot read: ", text.status().message());
    if (absl::Status status = readDeepSpeedConfig(*text, flags.deepspeed, *run); !status.ok())
      return status;
  }
  auto described = readTrainingRun(*run);
  if (described.ok())
    if (absl::Status status = checkLayers(*described); !status.ok())
      return status;
  return described;
}

/// Takes the profile's switches from the run, and properties of the hardware from its log.
void PlanTool::takeRun(const PlanInput &input) {
  if (!input.run)
    return;
  applyRun(*input.run, profile);
  costs = std::make_unique<::st::GpuCosts>(cluster, profile, constants);
  constexpr double kMib = 1 << 20, kNear = 0.1;
  const double capacity = input.measured ? input.measured->memoryCapacity.value_or(0) : 0,
               own = cluster.memory_bytes().value() / kMib;
  if (capacity > 0 && std::abs(capacity / own - 1) > kNear)
    notes.push_back(absl::StrFormat("the devices of the log have %.0f MiB, those of %s %.0f",
                                    capacity, cluster.name(), own));
}

absl::Status PlanTool::checkFlags() const {
  if (flags.precision != "f32" && flags.precision != "f16" && flags.precision != "bf16")
    return invalid("--precision=", flags.precision.getValue(), ": expected f32, f16 or bf16");
  if (!flags.optimizer.empty() && !::st::isOptimizer(flags.optimizer))
    return invalid("--optimizer=", flags.optimizer.getValue(), ": expected ",
                   ::st::kOptimizerNames);
  if (flags.nodes.getNumOccurrences() > 0 && flags.nodes == 0)
    return invalid("--nodes=0: expected at least 1");
  if (flags.devices > 0 && flags.nodes > 0)
    return invalid("--devices and --nodes exclude each other");
  // std::addressof, because LLVM's lists overload operator&.
  for (const auto *list :
       {std::addressof(flags.tp), std::addressof(flags.pp), std::addressof(flags.dp),
        std::addressof(flags.context), std::addressof(flags.expert), std::addressof(flags.vpp),
        std::addressof(flags.microBatch), std::addressof(flags.scale)})
    for (int64_t value : *list)
      if (value < 1 || value > 1000000)
        return invalid("--", list->ArgStr.str(), "=", value,
                       ": expected integers from 1 to 1000000");
  for (int64_t value : flags.zero)
    if (value < 0 || value > 3)
      return invalid("--zero=", value, ": expected 0 to 3");
  const bool asksElse =
      flags.largestModel || flags.fewestDevices || !flags.scale.empty() || flags.shrinkTo > 0;
  for (const auto &[name, range] :
       {std::pair<const char *, Range>("devices", flags.devices), {"batch", flags.batch}}) {
    if (!range.fault.empty())
      return invalid("--", name, "=", range.fault,
                     ": expected a number above 0, or a range such as 8:64");
    if (range.isRange() && asksElse)
      return invalid("--", name, "=", range.least, ":", range.most,
                     ": a range has no effect on this question");
  }
  for (const std::string &degrees : flags.whyNot)
    if (auto filter = ::st::LayoutFilter::parse(degrees); !filter.ok())
      return invalid("--why-not=", degrees, ": ", filter.status().message());
  if (flags.daysFor.getNumOccurrences() && !(flags.daysFor > 0 && flags.daysFor < 1e30))
    return invalid("--days-for=", flags.daysFor.getValue(),
                   ": expected a number of tokens above 0");
  if (flags.assumedTflops.getNumOccurrences() &&
      !(flags.assumedTflops > 0 && flags.assumedTflops < 1e9))
    return invalid("--assumed-tflops=", flags.assumedTflops.getValue(),
                   ": expected TFLOP/s of a device, above 0");
  return checkQuestions();
}

int64_t PlanTool::deviceCount(const PlanInput &input) const {
  if (flags.devices > 0)
    return flags.devices;
  if (flags.nodes > 0)
    return static_cast<int64_t>(flags.nodes) * cluster.devices_per_node();
  return input.layout ? input.layout->devices() : cluster.devices_per_node();
}

int64_t PlanTool::batchOf(const PlanInput &input) const {
  if (flags.batch > 0)
    return flags.batch;
  return input.globalBatch > 0 ? input.globalBatch : kSequencesPerDevice * deviceCount(input);
}

absl::StatusOr<::st::SearchSpace> PlanTool::makeSpace(const PlanInput &input, int64_t devices,
                                                      int64_t batch) const {
  ::st::SearchSpace space;
  space.devices = devices;
  space.globalBatch = batch;
  space.tensor = asVector(flags.tp);
  space.stages = asVector(flags.pp);
  space.replicas = asVector(flags.dp);
  space.context = asVector(flags.context);
  space.expert = asVector(flags.expert);
  space.virtualStages = asVector(flags.vpp);
  space.microBatch = asVector(flags.microBatch);
  space.zero = {0, 1};
  if (input.openRun) {
    space.tensor = {1};
    space.stages = {1};
    space.zero = input.openRun->zeroLevels;
    space.offloadOptimizer = {input.openRun->offloadsOptimizer};
    if (input.openRun->recompute)
      space.recompute = {*input.openRun->recompute};
  }
  if (!flags.zero.empty())
    space.zero = asVector(flags.zero);
  if (!flags.recompute.empty())
    space.recompute.clear();
  for (const std::string &name : flags.recompute) {
    auto recompute = ::st::parseRecompute(name);
    if (!recompute)
      return invalid("--recompute=", name, ": expected none, selective or full");
    space.recompute.push_back(*recompute);
  }
  if (!flags.schedule.empty())
    space.schedules.clear();
  for (const std::string &name : flags.schedule) {
    auto schedule = ::st::parseSchedule(name);
    if (!schedule)
      return invalid("--schedule=", name, ": expected ", ::st::kScheduleNames,
                     " (st-plan does not plan the other schedules of st-compile)");
    space.schedules.push_back(*schedule);
  }
  if (!flags.sequenceParallel.empty())
    space.sequenceParallel.clear();
  for (const std::string &value : flags.sequenceParallel) {
    if (value != "true" && value != "false")
      return invalid("--sequence-parallel=", value, ": expected true or false");
    space.sequenceParallel.push_back(value == "true");
  }
  // A framework's attention is one product of all keys.
  if (!simulates() && profile.framework_ops())
    space.contextAttention = {::st::ContextAttention::Heads, ::st::ContextAttention::Keys};
  if (!flags.contextAttention.empty())
    space.contextAttention.clear();
  for (const std::string &name : flags.contextAttention) {
    auto attention = ::st::parseContextAttention(name);
    if (!attention)
      return invalid("--context-attention=", name, ": expected ", ::st::kContextAttentionNames);
    space.contextAttention.push_back(*attention);
  }
  if (flags.offload)
    space.offloadOptimizer = {false, true};
  for (const std::string &name : flags.placement) {
    auto order = ::st::parseRankOrder(name);
    if (!order)
      return invalid("--placement=", name,
                     ": expected cluster, or an order of axes as tensor-data-pipeline");
    space.placements.push_back(*order);
  }
  space.fastest = std::max<size_t>(flags.top, 1);
  space.maxReplicaDevices = static_cast<int64_t>(flags.replicaNodes) * cluster.devices_per_node();
  if (flags.devices.isRange())
    space.maxDevices = flags.devices.most;
  if (flags.batch.isRange())
    space.maxGlobalBatch = flags.batch.most;
  return space;
}

::st::StepInputs PlanTool::inputsOf(const PlanInput &input) {
  const std::string &optimizer =
      flags.optimizer.empty() ? input.optimizer : flags.optimizer.getValue();
  ::st::StepInputs inputs{input.model,         cluster, profile,          *costs,
                          models->find(input), order,   constants.stepUs, optimizer};
  if (simulates())
    inputs.simulated = &simulatedOf(input);
  return inputs;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

absl::StatusOr<::st::SearchResult>
PlanTool::search(const PlanInput &input, const ::st::SearchSpace &space, bool showsProgress) {
  ::st::Progress progress;
  if (showsProgress && !flags.quiet)
    progress = [every = simulates() ? 8 : 256](size_t done, size_t all, double best) {
      if (done % every == 0 || done == all)
        llvm::errs() << absl::StrFormat("\rst-plan: %d of %d layouts, %-14s%s", done, all,
                                        std::isfinite(best) ? absl::StrFormat("best %.4g ms", best)
                                                            : "none fits yet",
                                        done == all ? "\n" : "");
    };
  if (simulates())
    return ::st::searchSimulated(
        inputsOf(input), space, {std::max(1u, flags.simulate.getValue()), flags.compose}, progress);
  return ::st::searchLayouts(inputsOf(input), space, progress);
}

absl::Status PlanTool::explainLosers(const ::st::SearchResult &result) const {
  for (const std::string &degrees : flags.whyNot) {
    auto filter = ::st::LayoutFilter::parse(degrees);
    if (!filter.ok())
      return invalid("--why-not=", degrees, ": ", filter.status().message());
    std::vector<const ::st::Candidate *> found;
    std::vector<::st::Layout> all;
    for (const ::st::Candidate &candidate : result.candidates) {
      all.push_back(candidate.layout);
      if (filter->matches(candidate.layout))
        found.push_back(&candidate);
    }
    llvm::outs() << "\nwhy not " << degrees << ": " << found.size() << " layouts\n";
    if (found.empty())
      llvm::outs() << "  " << filter->explainNone(all) << '\n';
    // Sorts by distance to the best: first composed layouts, then the others by their bounds.
    llvm::stable_sort(found, [](const ::st::Candidate *a, const ::st::Candidate *b) {
      const bool runsA = a->fate <= ::st::Candidate::Slower,
                 runsB = b->fate <= ::st::Candidate::Slower;
      return runsA != runsB ? runsA
                            : (a->ms > 0 ? a->ms : a->boundMs) < (b->ms > 0 ? b->ms : b->boundMs);
    });
    for (const ::st::Candidate *candidate : ArrayRef(found).take_front(flags.top))
      llvm::outs() << "  " << ::st::printLayout(candidate->layout) << ": "
                   << (candidate->reason.empty() ? "the best" : candidate->reason) << '\n';
  }
  return absl::OkStatus();
}

absl::Status PlanTool::writePage(const ::st::proto::PlanReport &report) const {
  return flags.page.empty() ? absl::OkStatus()
                            : writeOutput(flags.page, ::st::printPlanPage(report));
}

absl::Status PlanTool::emitLayout(const ::st::Layout &layout, const PlanInput &input) const {
  if (flags.emit.empty())
    return absl::OkStatus();
  ::st::Layout placed = layout;
  placed.placement = ::st::resolveOrder(cluster, layout.placement);
  return writeOutput(flags.emit, ::st::emitParallelFile(placed, input.model.precision));
}

absl::Status PlanTool::predictRun(const PlanInput &input) {
  const ::st::StepInputs inputs = inputsOf(input);
  auto step = ::st::estimateStep(inputs, *input.layout, flags.json || !flags.page.empty());
  if (!step.ok())
    return step.status();
  ::st::proto::PlanStep plan = ::st::describeStep(inputs, *input.layout, *step);
  ::st::proto::PlanReport report = ::st::describeRun(inputs, plan);
  if (flags.daysFor > 0) {
    *report.mutable_training() = ::st::describeTraining(plan, flags.daysFor, flags.assumedTflops);
    *plan.mutable_training() = report.training();
  }
  if (absl::Status status = writePage(report); !status.ok())
    return status;
  if (absl::Status status = emitLayout(*input.layout, input); !status.ok())
    return status;
  if (flags.json) {
    addKeys(input.keys, *plan.mutable_keys());
    llvm::outs() << ::st::printJson(plan) << '\n';
    return absl::OkStatus();
  }
  llvm::outs() << absl::StrFormat("model            %s, %s, sequence %d\n", input.model.name,
                                  input.model.precision, input.model.sequence)
               << ::st::printStep(plan);
  if (flags.daysFor > 0)
    llvm::outs() << '\n'
                 << ::st::printTraining(report.training(), plan.layout().devices(),
                                        plan.parameters());
  llvm::outs() << printKeys(input.keys);
  return absl::OkStatus();
}

absl::Status PlanTool::plan(const PlanInput &input) {
  auto space = makeSpace(input, deviceCount(input), batchOf(input));
  if (!space.ok())
    return space.status();
  auto result = search(input, *space, true);
  if (!result.ok())
    return result.status();
  if (!result->best)
    return invalid("no layout of ", space->devices, " devices and batch ", space->globalBatch,
                   " runs on ", cluster.name(), ": ", explainNothing(*result));
  const ::st::StepInputs inputs = inputsOf(input);
  auto report = ::st::describeSearch(inputs, *result);
  if (!report.ok())
    return report.status();
  if (simulates())
    ::st::describeSimulated(inputs, *result, *report);
  if (flags.daysFor > 0)
    *report->mutable_training() =
        ::st::describeTraining(report->best(), flags.daysFor, flags.assumedTflops);
  if (absl::Status status = writePage(*report); !status.ok())
    return status;
  if (absl::Status status = emitLayout(result->candidates[*result->best].layout, input);
      !status.ok())
    return status;
  if (flags.json) {
    addKeys(input.keys, *report->mutable_keys());
    llvm::outs() << ::st::printJson(*report) << '\n';
    return absl::OkStatus();
  }
  llvm::outs() << ::st::printFront(*report) << '\n' << ::st::printStep(report->best());
  if (simulates())
    llvm::outs() << '\n' << ::st::printSimulated(*report);
  if (flags.daysFor > 0)
    llvm::outs() << '\n'
                 << ::st::printTraining(report->training(), report->best().layout().devices(),
                                        report->parameters());
  llvm::outs() << printKeys(input.keys);
  return explainLosers(*result);
}

absl::Status PlanTool::run() {
  absl::Status status = answer();
  // Notes are printed only without an error.
  if (status.ok())
    for (const std::string &note : notes)
      llvm::errs() << "st-plan: note: " << note << '\n';
  return status;
}

absl::Status PlanTool::answer() {
  if (absl::Status status = checkFlags(); !status.ok())
    return status;
  if (absl::Status status = loadCluster(); !status.ok())
    return status;
  if (absl::Status status = checkChanges(); !status.ok())
    return status;
  // Other questions are answered for the changed hardware.
  if (!askedQuestions().empty())
    for (const std::string &changes : flags.whatIf)
      if (absl::Status status = changeCluster(changes); !status.ok())
        return status;
  if (!flags.rows.empty())
    return predictRows();
  if (!flags.lintLog.empty())
    return lintLog();
  auto input = loadInput();
  if (!input.ok())
    return input.status();
  takeRun(*input);
  if (flags.largestModel)
    return findLargestModel(*input);
  if (flags.fewestDevices)
    return findFewestDevices(*input);
  if (!flags.scale.empty())
    return scale(*input);
  if (flags.shrinkTo > 0)
    return shrink(*input);
  if (!flags.whatIf.empty()) {
    for (const std::string &changes : flags.whatIf)
      if (absl::Status status = answerWhatIf(*input, changes); !status.ok())
        return status;
    return absl::OkStatus();
  }
  if (input->autotunes)
    return tuneZero(*input);
  // A completely described run is predicted as it is, unless the flags ask for a plan on other
  // devices.
  const bool isFree = flags.devices > 0 || flags.nodes > 0 || !flags.whyNot.empty() ||
                      !flags.tp.empty() || !flags.pp.empty() || !flags.dp.empty() ||
                      !flags.context.empty() || !flags.contextAttention.empty() ||
                      !flags.expert.empty() || flags.batch > 0;
  return input->layout && !isFree ? predictRun(*input) : plan(*input);
}
