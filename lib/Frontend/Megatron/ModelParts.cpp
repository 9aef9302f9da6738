//===- ModelParts.cpp - Parts of Megatron's models ------------------------===//

#include "lib/Frontend/Megatron/ModelParts.h"

#include "lib/Support/StatusMacros.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::st;

namespace {
class PartsReader {
public:
  PartsReader(const MegatronLog &log, TrainingRun &run) : log(log), run(run) {}

  absl::Status read();

private:
  absl::Status readHeads();
  absl::Status readPositions();
  absl::Status readExperts();
  absl::Status readBalance();
  absl::Status refuseParts() const;
  absl::Status refuseOtherExperts() const;

  absl::Status unexpected(StringRef name, const Twine &expected) const {
    const GivenArgument *given = log.find(name, /*orNone=*/true);
    return absl::InvalidArgumentError(
        log.path + (given ? ":" + std::to_string(given->line) : "") + ": argument '" + name.str() +
        "': expected " + expected.str() + ", found " + (given ? inQuotes(given->text) : "none"));
  }
  /// Reads an integer of at least `least` that some versions print as a list.
  absl::Status readCount(StringRef name, int64_t least, int64_t &count) const;
  absl::Status readCoefficient(StringRef name, double &coefficient) const;

  const MegatronLog &log;
  TrainingRun &run;
};
} // namespace

absl::Status PartsReader::readCount(StringRef name, int64_t least, int64_t &count) const {
  const GivenArgument *given = log.find(name);
  StringRef text = given ? StringRef(given->text) : "";
  text.consume_back(".0");
  int64_t value = 0;
  if (!given)
    return absl::OkStatus();
  if (!llvm::to_integer(text, value, 10) || value < least || value > INT32_MAX)
    return unexpected(name, "an integer from " + Twine(least) + " to 2^31 - 1");
  count = value;
  return absl::OkStatus();
}

absl::Status PartsReader::readCoefficient(StringRef name, double &coefficient) const {
  const GivenArgument *given = log.find(name);
  if (!given)
    return absl::OkStatus();
  double value = 0.0;
  if (StringRef(given->text).getAsDouble(value) || !(value >= 0.0 && value <= 1e30))
    return unexpected(name, "one number from 0");
  coefficient = value;
  return absl::OkStatus();
}

absl::Status PartsReader::readHeads() {
  if (run.headSize == 0)
    run.headSize = run.hidden / run.heads;
  if (log.flag("group_query_attention"))
    run.keyValueHeads = log.integer("num_query_groups").value_or(1);
  if (run.keyValueHeads == 0)
    run.keyValueHeads = run.heads;
  if (run.heads % run.keyValueHeads != 0)
    return unexpected(log.find("num_key_value_heads") ? "num_key_value_heads" : "num_query_groups",
                      "a divisor of the " + Twine(run.heads) + " attention heads");
  return absl::OkStatus();
}

absl::Status PartsReader::readPositions() {
  StringRef kind = log.text("position_embedding_type");
  kind.consume_front("PositionEmbeddingType.");
  if (kind == "relative")
    return unexpected("position_embedding_type", "learned_absolute, rope or none");
  if (kind == "rope" || kind == "rotary" || log.flag("use_rotary_position_embeddings"))
    run.positions = RunPositions::Rotary;
  else if (kind == "none" || !log.integer("add_position_embedding").value_or(1))
    run.positions = RunPositions::None;
  if (log.flag("use_rope_scaling"))
    run.rotaryScaling = log.number("rope_scaling_factor").value_or(8.0);
  if (run.rotaryScaling > 0.0 && run.rotaryInterpolation > 1.0)
    return unexpected("rotary_seq_len_interpolation_factor", "None with use_rope_scaling");
  if (run.positions == RunPositions::Rotary && run.rotaryPart == 0.0)
    return unexpected("rotary_percent", "a number above 0, at most 1");
  return absl::OkStatus();
}

/// Megatron-DeepSpeed has other experts under the same names.
absl::Status PartsReader::refuseOtherExperts() const {
  for (StringRef name : {"topk", "moe_loss_coeff", "expert_interval", "mlp_type"})
    if (log.find(name))
      return unexpected("num_experts", "None or 1 with " + name +
                                           ", an argument of DeepSpeed, "
                                           "whose experts can be neither planned nor compiled");
  struct Accepted {
    StringRef name, values;
  } accepted[] = {{"moe_router_score_function", "softmax"},
                  {"moe_router_dtype", "fp32"},
                  {"moe_router_num_groups", ""},
                  {"moe_router_group_topk", ""},
                  {"moe_router_topk_scaling_factor", ""},
                  {"moe_router_enable_expert_bias", "False"},
                  {"moe_router_force_load_balancing", "False"},
                  {"moe_input_jitter_eps", "0|0.0"},
                  {"moe_apply_probs_on_input", "False"},
                  {"moe_use_upcycling", "False"}};
  for (const auto &[name, values] : accepted) {
    const GivenArgument *given = log.find(name);
    if (given && !llvm::is_contained(llvm::split(values, "|"), StringRef(given->text)))
      return unexpected(name, llvm::join(llvm::split(values, "|"), " or ") +
                                  (values.empty() ? "None" : " or None"));
  }
  if (log.find("moe_expert_capacity_factor"))
    return unexpected("moe_expert_capacity_factor",
                      "None, since there an expert's capacity is of a micro-batch and here of a "
                      "sequence (--expert-capacity-factor of st-compile)");
  if (run.linearBias)
    return unexpected("add_bias_linear", "False (--disable-bias-linear), since experts have no "
                                         "biases");
  return absl::OkStatus();
}

absl::Status PartsReader::readBalance() {
  RunExperts &experts = run.experts;
  ST_RETURN_IF_ERROR(readCoefficient("moe_aux_loss_coeff", experts.balanceCoefficient));
  ST_RETURN_IF_ERROR(readCoefficient("moe_z_loss_coeff", experts.zCoefficient));
  const GivenArgument *given = log.find("moe_router_load_balancing_type");
  const StringRef kind = given ? StringRef(given->text) : "aux_loss";
  if (kind == "sinkhorn")
    return unexpected("moe_router_load_balancing_type", "aux_loss, seq_aux_loss or none");
  if (kind == "none" || experts.balanceCoefficient == 0.0)
    return absl::OkStatus();
  if (kind != "aux_loss" && kind != "seq_aux_loss")
    return unexpected("moe_router_load_balancing_type", "aux_loss, seq_aux_loss or none");
  experts.balance = kind == "aux_loss" ? RunBalance::MicroBatch : RunBalance::Sequence;
  return absl::OkStatus();
}

absl::Status PartsReader::readExperts() {
  RunExperts &experts = run.experts;
  ST_RETURN_IF_ERROR(readCount("num_experts", 0, experts.count));
  if (experts.count <= 1) {
    experts.count = 0;
    if (run.expertParallel > 1)
      return unexpected("expert_model_parallel_size", "1 without num_experts");
    return absl::OkStatus();
  }
  ST_RETURN_IF_ERROR(refuseOtherExperts());
  ST_RETURN_IF_ERROR(readCount("moe_router_topk", 1, experts.perToken));
  if (experts.perToken > experts.count)
    return unexpected("moe_router_topk", "at most the " + Twine(experts.count) + " experts");
  experts.softmaxBeforeChoice = log.flag("moe_router_pre_softmax");
  if (experts.perToken == 1 && !experts.softmaxBeforeChoice)
    return unexpected("moe_router_topk", "2 or more without moe_router_pre_softmax");
  experts.ffnHidden = run.ffnHidden;
  ST_RETURN_IF_ERROR(readCount("moe_ffn_hidden_size", 1, experts.ffnHidden));
  ST_RETURN_IF_ERROR(readCount("moe_shared_expert_intermediate_size", 1, experts.sharedFfnHidden));
  ST_RETURN_IF_ERROR(readCount("moe_layer_freq", 1, experts.layerStep));
  int64_t shards = run.tensorParallel;
  ST_RETURN_IF_ERROR(readCount("expert_tensor_parallel_size", 1, shards));
  if (shards != run.tensorParallel)
    return unexpected("expert_tensor_parallel_size",
                      "None or the " + Twine(run.tensorParallel) + " tensor-parallel devices");
  return readBalance();
}

/// A BERT has none of these parts.
absl::Status PartsReader::refuseParts() const {
  const std::tuple<bool, StringRef, StringRef> parts[] = {
      {run.swiglu, "swiglu", "False"},
      {run.quickGeglu, "quick_geglu", "False"},
      {run.squaredRelu, "squared_relu", "False"},
      {run.rmsNorm, "normalization", "LayerNorm"},
      {run.normsLessOne, "apply_layernorm_1p", "False"},
      {run.headNorms, "qk_layernorm", "False"},
      {run.keyValueHeads != run.heads, "group_query_attention", "False"},
      {run.headSize * run.heads != run.hidden, "kv_channels", "the hidden size over the heads"},
      {!run.linearBias, "add_bias_linear", "True"},
      {run.positions != RunPositions::Learned, "position_embedding_type", "learned_absolute"},
      {run.experts.count > 0, "num_experts", "None"}};
  for (const auto &[isPart, name, expected] : parts)
    if (isPart)
      return unexpected(name, expected + " in a BERT");
  return absl::OkStatus();
}

absl::Status PartsReader::read() {
  run.rmsNorm = log.text("normalization").equals_insensitive("rmsnorm");
  ST_RETURN_IF_ERROR(readHeads());
  ST_RETURN_IF_ERROR(readPositions());
  const bool isGated = run.swiglu || run.quickGeglu;
  if (run.swiglu && run.quickGeglu)
    return unexpected("quick_geglu", "False with swiglu");
  if (run.squaredRelu && isGated)
    return unexpected("squared_relu", "False with a gate");
  // In Megatron a gated layer has the same number of products as a layer without gates.
  if (run.ffnHidden == 0)
    run.ffnHidden = run.swiglu ? (4 * run.hidden * 2 / 3) / 64 * 64 : 4 * run.hidden;
  ST_RETURN_IF_ERROR(readExperts());
  return run.family == RunFamily::MegatronBert ? refuseParts() : absl::OkStatus();
}

absl::Status mlir::st::readModelParts(const MegatronLog &log, TrainingRun &run) {
  return PartsReader(log, run).read();
}

StringRef mlir::st::activationOf(const TrainingRun &run) {
  if (run.swiglu)
    return "silu";
  if (run.quickGeglu)
    return "quick_gelu";
  if (run.squaredRelu)
    return "relu2";
  return run.fusedBiasGelu || run.openaiGelu ? "gelu_new" : "gelu";
}

static std::string print(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.17g", number);
  return text;
}

static void describeExperts(const RunExperts &experts, int64_t microBatch,
                            function_ref<void(StringRef, const Twine &)> add) {
  add("num_experts", Twine(experts.count));
  add("moe_router_topk", Twine(experts.perToken));
  add("moe_ffn_hidden_size", Twine(experts.ffnHidden));
  if (experts.sharedFfnHidden > 0)
    add("moe_shared_expert_intermediate_size", Twine(experts.sharedFfnHidden));
  add("moe_layer_freq", Twine(experts.layerStep));
  add("moe_router_pre_softmax", experts.softmaxBeforeChoice ? "true" : "false");
  if (experts.balance != RunBalance::None) {
    add("moe_aux_loss_coeff", print(experts.balanceCoefficient));
    add("moe_aux_loss_sequences", Twine(experts.balance == RunBalance::Sequence ? 1 : microBatch));
  }
  if (experts.zCoefficient > 0.0)
    add("moe_z_loss_coeff", print(experts.zCoefficient));
}

void mlir::st::describeModelParts(const TrainingRun &run,
                                  function_ref<void(StringRef, const Twine &)> add) {
  add("hidden_act", "\"" + activationOf(run) + "\"");
  if (run.rmsNorm)
    add("normalization", "\"RMSNorm\"");
  if (run.normsLessOne)
    add("apply_layernorm_1p", "true");
  if (run.headNorms)
    add("qk_layernorm", "true");
  if (run.headSize * run.heads != run.hidden)
    add("kv_channels", Twine(run.headSize));
  if (run.keyValueHeads != run.heads)
    add("num_query_groups", Twine(run.keyValueHeads));
  if (run.swiglu || run.quickGeglu)
    add("gated_linear_unit", "true");
  if (!run.linearBias) {
    add("add_bias_linear", "false");
    add("add_qkv_bias", run.qkvBias ? "true" : "false");
  }
  if (run.positions == RunPositions::None)
    add("position_embedding_type", "\"none\"");
  if (run.positions == RunPositions::Rotary) {
    add("position_embedding_type", "\"rope\"");
    add("rotary_base", print(run.rotaryBase));
    add("rotary_percent", print(run.rotaryPart));
    // Megatron-LM uses the constants of Llama 3.1; its arguments set only the factor.
    if (run.rotaryScaling > 0.0)
      add("rope_scaling", R"({"rope_type": "llama3", "low_freq_factor": 1.0, )"
                          R"("high_freq_factor": 4.0, "original_max_position_embeddings": 8192, )"
                          R"("factor": )" +
                              print(run.rotaryScaling) + "}");
    else if (run.rotaryInterpolation > 1.0)
      add("rope_scaling",
          R"({"rope_type": "linear", "factor": )" + print(run.rotaryInterpolation) + "}");
  }
  if (run.experts.count > 0)
    describeExperts(run.experts, run.microBatch, add);
}
