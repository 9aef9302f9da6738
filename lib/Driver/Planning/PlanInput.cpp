#include "lib/Driver/Planning/PlanInput.h"

#include "lib/Driver/Planning/RunProfile.h"
#include "lib/Driver/Planning/TrainedLayers.h"
#include "lib/Frontend/DeepSpeed/DeepSpeedConfig.h"
#include "lib/Frontend/EncoderFamily.h"
#include "lib/Frontend/Megatron/ModelParts.h"
#include "lib/Frontend/Seq2Seq/Seq2SeqFamily.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::st;

/// "file:line: text", or the text if the diagnostic is not about a file.
static std::string textWithPlace(const Diagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>())
    os << place.getFilename().getValue() << ':' << place.getLine() << ": ";
  os << diagnostic;
  return text;
}

absl::Status mlir::st::captureError(MLIRContext *context,
                                    llvm::function_ref<LogicalResult()> work) {
  std::string error;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error && error.empty())
      error = textWithPlace(diagnostic);
    return success();
  });
  if (succeeded(work()))
    return absl::OkStatus();
  return absl::InvalidArgumentError(error.empty() ? "failed without a diagnostic" : error);
}

/// Completes an input from its configuration.
static void describeModel(PlanInput &input, StringRef name, int64_t sequence,
                          std::string precision) {
  input.model.name = name.str();
  input.model.decoderLayers = input.config.decoder.layerCount;
  input.model.layers = input.config.layerCount + input.model.decoderLayers;
  input.model.hidden = input.config.hiddenSize;
  input.model.heads = input.config.headCount;
  input.model.vocabulary = input.config.vocabSize;
  const std::vector<bool> &sparse = input.config.experts.layers;
  const bool hasExperts = input.config.experts.count > 0;
  input.model.experts = hasExperts ? input.config.experts.count : 0;
  std::vector<std::string> kinds(input.model.layers);
  for (int64_t layer = 0; hasExperts && layer < input.model.encoderLayers(); ++layer)
    if (sparse.empty() || sparse[std::min<size_t>(layer, sparse.size() - 1)])
      kinds[layer] = "experts";
  input.model.setLayerKinds(kinds);
  input.model.sequence = sequence;
  input.model.precision = std::move(precision);
}

/// Parses a configuration that the planner generated from given sizes.
static absl::Status parseConfig(StringRef json, StringRef path, ModelConfig &config) {
  MLIRContext context;
  return captureError(&context, [&] {
    FailureOr<ModelConfig> parsed = parseModelConfig(json, path, &context);
    if (succeeded(parsed))
      config = std::move(*parsed);
    return success(succeeded(parsed));
  });
}

std::string mlir::st::printOptions(const PlanInput &input) {
  return absl::StrJoin(input.options, " ", absl::PairFormatter("="));
}

static Task defaultTask(ModelType type) {
  if (findSeq2SeqFamily(type))
    return Task::Seq2Seq;
  if (findEncoderFamily(type))
    return Task::MaskedLm;
  return type == ModelType::Vit ? Task::Classify : Task::CausalLm;
}

absl::StatusOr<PlanInput> mlir::st::readModelFolder(const std::string &path,
                                                    const FolderChoices &choices) {
  PlanInput input;
  MLIRContext context;
  absl::Status loaded = captureError(&context, [&] {
    // Printed here, once; the blocks that the planner compiles repeat it.
    ScopedDiagnosticHandler handler(&context, [](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Warning)
        return failure();
      llvm::errs() << "warning: " << textWithPlace(diagnostic) << '\n';
      return success();
    });
    FailureOr<ModelConfig> config = loadModelConfig(path, &context);
    if (succeeded(config))
      input.config = std::move(*config);
    return success(succeeded(config));
  });
  if (!loaded.ok())
    return loaded;
  input.task = choices.task.value_or(defaultTask(input.config.type));
  if ((input.task == Task::Seq2Seq) != (findSeq2SeqFamily(input.config.type) != nullptr))
    return absl::InvalidArgumentError(absl::StrCat("--task=", stringify(input.task).str(),
                                                   " does not fit ", path, ", a ",
                                                   stringify(input.config.type).str()));
  const int64_t sequence = choices.sequence.value_or(input.config.positionCount);
  if (sequence <= 0 || sequence == INT32_MAX)
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": the model has no maximum sequence length; expected --seq"));
  StringRef name = StringRef(path).rtrim('/');
  name.consume_back("/config.json");
  describeModel(input, name.rsplit('/').second.empty() ? name : name.rsplit('/').second, sequence,
                choices.precision);
  input.options = choices.options;
  if (absl::Status status = checkTrainedLayers(input); !status.ok())
    return status;
  return input;
}

static std::string megatronConfig(StringRef family, const ::st::PlannedModel &model,
                                  int64_t ffnHidden, int64_t positions, double attentionDropout,
                                  double hiddenDropout,
                                  StringRef parts = R"(, "hidden_act": "gelu_new")") {
  const StringRef type = family == "bert" ? "megatron-bert" : "megatron-gpt";
  const StringRef ffn = family == "bert" ? "intermediate_size" : "ffn_hidden_size";
  const StringRef layers = family == "bert" ? "num_hidden_layers" : "num_layers";
  const StringRef attention =
      family == "bert" ? "attention_probs_dropout_prob" : "attention_dropout";
  const StringRef hidden = family == "bert" ? "hidden_dropout_prob" : "hidden_dropout";
  return llvm::formatv(R"({{"model_type": "{0}", "hidden_size": {1}, "{2}": {3}, )"
                       R"("num_attention_heads": {4}, "{5}": {6}, "max_position_embeddings": {7}, )"
                       R"("vocab_size": {8}, "{9}": {10}, "{11}": {12}{13})"
                       "}",
                       type, model.hidden, layers, model.layers, model.heads, ffn, ffnHidden,
                       positions, model.vocabulary, attention, attentionDropout, hidden,
                       hiddenDropout, parts);
}

/// The parts of a run's blocks as keys of a configuration. The profile determines the fusions, and
/// a plan has no batch to balance.
static std::string describeParts(TrainingRun run) {
  run.fusedBiasGelu = true;
  run.experts.balance = RunBalance::None;
  std::string text;
  describeModelParts(run, [&](StringRef key, const Twine &value) {
    text += ", \"" + key.str() + "\": " + value.str();
  });
  return text;
}

/// Megatron-LM pads vocabularies to a multiple of this times the tensor shards.
constexpr int64_t kMegatronMultiple = 128;

absl::StatusOr<PlanInput> mlir::st::readMeasuredRow(const ::st::MeasuredRow &row) {
  PlanInput input;
  const int64_t ffn = row.ffnHidden > 0 ? row.ffnHidden : 4 * row.model.hidden;
  constexpr double kDropout = 0.1; // Megatron-LM's default
  if (absl::Status parsed = parseConfig(
          megatronConfig(row.family, row.model, ffn, row.model.sequence, kDropout, kDropout), "row",
          input.config);
      !parsed.ok())
    return parsed;
  input.task = row.family == "bert" ? Task::MaskedLm : Task::CausalLm;
  describeModel(input, row.family, row.model.sequence, row.model.precision);
  input.vocabularyMultiple = kMegatronMultiple;
  input.optimizer = row.optimizer;
  input.layout = row.layout;
  input.globalBatch = row.layout.globalBatch();
  return input;
}

::st::RowDefaults mlir::st::rowDefaults(const PlanInput &input, int64_t devicesPerNode) {
  const bool isMegatron =
      input.config.type == ModelType::MegatronGpt || input.config.type == ModelType::MegatronBert;
  ::st::RowDefaults defaults;
  defaults.devicesPerNode = devicesPerNode;
  defaults.model = input.model;
  defaults.optimizer = input.optimizer;
  defaults.recompute = input.layout ? input.layout->recompute
                       : isMegatron ? ::st::Recompute::Full
                                    : ::st::Recompute::None;
  return defaults;
}

static ::st::Recompute recomputeOf(RunRecomputation recomputation) {
  switch (recomputation) {
  case RunRecomputation::None:
    return ::st::Recompute::None;
  case RunRecomputation::Selective:
    return ::st::Recompute::Selective;
  case RunRecomputation::Full:
    return ::st::Recompute::Full;
  }
  llvm_unreachable("unknown recomputation");
}

static const char *precisionOf(const TrainingRun &run) {
  return run.precision == RunPrecision::F16    ? "f16"
         : run.precision == RunPrecision::BF16 ? "bf16"
                                               : "f32";
}

/// Returns true if the configuration has a key with the value "auto" or null.
static bool isLeftOpen(const TrainingRun &run, StringRef key) {
  return llvm::any_of(run.keys, [&](const KeyStatus &status) {
    return status.key == key && status.reason == kLeftToTheRun;
  });
}

/// Rejects placements that the planner does not support.
static absl::Status checkOffload(const TrainingRun &run) {
  if (run.parameterOffload != RunOffload::None)
    return absl::InvalidArgumentError(
        run.path + ": parameters in the memory of the host or on disk are not planned; "
                   "expected offload_param with device none");
  if (run.optimizerOffload == RunOffload::Disk)
    return absl::InvalidArgumentError(
        run.path + ": optimizer state on disk is not planned; expected offload_optimizer "
                   "with device none or cpu");
  return absl::OkStatus();
}

absl::Status mlir::st::addDeepSpeedConfig(StringRef text, StringRef path, int64_t devices,
                                          PlanInput &input) {
  TrainingRun run;
  run.layers = input.model.layers;
  if (absl::Status status = readDeepSpeedConfig(text, path, run, devices); !status.ok())
    return status;
  if (absl::Status status = checkOffload(run); !status.ok())
    return status;
  input.model.precision = precisionOf(run);
  input.optimizer = run.optimizer;
  input.autotunes = run.autotunes;
  input.keys = planKeys(run);
  input.globalBatch = run.globalBatch;
  input.run = run;
  if (isLeftOpen(run, "train_micro_batch_size_per_gpu")) {
    PlanInput::OpenRun &open = input.openRun.emplace();
    open.zeroLevels = {run.zeroStage};
    if (isLeftOpen(run, "zero_optimization.stage"))
      open.zeroLevels = {0, 1, 2, 3};
    if (run.recomputation != RunRecomputation::None)
      open.recompute = recomputeOf(run.recomputation);
    open.offloadsOptimizer = run.optimizerOffload != RunOffload::None;
    return absl::OkStatus();
  }
  if (run.globalBatch == 0 || run.microBatch == 0)
    return absl::OkStatus();
  ::st::Layout layout;
  layout.tensor = run.tensorParallel;
  layout.stages = run.pipelineParallel;
  layout.replicas = std::max<int64_t>(run.dataParallel, 1);
  layout.microBatch = run.microBatch;
  layout.microBatches = std::max<int64_t>(run.accumulation, 1);
  layout.zero = run.zeroStage;
  layout.offloadOptimizer = run.optimizerOffload != RunOffload::None;
  layout.recompute = recomputeOf(run.recomputation);
  input.layout = layout;
  return absl::OkStatus();
}

absl::StatusOr<PlanInput> mlir::st::readTrainingRun(const TrainingRun &run) {
  auto refuse = [&](const Twine &what) {
    return absl::InvalidArgumentError((run.path + ": " + what).str());
  };
  if (run.layers == 0 || run.hidden == 0 || run.heads == 0 || run.sequence == 0)
    return refuse(
        "does not describe a model: expected layers, hidden size, heads and sequence length");
  if (absl::Status status = checkOffload(run); !status.ok())
    return status;
  PlanInput input;
  ::st::PlannedModel sizes;
  sizes.hidden = run.hidden;
  sizes.layers = run.layers;
  sizes.heads = run.heads;
  const bool isBert = run.family == RunFamily::MegatronBert;
  constexpr int64_t kGptVocabulary = 50257, kBertVocabulary = 30522;
  sizes.vocabulary = run.vocabulary > 0 ? run.vocabulary
                     : isBert           ? kBertVocabulary
                                        : kGptVocabulary;
  if (absl::Status parsed =
          parseConfig(megatronConfig(isBert ? "bert" : "gpt", sizes, run.ffnHidden,
                                     std::max(run.maxPositions, run.sequence), run.attentionDropout,
                                     run.hiddenDropout, describeParts(run)),
                      run.path, input.config);
      !parsed.ok())
    return parsed;
  input.task = isBert ? Task::MaskedLm : Task::CausalLm;
  input.config.tieWordEmbeddings = !run.untiedEmbeddings;
  describeModel(input, isBert ? "megatron-bert" : "megatron-gpt", run.sequence, precisionOf(run));
  input.vocabularyMultiple = run.vocabularyMultiple;
  input.optimizer = run.optimizer;
  ::st::Layout layout;
  layout.tensor = run.tensorParallel;
  layout.stages = run.pipelineParallel;
  layout.virtualStages = std::max<int64_t>(run.virtualStages, 1);
  layout.replicas = std::max<int64_t>(run.dataParallel, 1);
  layout.context = run.contextParallel;
  layout.expert = run.expertParallel;
  layout.microBatch = std::max<int64_t>(run.microBatch, 1);
  layout.microBatches = run.accumulation > 0 ? run.accumulation
                        : run.globalBatch > 0
                            ? run.globalBatch / layout.replicas / layout.microBatch
                            : 1;
  layout.zero = run.zeroStage;
  layout.recompute = recomputeOf(run.recomputation);
  layout.sequenceParallel = run.sequenceParallel;
  layout.offloadOptimizer = run.optimizerOffload != RunOffload::None;
  if (layout.virtualStages > 1)
    layout.schedule = ::st::PipelineSchedule::Interleaved;
  if (layout.microBatches < 1)
    return refuse("the global batch " + Twine(run.globalBatch) + " is smaller than " +
                  Twine(layout.replicas) + " replicas x micro-batch " + Twine(layout.microBatch));
  input.layout = layout;
  input.globalBatch = layout.globalBatch();
  input.keys = planKeys(run);
  input.measured = run.measured;
  input.run = run;
  return input;
}
