//===- DecoderConfigs.cpp - Configurations of causal language models ------===//

#include "lib/Frontend/ConfigKeys.h"
#include "lib/Frontend/ModelReaders.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;

//===----------------------------------------------------------------------===//
// Parts of several families
//===----------------------------------------------------------------------===//

namespace {
/// A family's names for keys of rotary positions outside of `rope_parameters`.
struct RotaryKeys {
  StringRef theta = "rope_theta";
  StringRef fraction = "partial_rotary_factor";
  /// The part of each head that rotates by default; unset if all of it always does.
  std::optional<double> byDefault;
  double defaultTheta = 10000.0;
};

/// Defaults of the sizes that differ between families with Llama's keys.
struct DecoderSizes {
  int64_t hidden, layers, heads, intermediate, vocabulary, positions;
};
} // namespace

/// Reads the part of each head that rotates, under `key`.
static void readFraction(ConfigReader &reader, const RotaryKeys &keys, StringRef key,
                         RotaryPositions &rotary) {
  const double fraction = reader.positive(key, rotary.fraction);
  if (!keys.byDefault && fraction != 1.0)
    reader.unexpected(key, "1");
  if (fraction > 1.0)
    reader.unexpected(key, "a number above 0, at most 1");
  rotary.fraction = fraction;
}

/// Reads the keys of YaRN (Peng et al. 2023, arXiv:2309.00071), with the defaults of transformers.
static void readYarn(ConfigReader &reader, int64_t positionCount, RotaryPositions &rotary) {
  rotary.scaling = RotaryPositions::Yarn;
  rotary.originalPositions = reader.size("original_max_position_embeddings", positionCount);
  rotary.factor = reader.positive("factor", static_cast<double>(positionCount) /
                                                static_cast<double>(rotary.originalPositions));
  rotary.betaFast = reader.positive("beta_fast", rotary.betaFast);
  rotary.betaSlow = reader.positive("beta_slow", rotary.betaSlow);
  if (rotary.betaFast < rotary.betaSlow)
    reader.unexpected("beta_fast", "at least beta_slow");
  rotary.truncates = reader.boolean("truncate", rotary.truncates);
  auto getFactor = [&](double scale) {
    return rotary.factor <= 1.0 ? 1.0 : 0.1 * scale * std::log(rotary.factor) + 1.0;
  };
  rotary.attentionFactor = getFactor(1.0);
  const bool hasScales = reader.object().get("mscale") && reader.object().get("mscale_all_dim");
  if (hasScales)
    rotary.attentionFactor =
        getFactor(reader.positive("mscale")) / getFactor(reader.positive("mscale_all_dim"));
  rotary.attentionFactor = reader.positive("attention_factor", rotary.attentionFactor);
}

/// Reads the surrounding object, `rope_scaling` or `rope_parameters`.
static void readScaling(ConfigReader &reader, const RotaryKeys &keys, int64_t positionCount,
                        RotaryPositions &rotary) {
  constexpr KnownKey allKeys[] = {
      {"partial_rotary_factor"}, {"rope_theta"}, {"rope_type"}, {"type"}};
  constexpr KnownKey scalingKeys[] = {{"factor"}};
  // Published configurations have this key, which transformers does not read for dynamic scaling.
  constexpr KnownKey dynamicKeys[] = {{"original_max_position_embeddings", KeyType::Number}};
  constexpr KnownKey llama3Keys[] = {
      {"high_freq_factor"}, {"low_freq_factor"}, {"original_max_position_embeddings"}};
  constexpr KnownKey yarnKeys[] = {{"attention_factor"}, {"beta_fast"},
                                   {"beta_slow"},        {"mscale"},
                                   {"mscale_all_dim"},   {"original_max_position_embeddings"},
                                   {"truncate"}};
  rotary.theta = reader.positive("rope_theta", rotary.theta);
  readFraction(reader, keys, "partial_rotary_factor", rotary);
  // Older configurations call it `type`.
  const StringRef type = reader.string("rope_type", reader.string("type", "default"));
  if (reader.string("type", type) != type)
    return reader.unexpected("type", "the same as in rope_type");
  if (type == "default" && reader.object().get("factor"))
    return reader.error(
        "factor", "a factor needs a rope_type, \"dynamic\", \"linear\", \"llama3\" or \"yarn\"");
  if (type == "default")
    return reader.checkKeys({allKeys});
  if (!llvm::is_contained({"dynamic", "linear", "llama3", "yarn"}, type))
    return reader.unexpected(reader.object().get("rope_type") ? "rope_type" : "type",
                             "\"default\", \"dynamic\", \"linear\", \"llama3\" or \"yarn\"");
  if (type == "yarn") {
    readYarn(reader, positionCount, rotary);
    return reader.checkKeys({allKeys, scalingKeys, yarnKeys});
  }
  rotary.factor = reader.positive("factor");
  // Dynamic scaling begins beyond max_position_embeddings, which no sequence exceeds.
  if (type != "llama3") {
    rotary.scaling = type == "linear" ? RotaryPositions::Linear : RotaryPositions::None;
    return type == "linear" ? reader.checkKeys({allKeys, scalingKeys})
                            : reader.checkKeys({allKeys, scalingKeys, dynamicKeys});
  }
  rotary.scaling = RotaryPositions::Llama3;
  rotary.lowFrequencyFactor = reader.positive("low_freq_factor");
  rotary.highFrequencyFactor = reader.positive("high_freq_factor");
  rotary.originalPositions = reader.size("original_max_position_embeddings", positionCount);
  if (rotary.highFrequencyFactor <= rotary.lowFrequencyFactor)
    reader.unexpected("high_freq_factor", "more than low_freq_factor");
  reader.checkKeys({allKeys, scalingKeys, llama3Keys});
}

/// Reads rotary positions. Recent configurations keep them in `rope_parameters`, older ones in
/// `rope_theta` and `rope_scaling`.
static RotaryPositions readRotary(ConfigReader &reader, int64_t positionCount,
                                  const RotaryKeys &keys = {}) {
  RotaryPositions rotary;
  rotary.theta = keys.defaultTheta;
  rotary.fraction = keys.byDefault.value_or(1.0);
  readFraction(reader, keys, keys.fraction, rotary);
  rotary.theta = reader.positive(keys.theta, rotary.theta);
  // Some configurations have an older and a newer name of one value.
  auto checkName = [&](StringRef name, StringRef other, double value) {
    if (reader.object().get(name) && reader.object().get(other) &&
        reader.positive(name, value) != value)
      reader.unexpected(name, "the same as in " + other);
  };
  checkName("rope_theta", keys.theta, rotary.theta);
  checkName("partial_rotary_factor", keys.fraction, rotary.fraction);
  if (!reader.object().get(keys.theta))
    rotary.theta = reader.positive("rope_theta", rotary.theta);
  if (!reader.object().get(keys.fraction))
    readFraction(reader, keys, "partial_rotary_factor", rotary);
  for (StringRef key : {"rope_scaling", "rope_parameters"})
    reader.inside(key, [&] { readScaling(reader, keys, positionCount, rotary); });
  const llvm::json::Object *older = reader.object().getObject("rope_scaling");
  const llvm::json::Object *newer = reader.object().getObject("rope_parameters");
  if (older && newer && *older != *newer)
    reader.unexpected("rope_parameters", "the same as in rope_scaling");
  return rotary;
}

/// Reads the sizes under Llama's keys, which most families share.
static void readSizes(ConfigReader &reader, ModelConfig &config, const DecoderSizes &sizes) {
  config.hiddenSize = reader.size("hidden_size", sizes.hidden);
  config.layerCount = reader.size("num_hidden_layers", sizes.layers, kMaxLayers);
  config.headCount = reader.size("num_attention_heads", sizes.heads);
  config.vocabSize = reader.size("vocab_size", sizes.vocabulary);
  config.positionCount = reader.size("max_position_embeddings", sizes.positions);
}

static void readKeyValueHeads(ConfigReader &reader, ModelConfig &config, int64_t fallback) {
  config.keyValueHeadCount = reader.sizeOrNull("num_key_value_heads", fallback);
  if (config.headCount % config.keyValueHeadCount == 0)
    return;
  const std::string expected =
      "a divisor of num_attention_heads = " + std::to_string(config.headCount);
  if (reader.object().get("num_key_value_heads"))
    return reader.unexpected("num_key_value_heads", expected);
  reader.error("", "key 'num_key_value_heads': expected " + expected + ", found its default, " +
                       Twine(config.keyValueHeadCount));
}

/// Reads the keys that Llama and the families with its blocks have in common. `heads` is the
/// default number of key and value heads; 0 means the number of query heads.
static void readLlamaBlocks(ConfigReader &reader, ModelConfig &config, const DecoderSizes &sizes,
                            int64_t heads = 0) {
  readSizes(reader, config, sizes);
  readKeyValueHeads(reader, config, heads == 0 ? config.headCount : heads);
  // 0 means the size derived from others.
  config.headSize = reader.sizeOrNull("head_dim", 0);
  config.intermediateSize = reader.size("intermediate_size", sizes.intermediate);
  config.paddingToken = readPaddingToken(reader, config.vocabSize, std::nullopt);
  config.activation = readActivation(reader, "hidden_act", "silu");
  config.attentionDropout = reader.probability("attention_dropout", 0.0);
  config.layerNormEpsilon = reader.positive("rms_norm_eps", 1e-6);
  config.rotary = readRotary(reader, config.positionCount);
  config.attentionBias = config.attentionOutBias = config.mlpBias = false;
}

/// Reads the layers that attend to a window: those that `layer_types` names, else those from
/// `max_window_layers` on, or (`alternates`) every second layer before it.
static void readWindowLayers(ConfigReader &reader, ModelConfig &config, bool alternates = false) {
  const bool usesWindow = reader.boolean("use_sliding_window", false);
  const llvm::json::Value *given = reader.object().get("sliding_window");
  // Some classes save 0 for a window that is not used.
  const bool isUnused = !usesWindow && given && given->getAsInteger() == 0;
  const int64_t window = isUnused ? 0 : reader.sizeOrNull("sliding_window", 4096);
  if (usesWindow && !(given && given->getAsNull()))
    config.slidingWindow = window;
  const int64_t first = reader.count("max_window_layers", 28);
  for (int64_t i = 0; i < config.layerCount; ++i)
    config.windowLayers.push_back(config.slidingWindow &&
                                  (alternates ? i % 2 == 0 && i < first : i >= first));
  const llvm::json::Value *types = reader.object().get("layer_types");
  if (!types || types->getAsNull())
    return;
  const llvm::json::Array *names = types->getAsArray();
  auto isType = [](const llvm::json::Value &name) {
    return name == "full_attention" || name == "sliding_attention";
  };
  if (!names || static_cast<int64_t>(names->size()) != config.layerCount ||
      !llvm::all_of(*names, isType))
    return reader.unexpected("layer_types",
                             "\"full_attention\" or \"sliding_attention\" for each of " +
                                 Twine(config.layerCount) + " layers");
  for (auto [isWindow, name] : llvm::zip_equal(config.windowLayers, *names)) {
    isWindow = name == "sliding_attention";
    if (isWindow && !config.slidingWindow)
      return reader.unexpected("layer_types",
                               "\"full_attention\" for each layer, because use_sliding_window is "
                               "false or sliding_window is null");
  }
}

/// Returns the key that the configuration has, which may be only one of the two.
static StringRef eitherKey(ConfigReader &reader, StringRef key, StringRef other) {
  const bool hasOther = reader.object().get(other);
  if (hasOther && reader.object().get(key))
    reader.error(other,
                 "key '" + other + "' sets the same value as '" + key + "'; expected one of them");
  return hasOther ? other : key;
}

//===----------------------------------------------------------------------===//
// Mixtures of experts
//===----------------------------------------------------------------------===//

/// Reads the layers that have experts: each `decoder_sparse_step`-th one that `mlp_only_layers`
/// does not list.
static void readExpertLayers(ConfigReader &reader, ModelConfig &config) {
  const int64_t step = reader.size("decoder_sparse_step", 1);
  for (int64_t i = 0; i < config.layerCount; ++i)
    config.experts.layers.push_back((i + 1) % step == 0);
  const llvm::json::Value *dense = reader.object().get("mlp_only_layers");
  if (!dense || dense->getAsNull())
    return;
  auto isNumber = [](const llvm::json::Value &layer) { return layer.getAsInteger().has_value(); };
  const llvm::json::Array *layers = dense->getAsArray();
  if (!layers || !llvm::all_of(*layers, isNumber))
    return reader.unexpected("mlp_only_layers", "null or an array of layer numbers");
  for (const llvm::json::Value &layer : *layers)
    if (int64_t i = *layer.getAsInteger(); i >= 0 && i < config.layerCount)
      config.experts.layers[i] = false;
}

/// Reads the number of experts that each token is sent to, under `key`, and the capacity of
/// experts.
static void readChoices(ConfigReader &reader, ModelConfig &config, StringRef key,
                        int64_t perToken) {
  ExpertsConfig &experts = config.experts;
  experts.perToken = reader.size(key, perToken, kMaxChoices);
  if (experts.count > 0 && experts.perToken > experts.count)
    reader.error(reader.object().get(key) ? key : "",
                 key + " is " + Twine(experts.perToken) + ", more than the " +
                     Twine(experts.count) + " experts of a layer");
  // The number of elements of their copies, one for each block of each sequence, must not overflow
  // either.
  constexpr int64_t maxElements = int64_t{1} << 44;
  if (experts.count > maxElements / (config.hiddenSize * experts.intermediateSize))
    reader.error("", "expected at most " + Twine(maxElements) + " elements in the " +
                         Twine(experts.count) + " experts of a layer");
  const llvm::json::Value *capacity = reader.object().get("expert_capacity_factor");
  if (capacity && !capacity->getAsNull())
    experts.capacityFactor = reader.positive("expert_capacity_factor");
}

/// Reads the keys of the router and of the balance loss.
static void readRouting(ConfigReader &reader, ModelConfig &config, int64_t perToken) {
  ExpertsConfig &experts = config.experts;
  readChoices(reader, config, "num_experts_per_tok", perToken);
  const double coefficient = reader.number("router_aux_loss_coef", 0.001);
  if (reader.boolean("output_router_logits", false))
    experts.balanceCoefficient = coefficient;
  experts.zCoefficient = reader.number("router_z_loss_coef", 0.0);
  experts.balancesSequences = reader.boolean("balance_loss_per_sequence", false);
}

//===----------------------------------------------------------------------===//
// Llama and its like
//===----------------------------------------------------------------------===//

void st::readLlama(ConfigReader &reader, ModelConfig &config) {
  readLlamaBlocks(reader, config, {4096, 32, 32, 11008, 32000, 2048});
  config.attentionBias = config.attentionOutBias = reader.boolean("attention_bias", false);
  config.mlpBias = reader.boolean("mlp_bias", false);
  requireFlag(reader, "is_llama_config", true);
  requireFlag(reader, "rope_interleaved", false);
  const llvm::json::Value *window = reader.object().get("sliding_window");
  if (window && !window->getAsNull())
    reader.unexpected("sliding_window", "null (llama attends to all earlier positions)");
}

void st::readMistral(ConfigReader &reader, ModelConfig &config) {
  readLlamaBlocks(reader, config, {4096, 32, 32, 14336, 32000, 131072}, 8);
  const llvm::json::Value *window = reader.object().get("sliding_window");
  if (!window || !window->getAsNull())
    config.slidingWindow = reader.size("sliding_window", 4096);
}

void st::readQwen2(ConfigReader &reader, ModelConfig &config) {
  readLlamaBlocks(reader, config, {4096, 32, 32, 22016, 151936, 32768}, 32);
  config.attentionBias = true;
  readWindowLayers(reader, config);
}

void st::readMixtral(ConfigReader &reader, ModelConfig &config) {
  readMistral(reader, config);
  config.layerNormEpsilon = reader.positive("rms_norm_eps", 1e-5);
  RotaryKeys rotary;
  rotary.defaultTheta = 1e6;
  config.rotary = readRotary(reader, config.positionCount, rotary);
  config.experts.intermediateSize = config.intermediateSize;
  config.experts.count =
      reader.size(eitherKey(reader, "num_local_experts", "num_experts"), 8, kMaxExperts);
  config.experts.layers.assign(config.layerCount, true);
  readRouting(reader, config, 2);
  if (reader.number("router_jitter_noise", 0.0) != 0.0)
    reader.unexpected("router_jitter_noise", "0 (noise of routers is not supported)");
}

void st::readQwen2Moe(ConfigReader &reader, ModelConfig &config) {
  readLlamaBlocks(reader, config, {2048, 24, 16, 5632, 151936, 32768}, 16);
  config.attentionBias = reader.boolean("qkv_bias", true);
  readWindowLayers(reader, config, /*alternates=*/true);
  config.experts.count = reader.count("num_experts", 60);
  if (config.experts.count > kMaxExperts)
    reader.unexpected("num_experts", "an integer from 0 to " + Twine(kMaxExperts));
  config.experts.intermediateSize = reader.size("moe_intermediate_size", 1408);
  config.experts.sharedSize = reader.size("shared_expert_intermediate_size", 5632);
  config.experts.normalizesWeights = reader.boolean("norm_topk_prob", false);
  readExpertLayers(reader, config);
  readRouting(reader, config, 4);
}

void st::readQwen3(ConfigReader &reader, ModelConfig &config) {
  readLlamaBlocks(reader, config, {4096, 32, 32, 22016, 151936, 32768}, 32);
  config.headSize = reader.size("head_dim", 128);
  config.attentionBias = config.attentionOutBias = reader.boolean("attention_bias", false);
  readWindowLayers(reader, config);
}

void st::readGemma(ConfigReader &reader, ModelConfig &config) {
  readLlamaBlocks(reader, config, {3072, 28, 16, 24576, 256000, 8192}, 16);
  config.headSize = reader.size("head_dim", 256);
  config.paddingToken = readPaddingToken(reader, config.vocabSize, 0);
  // The published configurations say "gelu"; their weights were trained with its approximation.
  config.activation = readActivation(reader, "hidden_act", "gelu_pytorch_tanh");
  if (config.activation == Activation::Gelu)
    config.activation = Activation::GeluTanh;
  config.attentionBias = config.attentionOutBias = reader.boolean("attention_bias", false);
  const llvm::json::Value *both = reader.object().get("use_bidirectional_attention");
  if (both && !both->getAsNull())
    requireFlag(reader, "use_bidirectional_attention", false);
}

//===----------------------------------------------------------------------===//
// GPT-2 and its like
//===----------------------------------------------------------------------===//

void st::readGpt2(ConfigReader &reader, ModelConfig &config) {
  config.hiddenSize = reader.size("n_embd", 768);
  config.layerCount = reader.size("n_layer", 12, kMaxLayers);
  config.headCount = reader.size("n_head", 12);
  config.intermediateSize = reader.sizeOrNull("n_inner", 4 * config.hiddenSize);
  config.vocabSize = reader.size("vocab_size", 50257);
  config.positionCount = reader.size("n_positions", 1024);
  config.activation = readActivation(reader, "activation_function", "gelu_new");
  config.embeddingDropout = reader.probability("embd_pdrop", 0.1);
  config.attentionDropout = reader.probability("attn_pdrop", 0.1);
  config.hiddenDropout = reader.probability("resid_pdrop", 0.1);
  config.layerNormEpsilon = reader.positive("layer_norm_epsilon", 1e-5);
  config.scalesAttention = reader.boolean("scale_attn_weights", true);
  config.scalesAttentionByLayer = reader.boolean("scale_attn_by_inverse_layer_idx", false);
  config.scalesResidualInit = true;
}

/// Reads the experts of Megatron-LM's arguments.
static void readMegatronExperts(ConfigReader &reader, ModelConfig &config) {
  ExpertsConfig &experts = config.experts;
  experts.count = reader.size("num_experts", kMaxExperts, kMaxExperts);
  experts.intermediateSize = reader.size("moe_ffn_hidden_size", config.intermediateSize);
  readChoices(reader, config, "moe_router_topk", 2);
  experts.normalizesWeights = !reader.boolean("moe_router_pre_softmax", false);
  if (experts.normalizesWeights && experts.perToken == 1)
    reader.error("", "with one expert per token, its weight is always 1, so the router learns "
                     "nothing; expected moe_router_pre_softmax with moe_router_topk = 1");
  experts.sharedSize = reader.sizeOrNull("moe_shared_expert_intermediate_size", 0);
  const int64_t step = reader.size("moe_layer_freq", 1);
  for (int64_t i = 0; i < config.layerCount; ++i)
    experts.layers.push_back(i % step == 0);
  experts.balanceCoefficient = reader.number("moe_aux_loss_coeff", 0.0);
  experts.balanceGroup = reader.count("moe_aux_loss_sequences", 0);
  // Here it is a mean over the tokens of all layers, in Megatron-LM a sum of the layers' means.
  experts.zCoefficient = reader.number("moe_z_loss_coeff", 0.0) *
                         static_cast<double>(llvm::count(experts.layers, true));
  if (config.mlpBias)
    reader.unexpected("add_bias_linear", "false, because experts have no biases");
}

/// Reads the parts of Llama's blocks that a GPT of Megatron-LM may have.
static void readMegatronBlocks(ConfigReader &reader, ModelConfig &config) {
  const StringRef norm = reader.string("normalization", "LayerNorm");
  config.usesRmsNorm = norm == "RMSNorm";
  if (!config.usesRmsNorm && norm != "LayerNorm")
    reader.unexpected("normalization", "\"LayerNorm\" or \"RMSNorm\"");
  config.storesNormsLessOne = reader.boolean("apply_layernorm_1p", false);
  config.normalizesHeads = reader.boolean("qk_layernorm", false);
  // 0 means the size derived from others.
  config.headSize = reader.sizeOrNull("kv_channels", 0);
  config.keyValueHeadCount = reader.sizeOrNull("num_query_groups", config.headCount);
  if (config.headCount % config.keyValueHeadCount != 0)
    reader.unexpected("num_query_groups",
                      "a divisor of num_attention_heads = " + Twine(config.headCount));
  config.gatesMlp = reader.boolean("gated_linear_unit", false);
  config.mlpBias = config.attentionOutBias = reader.boolean("add_bias_linear", true);
  config.attentionBias = reader.boolean("add_qkv_bias", config.mlpBias) || config.mlpBias;
  const StringRef kind = reader.string("position_embedding_type", "learned_absolute");
  if (kind == "rope")
    config.positionKind = PositionKind::Rotary;
  else if (kind == "none")
    config.positionKind = PositionKind::None;
  else if (kind != "learned_absolute")
    reader.unexpected("position_embedding_type", "\"learned_absolute\", \"rope\" or \"none\"");
  if (config.positionKind == PositionKind::Rotary)
    config.rotary =
        readRotary(reader, config.positionCount, {"rotary_base", "rotary_percent", 1.0});
  if (reader.object().get("num_experts"))
    readMegatronExperts(reader, config);
}

void st::readMegatronGpt(ConfigReader &reader, ModelConfig &config) {
  auto either = [&](StringRef key, StringRef other) { return eitherKey(reader, key, other); };
  config.hiddenSize = reader.size("hidden_size", 1024);
  config.layerCount = reader.size(either("num_layers", "num_hidden_layers"), 24, kMaxLayers);
  config.headCount = reader.size("num_attention_heads", 16);
  config.intermediateSize =
      reader.sizeOrNull(either("ffn_hidden_size", "intermediate_size"), 4 * config.hiddenSize);
  config.vocabSize = reader.size("vocab_size", 50257);
  readVocabRows(reader, config);
  config.positionCount = reader.size("max_position_embeddings", 1024);
  config.activation = readActivation(reader, "hidden_act", "gelu_new");
  config.hiddenDropout = reader.probability(either("hidden_dropout", "hidden_dropout_prob"), 0.1);
  config.embeddingDropout = config.hiddenDropout;
  config.attentionDropout = reader.probability("attention_dropout", 0.1);
  config.layerNormEpsilon = reader.positive("layernorm_epsilon", 1e-5);
  config.initializerRange = reader.positive(either("init_method_std", "initializer_range"), 0.02);
  config.scalesProductsByLayer = reader.boolean("apply_query_key_layer_scaling", false);
  config.scalesResidualInit = true;
  readMegatronBlocks(reader, config);
}

void st::readGptNeoX(ConfigReader &reader, ModelConfig &config) {
  readSizes(reader, config, {6144, 44, 64, 24576, 50432, 2048});
  config.intermediateSize = reader.size("intermediate_size", 24576);
  config.activation = readActivation(reader, "hidden_act", "gelu");
  config.hiddenDropout = config.embeddingDropout = reader.probability("hidden_dropout", 0.0);
  config.attentionDropout = reader.probability("attention_dropout", 0.0);
  config.layerNormEpsilon = reader.positive("layer_norm_eps", 1e-5);
  config.rotary = readRotary(reader, config.positionCount, {"rotary_emb_base", "rotary_pct", 0.25});
  config.attentionBias = config.attentionOutBias = reader.boolean("attention_bias", true);
  config.hasParallelBranches = reader.boolean("use_parallel_residual", true);
}

void st::readPhi(ConfigReader &reader, ModelConfig &config) {
  readSizes(reader, config, {2048, 24, 32, 8192, 51200, 2048});
  readKeyValueHeads(reader, config, config.headCount);
  config.intermediateSize = reader.size("intermediate_size", 8192);
  config.paddingToken = readPaddingToken(reader, config.vocabSize, std::nullopt);
  config.activation = readActivation(reader, "hidden_act", "gelu_new");
  config.hiddenDropout = reader.probability("resid_pdrop", 0.0);
  config.embeddingDropout = reader.probability("embd_pdrop", 0.0);
  config.attentionDropout = reader.probability("attention_dropout", 0.0);
  config.layerNormEpsilon = reader.positive("layer_norm_eps", 1e-5);
  config.rotary =
      readRotary(reader, config.positionCount, {"rope_theta", "partial_rotary_factor", 0.5});
  config.hasParallelBranches = true;
  config.normalizesHeads = reader.boolean("qk_layernorm", false);
}

void st::readOpt(ConfigReader &reader, ModelConfig &config) {
  readSizes(reader, config, {768, 12, 12, 3072, 50272, 2048});
  config.firstPosition = 2; // after two rows for padding
  config.intermediateSize = reader.size("ffn_dim", 3072);
  config.paddingToken = readPaddingToken(reader, config.vocabSize, 1);
  config.activation = readActivation(reader, "activation_function", "relu");
  config.hiddenDropout = reader.probability("dropout", 0.1);
  config.attentionDropout = reader.probability("attention_dropout", 0.0);
  config.layerNormEpsilon = 1e-5;
  config.initializerRange = reader.positive("init_std", 0.02);
  config.attentionBias = config.attentionOutBias = config.mlpBias =
      reader.boolean("enable_bias", true);
  config.normalizesSums = !reader.boolean("do_layer_norm_before", true);
  config.hasFinalNorm =
      !config.normalizesSums && !reader.boolean("_remove_final_layer_norm", false);
  requireFlag(reader, "layer_norm_elementwise_affine", true);
  const int64_t embeddingSize = reader.sizeOrNull("word_embed_proj_dim", config.hiddenSize);
  if (embeddingSize != config.hiddenSize)
    config.embeddingSize = embeddingSize;
  if (reader.probability("layerdrop", 0.0) != 0.0)
    reader.unexpected("layerdrop", "0 (no layer is skipped)");
}
