//===- Megatron.cpp - Training runs of Megatron ---------------------------===//

#include "lib/Frontend/Megatron/Megatron.h"

#include "lib/Frontend/Megatron/LintChecks.h"
#include "lib/Frontend/Megatron/ModelParts.h"
#include "lib/Support/StatusMacros.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mlir::st;

constexpr int64_t gpt2Tokens = 50257, llama2Tokens = 32000, llama3Tokens = 128256;

std::optional<int64_t> mlir::st::knownVocabulary(StringRef path) {
  struct Known {
    StringRef part, other;
    int64_t tokens;
  } known[] = {{"multilingual", "uncased", 105879},
               {"multilingual", "cased", 119547},
               {"bert", "uncased", 30522},
               {"bert", "cased", 28996},
               {"gpt2", "", gpt2Tokens},
               {"llama-2", "", llama2Tokens},
               {"llama-3", "", llama3Tokens},
               {"mixtral", "8x7b", llama2Tokens}};
  // If the file is called vocab.txt, the folder names the model.
  std::string lower = path.lower();
  StringRef folder, name = lower;
  if (path.contains('/'))
    std::tie(folder, name) = StringRef(lower).rsplit('/');
  for (StringRef text : {name, folder.substr(folder.rfind('/') + 1)})
    for (const Known &entry : known)
      if (text.contains(entry.part) && text.contains(entry.other))
        return entry.tokens;
  return std::nullopt;
}

namespace {
class RunBuilder {
public:
  explicit RunBuilder(const MegatronLog &log) : log(log), linter(log) {}

  absl::StatusOr<TrainingRun> build();

private:
  absl::Status takeFields();
  absl::Status refuseRestricted(const GivenArgument &given) const;
  absl::Status refuseContradictions();
  absl::Status decideFamily();
  absl::Status decideModel();
  void decideVocabulary();
  void decidePrecision();
  absl::Status decideLayout();
  absl::Status decideZero();
  void decideRecomputation();
  void decideStep();
  void takeMeasurements();
  void listKeys();

  absl::Status error(StringRef name, const Twine &message) const {
    const GivenArgument *given = log.find(name, /*orNone=*/true);
    std::string place = log.path + (given ? ":" + std::to_string(given->line) : "");
    return absl::InvalidArgumentError(place + ": argument '" + name.str() + "': " + message.str());
  }
  absl::Status require(StringRef name, int64_t value) const {
    if (value != 0)
      return absl::OkStatus();
    return error(name, "expected an integer from 1 to 2^31 - 1, found none");
  }

  const MegatronLog &log;
  Linter linter;
  TrainingRun run;
};
} // namespace

absl::Status RunBuilder::refuseRestricted(const GivenArgument &given) const {
  const Argument &argument = *given.argument;
  if (argument.status != ArgumentStatus::Restricted || given.isNone)
    return absl::OkStatus();
  StringRef text = given.text;
  // Some versions print integers as 1.0.
  text.consume_back(".0");
  std::string expected;
  for (StringRef accepted : llvm::split(argument.note, "|")) {
    if (text == accepted)
      return absl::OkStatus();
    expected += (expected.empty() ? "" : " or ") + accepted.str();
  }
  return error(argument.name, "expected " + expected +
                                  ", since no other value can be planned, found " +
                                  inQuotes(given.text));
}

absl::Status RunBuilder::takeFields() {
  // The dump is processed last, since it overrides the command line.
  for (const ArgumentMap *map : {&log.fromCommand, &log.fromDump})
    for (const auto &[name, given] : *map) {
      if (map == &log.fromCommand && log.fromDump.contains(name))
        continue;
      ST_RETURN_IF_ERROR(refuseRestricted(given));
      if (given.isNone)
        continue;
      const RunField &field = given.argument->field;
      if (auto *flag = std::get_if<bool TrainingRun::*>(&field))
        run.*(*flag) = given.flag();
      else if (auto *size = std::get_if<int64_t TrainingRun::*>(&field))
        run.*(*size) = given.integer;
      else if (auto *number = std::get_if<double TrainingRun::*>(&field))
        run.*(*number) = given.number;
      else if (auto *maybe = std::get_if<std::optional<double> TrainingRun::*>(&field))
        run.*(*maybe) = given.number;
      else if (auto *text = std::get_if<std::string TrainingRun::*>(&field))
        run.*(*text) = given.text;
    }
  return absl::OkStatus();
}

absl::Status RunBuilder::refuseContradictions() {
  for (const LintFinding &finding : lintMegatronLog(log))
    if (finding.preventsPlan) {
      std::string values;
      for (const auto &[name, value] : finding.values)
        values += (values.empty() ? " (" : ", ") + name + " " + value;
      std::string place =
          log.path + (finding.lines.empty() ? "" : ":" + std::to_string(finding.lines.front()));
      return absl::InvalidArgumentError(place + ": " + finding.sentence +
                                        (values.empty() ? "" : values + ")"));
    }
  return absl::OkStatus();
}

absl::Status RunBuilder::decideFamily() {
  // Other models use other scripts; a script that only calls one of these does not count.
  constexpr StringRef others[] = {"t5", "ict", "vision", "retro", "mamba", "biencoder", "vlm"};
  for (StringRef other : others)
    if (StringRef(log.script).starts_with("pretrain_") && StringRef(log.script).contains(other))
      return absl::InvalidArgumentError(log.path + ":" + std::to_string(log.commandLine) +
                                        ": expected pretrain_bert.py or pretrain_gpt.py, found " +
                                        inQuotes(log.script));
  // Tokenizers without a family are those of language models.
  run.family = runFamily(log).value_or(RunFamily::MegatronGpt);
  return absl::OkStatus();
}

absl::Status RunBuilder::decideModel() {
  if (run.layers == 0)
    run.layers = log.integer("encoder_num_layers").value_or(0);
  if (run.sequence == 0)
    run.sequence = log.integer("encoder_seq_length").value_or(0);
  if (run.maxPositions == 0)
    run.maxPositions = run.sequence;
  ST_RETURN_IF_ERROR(require("num_layers", run.layers));
  ST_RETURN_IF_ERROR(require("hidden_size", run.hidden));
  ST_RETURN_IF_ERROR(require("num_attention_heads", run.heads));
  ST_RETURN_IF_ERROR(require("seq_length", run.sequence));
  ST_RETURN_IF_ERROR(require("micro_batch_size", run.microBatch));
  ST_RETURN_IF_ERROR(readModelParts(log, run));
  for (StringRef name : {"use_flash_attn_v1", "use_flash_attn_v2", "use_flash_attn_triton",
                         "use_flash_attn_builder"})
    run.flashAttention |= log.flag(name);
  if (const GivenArgument *causal = log.find("scaled_upper_triang_masked_softmax_fusion");
      causal && run.family == RunFamily::MegatronGpt)
    run.fusedSoftmax = causal->flag();
  return absl::OkStatus();
}

void RunBuilder::decideVocabulary() {
  if (log.measured.vocabulary)
    run.vocabulary = log.measured.vocabulary->size;
  else if (run.vocabulary == 0)
    run.vocabulary = knownVocabulary(log.text("vocab_file")).value_or(0);
  if (run.vocabulary == 0)
    run.vocabulary = knownVocabulary(log.text("tokenizer_model")).value_or(0);
  if (run.vocabulary == 0 && tokenizerType(log) == "Llama2Tokenizer")
    run.vocabulary = llama2Tokens;
  if (run.vocabulary == 0 && tokenizerType(log) == "GPT2BPETokenizer")
    run.vocabulary = gpt2Tokens;
  // The rows for padding have no tokens, but a dump does not say how many there are.
  if (run.vocabulary == 0)
    run.vocabulary = run.paddedVocabulary;
  if (run.vocabulary != 0 && !log.measured.vocabulary)
    run.vocabulary += log.integer("vocab_extra_ids").value_or(0);
  if (run.paddedVocabulary == 0)
    run.paddedVocabulary =
        padVocabulary(run.vocabulary, run.vocabularyMultiple, run.tensorParallel);
}

void RunBuilder::decidePrecision() {
  StringRef type = log.text("params_dtype");
  if (log.flag("fp16") || type == "torch.float16" || type == "torch.half")
    run.precision = RunPrecision::F16;
  if (log.flag("bf16") || type == "torch.bfloat16")
    run.precision = RunPrecision::BF16;
  // A command line omits what Megatron sets for bf16.
  bool isSet = log.flag("accumulate_allreduce_grads_in_fp32") ||
               (log.fromDump.empty() && run.precision == RunPrecision::BF16);
  const bool isBf16 = run.precision == RunPrecision::BF16 && log.flag("grad_reduce_in_bf16");
  run.reduceType = isSet && !isBf16 ? RunPrecision::F32 : run.precision;
  if (log.text("DDP_impl") == "torch")
    run.gradientReduction = RunGradientReduction::Torch;
}

absl::Status RunBuilder::decideLayout() {
  const LintLayout &layout = linter.layout;
  if (log.flag("no_pipeline_parallel"))
    run.pipelineParallel = 1;
  run.virtualStages = run.pipelineParallel > 1 ? layout.virtualStages : 1;
  int64_t perReplica =
      saturatingProduct({run.tensorParallel, run.pipelineParallel, run.contextParallel});
  if (run.worldSize == 0)
    run.worldSize = layout.worldSize;
  if (run.worldSize == 0 && run.dataParallel != 0)
    run.worldSize = saturatingProduct({run.dataParallel, perReplica});
  if (run.worldSize == 0 && !log.script.empty())
    run.worldSize = perReplica; // A script without a launcher is one replica.
  if (run.dataParallel == 0)
    run.dataParallel = run.worldSize / perReplica;
  if (run.dataParallel > 0 && run.dataParallel % run.expertParallel != 0)
    return error("expert_model_parallel_size", "expected a divisor of the " +
                                                   Twine(run.dataParallel) + " replicas, found " +
                                                   Twine(run.expertParallel));
  return decideZero();
}

absl::Status RunBuilder::decideZero() {
  run.zeroStage = log.integer("zero_stage").value_or(0);
  if (run.zeroStage > 3)
    return error("zero_stage", "expected a stage from 0 to 3, found " + Twine(run.zeroStage));
  // The argument has a default without effect if DeepSpeed is not used.
  if (log.find("deepspeed") && !log.flag("deepspeed"))
    run.zeroStage = 0;
  if (log.flag("use_distributed_optimizer"))
    run.zeroStage = std::max<int64_t>(run.zeroStage, 1);
  run.contiguousGradients |= log.flag("zero_contigious_gradients");
  if (int64_t bucket = log.integer("zero_reduce_bucket_size").value_or(0))
    run.reduceBucket = bucket;
  run.gatherBucket = log.integer("zero_allgather_bucket_size").value_or(0);
  if (log.flag("cpu_optimizer") || log.flag("optimizer_cpu_offload"))
    run.optimizerOffload = RunOffload::Host;
  StringRef device = log.text("remote_device");
  run.parameterOffload = device == "cpu"    ? RunOffload::Host
                         : device == "nvme" ? RunOffload::Disk
                                            : RunOffload::None;
  return absl::OkStatus();
}

void RunBuilder::decideRecomputation() {
  StringRef granularity = log.text("recompute_granularity");
  if (granularity.empty())
    granularity = log.text("checkpoint_granularity");
  StringRef method;
  for (StringRef name : {"recompute_method", "checkpoint_method", "activations_checkpoint_method"})
    if (method.empty())
      method = log.text(name);
  if (granularity == "selective" || log.flag("recompute_activations"))
    run.recomputation = RunRecomputation::Selective;
  if (granularity == "full" || log.flag("checkpoint_activations") ||
      (granularity.empty() && !method.empty()))
    run.recomputation = RunRecomputation::Full;
  run.recomputeBlocks = method == "block";
  StringRef count = granularity.empty() ? "checkpoint_num_layers" : "recompute_num_layers";
  for (StringRef name : {count, StringRef("activations_checkpoint_num_layers"),
                         StringRef("checkpoint_num_layers"), StringRef("recompute_num_layers")})
    if (std::optional<int64_t> layers = log.integer(name)) {
      run.layersPerCheckpoint = *layers;
      break;
    }
  run.shardedCheckpoints = log.flag("distribute_checkpointed_activations") ||
                           log.flag("distribute_saved_activations") ||
                           log.flag("partition_activations");
}

void RunBuilder::decideStep() {
  int64_t samples = saturatingProduct({run.microBatch, run.dataParallel});
  if (run.globalBatch == 0)
    run.globalBatch = samples;
  if (samples != 0)
    run.accumulation = run.globalBatch / samples;
  // Megatron decays over the full training by default.
  if (run.decayIterations == 0)
    run.decayIterations = run.trainIterations;
  if (run.decaySamples == 0)
    run.decaySamples = run.trainSamples;
}

void RunBuilder::takeMeasurements() {
  const LogMeasurements &measured = log.measured;
  RunMeasurements result;
  for (const LoggedTimers &logged : measured.timers)
    for (const auto &[name, milliseconds] : logged.timers)
      result.timers[name] = milliseconds;
  for (const LoggedIteration &logged : measured.iterations)
    if (logged.elapsed)
      result.perIteration = logged.elapsed;
  if (!measured.sampleTimes.empty())
    result.perSample = measured.sampleTimes.back().milliseconds;
  for (const LoggedMemory &logged : measured.memory) {
    result.memoryMin = std::min(result.memoryMin.value_or(logged.least), logged.least);
    result.memoryMax = std::max(result.memoryMax.value_or(logged.most), logged.most);
    if (logged.capacity)
      result.memoryCapacity = logged.capacity;
  }
  if (!result.timers.empty() || result.perIteration || result.perSample || result.memoryMax)
    run.measured = std::move(result);
}

void RunBuilder::listKeys() {
  for (const ArgumentMap *map : {&log.fromCommand, &log.fromDump})
    for (const auto &[name, given] : *map) {
      const Argument &argument = *given.argument;
      KeyStatus status{KeyStatus::Honoured, name.str(), "", given.line};
      if (map == &log.fromCommand && log.fromDump.contains(name)) {
        status.status = KeyStatus::NoEffect;
        status.reason = "the argument dump overrides the command line";
      } else if (argument.status == ArgumentStatus::NoEffect) {
        status.status = KeyStatus::NoEffect;
        status.reason = argument.note.str();
      } else if (argument.status == ArgumentStatus::Restricted) {
        status.status = KeyStatus::NoEffect;
        status.reason = "the feature that it configures is off";
      }
      run.keys.push_back(std::move(status));
    }
}

absl::StatusOr<TrainingRun> RunBuilder::build() {
  run.path = log.path;
  ST_RETURN_IF_ERROR(takeFields());
  ST_RETURN_IF_ERROR(decideFamily());
  ST_RETURN_IF_ERROR(decideModel());
  ST_RETURN_IF_ERROR(refuseContradictions());
  ST_RETURN_IF_ERROR(decideLayout());
  decideVocabulary();
  decidePrecision();
  decideRecomputation();
  decideStep();
  takeMeasurements();
  listKeys();
  return std::move(run);
}

absl::StatusOr<TrainingRun> mlir::st::buildTrainingRun(const MegatronLog &log) {
  return RunBuilder(log).build();
}
