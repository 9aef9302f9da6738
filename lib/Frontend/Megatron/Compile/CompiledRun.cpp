//===- CompiledRun.cpp - The program of a Megatron run --------------------===//

#include "lib/Frontend/Megatron/Compile/CompiledRun.h"

#include "lib/Frontend/Megatron/Compile/CompileRules.h"
#include "lib/Frontend/Megatron/LintChecks.h"
#include "lib/Frontend/Megatron/Megatron.h"
#include "lib/Frontend/Megatron/ModelParts.h"
#include "lib/Support/InputFile.h"
#include "lib/Support/StatusMacros.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mlir::st;

namespace {
/// The text of a JSON object with one key per line.
class JsonText {
public:
  void add(StringRef key, const Twine &value) {
    text += (text.empty() ? "{\n  \"" : ",\n  \"") + key.str() + "\": " + value.str();
  }
  void addText(StringRef key, const Twine &value) { add(key, "\"" + value + "\""); }
  void addFlag(StringRef key, bool value) { add(key, value ? "true" : "false"); }
  std::string take() { return text + "\n}\n"; }

private:
  std::string text;
};

class CompiledRunBuilder {
public:
  CompiledRunBuilder(const MegatronLog &log, TrainingRun run, const std::string &vocabularyFile)
      : log(log), run(std::move(run)), givenVocabulary(vocabularyFile) {}

  absl::StatusOr<CompiledRun> build();

private:
  bool isBert() const { return run.family == RunFamily::MegatronBert; }
  /// The given value, or Megatron's default.
  std::string number(StringRef name, StringRef standard) const {
    const GivenArgument *given = log.find(name);
    return given ? given->text : standard.str();
  }
  bool flag(StringRef name, bool standard) const {
    return log.integer(name).value_or(standard ? 1 : 0) != 0;
  }
  /// The argument, which newer versions of Megatron-LM rename.
  std::string normEpsilon() const {
    return number("norm_epsilon", number("layernorm_epsilon", "1e-5"));
  }
  void refuse(StringRef name, const Twine &expected) { refused[name] = expected.str(); }
  void ignore(StringRef name, const Twine &reason) { ignored[name] = reason.str(); }
  void setFlag(StringRef name, const Twine &value) {
    result.flags.push_back({name.str(), value.str()});
  }

  absl::Status readVocabulary();
  void refuseOtherSizes();
  void ignoreOtherParts();
  void describeBert(JsonText &json);
  void describeGpt(JsonText &json);
  void describeModel();
  void describeContext(JsonText &json);
  void describeLayout();
  void describePrecision(JsonText &json);
  void describeRecomputation(JsonText &json);
  void chooseOptimizer();
  void setLearningRate();
  void setStableDecay();
  void setLength();
  void setCheckpoints();
  void setData();
  void setData(StringRef name, StringRef flagName);
  void setEvaluation();
  void setLogging();
  void listOutcomes();
  ArgumentOutcome outcomeOf(const GivenArgument &given);
  void honourFlag(const GivenArgument &given, StringRef flagName, ArgumentOutcome &outcome);

  const MegatronLog &log;
  TrainingRun run;
  const std::string &givenVocabulary;
  CompiledRun result;
  /// For each refused argument the expected value, and for each ignored argument the reason.
  llvm::StringMap<std::string> refused, ignored;
  bool isRing = false; ///< keys and values are passed around a ring
};
} // namespace

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

absl::Status CompiledRunBuilder::readVocabulary() {
  const std::string path = givenVocabulary.empty() ? log.text("vocab_file").str() : givenVocabulary;
  constexpr size_t largest = size_t(64) << 20;
  absl::StatusOr<std::string> text = absl::NotFoundError("");
  if (!path.empty() && isBert())
    text = ::st::readInputFile(path, largest);
  if (text.ok()) {
    result.vocabularyFile = path;
    StringRef lines = *text;
    lines.consume_back("\n");
    run.vocabulary =
        static_cast<int64_t>(lines.count('\n')) + 1 + log.integer("vocab_extra_ids").value_or(0);
    run.paddedVocabulary =
        std::max(log.integer("padded_vocab_size").value_or(0),
                 padVocabulary(run.vocabulary, run.vocabularyMultiple, run.tensorParallel));
  } else if (!givenVocabulary.empty()) {
    return absl::InvalidArgumentError(givenVocabulary +
                                      ": cannot read: " + std::string(text.status().message()));
  }
  if (run.vocabulary > 0)
    return absl::OkStatus();
  return absl::InvalidArgumentError(
      log.path + ": gives no vocabulary of known size; expected vocab_size, or a vocab_file " +
      (isBert() ? "that is on this machine (--vocab-file)" : "of GPT-2"));
}

/// Redundant arguments have to agree.
void CompiledRunBuilder::refuseOtherSizes() {
  const std::pair<StringRef, StringRef> pairs[] = {{"encoder_seq_length", "seq_length"},
                                                   {"encoder_num_layers", "num_layers"}};
  for (auto [name, other] : pairs)
    if (log.find(name) && log.find(other) && log.integer(name) != log.integer(other))
      refuse(name, "the " + Twine(*log.integer(other)) + " of " + other);
}

/// Ignores the arguments of parts that the model does not have.
void CompiledRunBuilder::ignoreOtherParts() {
  const bool isGelu = !run.swiglu && !run.quickGeglu && !run.squaredRelu;
  for (StringRef name : {"bias_gelu_fusion", "openai_gelu"})
    if (!isGelu)
      ignore(name, "the MLPs have another activation function");
  if (isGelu && run.fusedBiasGelu)
    ignore("openai_gelu", "with bias_gelu_fusion the function is the same");
  if (run.positions != RunPositions::Rotary)
    for (StringRef name :
         {"rotary_base", "rope_theta", "rotary_percent", "rotary_seq_len_interpolation_factor",
          "use_rope_scaling", "rope_scaling_factor", "rotary_interleaved"})
      ignore(name, "the model has no rotary positions");
  if (run.linearBias)
    ignore("add_qkv_bias", "all products have biases");
  if (!log.flag("group_query_attention"))
    ignore("num_query_groups", "each head has its own keys and values");
  if (run.experts.count == 0)
    for (StringRef name : {"num_experts", "moe_router_topk", "moe_router_pre_softmax",
                           "moe_router_load_balancing_type", "moe_aux_loss_coeff",
                           "moe_z_loss_coeff", "moe_layer_freq", "moe_ffn_hidden_size",
                           "moe_shared_expert_intermediate_size", "expert_tensor_parallel_size"})
      ignore(name, "there are no experts");
}

void CompiledRunBuilder::describeBert(JsonText &json) {
  json.addText("model_type", "megatron-bert");
  json.add("num_hidden_layers", Twine(run.layers));
  json.add("intermediate_size", Twine(run.ffnHidden));
  json.add("hidden_dropout_prob", number("hidden_dropout", "0.1"));
  json.add("attention_probs_dropout_prob", number("attention_dropout", "0.1"));
  json.add("layer_norm_eps", normEpsilon());
  json.add("initializer_range", number("init_method_std", "0.02"));
  json.addFlag("use_scaled_init_method", true);
  json.addText("hidden_act", activationOf(run));
  // The head of masked tokens always has the exact function.
  json.addText("lm_head_act", "gelu");
  json.addFlag("bert_binary_head", run.binaryHead);
  json.add("pad_token_id", "null");
  json.addFlag("do_lower_case", tokenizerType(log) != "BertWordPieceCase");
}

void CompiledRunBuilder::describeGpt(JsonText &json) {
  json.addText("model_type", "megatron-gpt");
  json.add("num_layers", Twine(run.layers));
  json.add("ffn_hidden_size", Twine(run.ffnHidden));
  json.add("hidden_dropout", number("hidden_dropout", "0.1"));
  json.add("attention_dropout", number("attention_dropout", "0.1"));
  json.add("layernorm_epsilon", normEpsilon());
  json.add("init_method_std", number("init_method_std", "0.02"));
  // <|endoftext|> is the last token of GPT-2's own vocabulary.
  constexpr int64_t gpt2Tokens = 50257;
  if (tokenizerType(log) == "GPT2BPETokenizer" &&
      run.vocabulary - log.integer("vocab_extra_ids").value_or(0) == gpt2Tokens)
    json.add("eos_token_id", Twine(gpt2Tokens - 1));
  if (tokenizerType(log) == "Llama2Tokenizer")
    json.add("eos_token_id", "2");
  describeModelParts(run, [&](StringRef key, const Twine &value) { json.add(key, value); });
}

void CompiledRunBuilder::describeModel() {
  JsonText json;
  ignoreOtherParts();
  if (isBert())
    describeBert(json);
  else
    describeGpt(json);
  json.add("hidden_size", Twine(run.hidden));
  json.add("num_attention_heads", Twine(run.heads));
  json.add("max_position_embeddings", Twine(std::max(run.maxPositions, run.sequence)));
  json.add("vocab_size", Twine(run.vocabulary));
  // The padded number already includes the number of shards.
  json.add("make_vocab_size_divisible_by", Twine(run.paddedVocabulary));
  json.addFlag("apply_query_key_layer_scaling", flag("apply_query_key_layer_scaling", false));
  json.addFlag("tie_word_embeddings", !run.untiedEmbeddings);
  result.config = json.take();
  result.options["task"] = isBert() ? "mlm" : "clm";
  result.options["seq"] = std::to_string(run.sequence);
  result.options["batch"] = std::to_string(run.globalBatch);
}

//===----------------------------------------------------------------------===//
// The layout
//===----------------------------------------------------------------------===//

void CompiledRunBuilder::describePrecision(JsonText &json) {
  const bool isF16 = run.precision == RunPrecision::F16;
  const bool isDynamic = isF16 && (!log.find("loss_scale") || log.find("loss_scale")->isNone);
  if (!isF16)
    ignore("loss_scale", "there is no loss scale without fp16");
  for (StringRef name : {"initial_loss_scale", "loss_scale_window", "hysteresis", "min_loss_scale"})
    if (!isDynamic)
      ignore(name, "there is no dynamic loss scale");
  if (run.precision == RunPrecision::F32) {
    ignore("accumulate_allreduce_grads_in_fp32", "all is computed in f32");
    ignore("grad_reduce_in_bf16", "all is computed in f32");
    return;
  }
  if (isF16)
    ignore("grad_reduce_in_bf16", "without bf16 there are no gradients of this type");
  auto name = [](RunPrecision precision) {
    return precision == RunPrecision::F32 ? "f32" : precision == RunPrecision::F16 ? "f16" : "bf16";
  };
  std::string text = llvm::formatv(R"({{"compute": "{0}", "reduce": "{1}")", name(run.precision),
                                   name(run.reduceType));
  if (isF16)
    text += ", \"loss_scale\": " + number("loss_scale", "\"dynamic\"");
  json.add("precision", text + "}");
}

void CompiledRunBuilder::describeRecomputation(JsonText &json) {
  const bool isFull = run.recomputation == RunRecomputation::Full;
  for (StringRef name : {"checkpoint_num_layers", "recompute_num_layers"})
    if (!isFull)
      ignore(name, "recomputation is not of full layers");
    else if (log.integer(name).value_or(1) != 1)
      refuse(name, "1: the input of each layer is kept");
  if (isFull && run.recomputeBlocks)
    refuse("recompute_method", "uniform: all layers are recomputed");
  // As in Megatron-LM, a ring does not store the scores.
  json.addText("recompute", isFull ? "full"
                            : run.recomputation == RunRecomputation::Selective || isRing
                                ? "selective"
                                : "none");
}

/// Newer versions give one exchange for all layers, or a list with one for each.
void CompiledRunBuilder::describeContext(JsonText &json) {
  if (run.contextParallel == 1)
    return ignore("cp_comm_type", "devices do not share sequences");
  json.add("context", Twine(run.contextParallel));
  SmallVector<StringRef> kinds;
  llvm::SplitString(log.text("cp_comm_type"), kinds, "[]', ");
  if (kinds.empty())
    return;
  const StringRef exchange = llvm::StringSwitch<StringRef>(kinds.front())
                                 .Case("p2p", "ring")
                                 .Case("a2a", "heads")
                                 .Case("all_gather", "keys")
                                 .Default("");
  if (exchange.empty() || !llvm::all_equal(kinds))
    return refuse("cp_comm_type", "p2p, a2a or all_gather for all layers");
  json.addText("context_attention", exchange);
  isRing = exchange == "ring";
}

void CompiledRunBuilder::describeLayout() {
  const bool isPipelined = run.pipelineParallel > 1;
  JsonText json;
  json.addText("mode", isPipelined ? "hybrid" : "sharding");
  json.add("sharding_size", Twine(run.tensorParallel));
  json.addText("sharding_dim", "megatron");
  json.add("stage_cnt", Twine(run.pipelineParallel));
  json.add("data", Twine(std::max<int64_t>(run.dataParallel, 1)));
  describeContext(json);
  if (run.expertParallel > 1)
    json.add("expert", Twine(run.expertParallel));
  json.add("accum_degree", Twine(std::max<int64_t>(run.accumulation, 1)));
  if (isPipelined)
    json.addText("schedule", run.virtualStages > 1 ? "interleaved" : "1f1b");
  if (run.virtualStages > 1)
    json.add("virtual_stages", Twine(run.virtualStages));
  if (run.zeroStage > 0)
    json.add("zero", Twine(run.zeroStage));
  if (run.sequenceParallel && run.tensorParallel > 1)
    json.addText("sequence_parallel", "gather_again");
  else
    ignore("sequence_parallel", "there are no tensor shards");
  describeRecomputation(json);
  describePrecision(json);
  result.parallel = json.take();
}

void CompiledRunBuilder::chooseOptimizer() {
  const bool isSgd = run.optimizer == "sgd";
  if (!isSgd &&
      !llvm::is_contained({"adam", "adamw", "fusedadamw", "fused_adam"}, StringRef(run.optimizer)))
    refuse("optimizer", "adam or sgd");
  auto &options = result.options;
  options["optimizer"] = isSgd ? "sgd" : "adamw";
  if (isSgd) {
    options["momentum"] = number("sgd_momentum", "0.9");
    for (StringRef name : {"adam_beta1", "adam_beta2", "adam_eps"})
      ignore(name, "the optimizer is sgd");
  } else {
    options["beta1"] = number("adam_beta1", "0.9");
    options["beta2"] = number("adam_beta2", "0.999");
    options["epsilon"] = number("adam_eps", "1e-8");
    ignore("sgd_momentum", "the optimizer is adam");
  }
  options["clip-norm"] = "1.0"; // Megatron's default
  for (StringRef name : {"start_weight_decay", "end_weight_decay"})
    if (log.find(name) && log.number(name) != log.number("weight_decay").value_or(0.01))
      refuse(name, number("weight_decay", "0.01") + ", the weight_decay");
}

//===----------------------------------------------------------------------===//
// The run
//===----------------------------------------------------------------------===//

void CompiledRunBuilder::setStableDecay() {
  if (run.decayStyle != "WSD") {
    for (StringRef name : {"lr_wsd_decay_style", "lr_wsd_decay_iters", "lr_wsd_decay_samples"})
      ignore(name, "lr_decay_style is not WSD");
    return;
  }
  setFlag("lr-wsd-decay-style", run.stableDecayStyle);
  if (run.stableDecaySamples > 0)
    setFlag("lr-wsd-decay-samples", Twine(run.stableDecaySamples));
  else if (run.stableDecayIterations > 0)
    setFlag("lr-wsd-decay-steps", Twine(run.stableDecayIterations));
  else
    refuse("lr_decay_style", "lr_wsd_decay_iters or lr_wsd_decay_samples with WSD");
}

void CompiledRunBuilder::setLearningRate() {
  if (log.find("lr")) {
    result.options["lr"] = number("lr", "");
    setFlag("lr", number("lr", ""));
  }
  const std::string style = run.decayStyle;
  setFlag("lr-decay-style", style);
  setStableDecay();
  const bool decays = style != "constant";
  for (StringRef name : {"min_lr", "lr_decay_iters", "lr_decay_samples"})
    if (!decays)
      ignore(name, "the learning rate is constant");
  if (decays && log.find("min_lr"))
    setFlag("min-lr", number("min_lr", ""));
  if (decays && run.decaySamples > 0)
    setFlag("lr-decay-samples", Twine(run.decaySamples));
  else if (decays && run.decayIterations > 0)
    setFlag("lr-decay-steps", Twine(run.decayIterations));
  if (run.warmupFraction)
    setFlag("lr-warmup-fraction", number("lr_warmup_fraction", ""));
  else if (run.warmupSamples > 0)
    setFlag("lr-warmup-samples", Twine(run.warmupSamples));
  else if (run.warmupIterations > 0)
    setFlag("warmup", Twine(run.warmupIterations));
  if (run.warmupFraction)
    for (StringRef name : {"lr_warmup_iters", "lr_warmup_samples"})
      if (log.integer(name).value_or(0) != 0)
        refuse(name, "0 with lr_warmup_fraction");
}

void CompiledRunBuilder::setLength() {
  const GivenArgument *ramp = log.find("rampup_batch_size");
  if (ramp && !ramp->isNone) {
    // As in Megatron-LM, the length is not given in steps if their sizes differ.
    if (run.trainSamples == 0)
      refuse("rampup_batch_size", "None, or train_samples instead of train_iters");
    result.rampup = llvm::join(ramp->texts, ",");
    setFlag("train-samples", Twine(run.trainSamples));
    return;
  }
  const int64_t steps =
      run.trainSamples > 0 ? run.trainSamples / run.globalBatch : run.trainIterations;
  if (steps > 0)
    setFlag("train-steps", Twine(steps));
}

void CompiledRunBuilder::setCheckpoints() {
  if (log.integer("save_interval").value_or(0) > 0) {
    if (log.find("save"))
      setFlag("save-interval", Twine(*log.integer("save_interval")));
    else
      ignore("save_interval", "there is no save");
  }
  for (auto [name, flagName] : {std::pair<StringRef, StringRef>{"finetune", "finetune"},
                                {"no_load_optim", "no-load-optim"},
                                {"no_load_rng", "no-load-rng"}}) {
    if (!log.find("load"))
      ignore(name, "there is no load");
    else if (log.flag(name))
      setFlag(flagName, "true");
  }
}

void CompiledRunBuilder::setData(StringRef name, StringRef flagName) {
  const GivenArgument *path = log.find(name);
  if (path && path->texts.size() > 1)
    refuse(name, "one prefix of token files");
  else if (path)
    setFlag(flagName, "megatron:" + path->text);
}

void CompiledRunBuilder::setData() {
  for (auto [name, flagName] :
       {std::pair<StringRef, StringRef>{"data_path", "data"}, {"train_data_path", "data"}})
    setData(name, flagName);
  if (log.find("data_path") && log.find("train_data_path"))
    refuse("train_data_path", "None with data_path");
  if (!log.find("seed"))
    setFlag("seed", "1234");
  for (auto [name, option] :
       {std::pair<StringRef, const char *>{"reset_position_ids", "reset-position-ids"},
        {"reset_attention_mask", "reset-attention-mask"}})
    if (!isBert() && log.flag(name))
      result.options[option] = "true";
}

// Megatron evaluates on parts of data_path; without data there is nothing to evaluate on.
void CompiledRunBuilder::setEvaluation() {
  const int64_t batches = log.integer("eval_iters").value_or(100);
  const bool isSplit = log.find("data_path") != nullptr;
  result.evaluates = batches > 0 && (isSplit || log.find("valid_data_path"));
  if (!result.evaluates) {
    for (StringRef name : {"eval_interval", "eval_iters", "valid_data_path", "test_data_path"})
      ignore(name, batches > 0 ? "there is no data_path" : "there are no evaluations");
    return;
  }
  setFlag("eval-interval", number("eval_interval", "1000"));
  setFlag("eval-iters", Twine(batches));
  setData("valid_data_path", "valid-data");
  setData("test_data_path", "test-data");
  if (isSplit && !log.find("split"))
    setFlag("split", "969,30,1");
}

void CompiledRunBuilder::setLogging() {
  setFlag("log-style", "megatron");
  if (log.flag("log_num_zeros_in_grad"))
    result.options["log-num-zeros-in-grad"] = "true";
  const std::string interval = number("log_interval", "100");
  if (interval == "0")
    refuse("log_interval", "1 or more");
  setFlag("log-interval", interval);
}

//===----------------------------------------------------------------------===//
// Outcomes
//===----------------------------------------------------------------------===//

static bool isAccepted(StringRef accepted, StringRef value) {
  // Some versions print integers as 1.0. An empty list counts as None.
  value.consume_back(".0");
  if (value.empty())
    value = "None";
  return llvm::is_contained(llvm::split(accepted, "|"), value);
}

static std::string expectedOf(const CompileRule &rule) {
  std::string text = llvm::join(llvm::split(rule.accepted, "|"), " or ");
  return text + ": " + rule.text.str();
}

/// A value that is passed unchanged to a flag, unless it is None or False, the flag's default.
void CompiledRunBuilder::honourFlag(const GivenArgument &given, StringRef flagName,
                                    ArgumentOutcome &outcome) {
  outcome.text = "--" + flagName.str() + " of the run";
  const bool isSwitch = given.argument->kind == ArgumentKind::Flag;
  if (!given.isNone && (!isSwitch || given.flag()))
    setFlag(flagName, isSwitch ? "true" : given.text);
}

ArgumentOutcome CompiledRunBuilder::outcomeOf(const GivenArgument &given) {
  const StringRef name = given.argument->name;
  const CompileRule rule = findCompileRule(*given.argument);
  ArgumentOutcome outcome{ArgumentOutcome::Honoured, name.str(), given.isNone ? "None" : given.text,
                          rule.text.str(), given.line};
  auto become = [&](ArgumentOutcome::Status status, std::string text) {
    outcome.status = status;
    outcome.text = std::move(text);
    return outcome;
  };
  if (auto it = refused.find(name); it != refused.end())
    return become(ArgumentOutcome::Refused, it->second);
  if (auto it = ignored.find(name); it != ignored.end())
    return become(ArgumentOutcome::NoEffect, it->second);
  if (rule.family && *rule.family != run.family)
    return become(ArgumentOutcome::NoEffect,
                  "belongs to " + std::string(isBert() ? "GPT" : "BERT"));
  if (rule.kind == CompileRule::NoEffect)
    outcome.status = ArgumentOutcome::NoEffect;
  if (rule.kind == CompileRule::Only)
    return isAccepted(rule.accepted, outcome.value)
               ? become(ArgumentOutcome::NoEffect, "other values are refused: " + rule.text.str())
               : become(ArgumentOutcome::Refused, expectedOf(rule));
  if (rule.kind == CompileRule::CompileOption) {
    outcome.text = "--" + rule.text.str() + " of st-compile";
    // Some versions print counts as 1000.0.
    StringRef value = given.text;
    if (rule.text == "loss-scale-window" || rule.text == "hysteresis")
      value.consume_back(".0");
    if (!given.isNone)
      result.options[rule.text.str()] = value.str();
  }
  if (rule.kind == CompileRule::RunFlag)
    honourFlag(given, rule.text, outcome);
  return outcome;
}

void CompiledRunBuilder::listOutcomes() {
  for (const ArgumentMap *map : {&log.fromCommand, &log.fromDump})
    for (const auto &[name, given] : *map)
      if (map == &log.fromDump || !log.fromDump.contains(name))
        result.outcomes.push_back(outcomeOf(given));
}

absl::StatusOr<CompiledRun> CompiledRunBuilder::build() {
  ST_RETURN_IF_ERROR(readVocabulary());
  if (run.globalBatch == 0)
    return absl::InvalidArgumentError(log.path + ": gives no global batch size");
  refuseOtherSizes();
  describeModel();
  describeLayout();
  chooseOptimizer();
  setLearningRate();
  setLength();
  setCheckpoints();
  setData();
  setEvaluation();
  setLogging();
  listOutcomes();
  return std::move(result);
}

absl::StatusOr<CompiledRun> mlir::st::compileMegatronRun(const MegatronLog &log,
                                                         const std::string &vocabularyFile) {
  absl::StatusOr<TrainingRun> run = buildTrainingRun(log);
  if (!run.ok())
    return run.status();
  return CompiledRunBuilder(log, std::move(*run), vocabularyFile).build();
}

absl::Status CompiledRun::refusal(StringRef path) const {
  const auto isRefused = [](const ArgumentOutcome &outcome) {
    return outcome.status == ArgumentOutcome::Refused;
  };
  const auto first = llvm::find_if(outcomes, isRefused);
  if (first == outcomes.end())
    return absl::OkStatus();
  const auto count = llvm::count_if(outcomes, isRefused);
  std::string text = path.str();
  if (first->line != 0)
    text += ":" + std::to_string(first->line);
  text += ": argument '" + first->name + "': expected " + first->text + "; found " +
          inQuotes(first->value);
  if (count > 1)
    text += " (and " + std::to_string(count - 1) + " more; --arguments=- lists them)";
  return absl::InvalidArgumentError(text);
}
