//===- Seq2SeqConfigs.cpp - Configurations of encoders with decoders ------===//

#include "lib/Frontend/ModelReaders.h"

using namespace mlir;
using namespace mlir::st;

/// Reads a token that the decoder's inputs have. Without a fallback the key is required.
static int64_t readToken(ConfigReader &reader, StringRef key, int64_t vocabSize,
                         std::optional<int64_t> fallback = std::nullopt) {
  const llvm::json::Value *value = reader.object().get(key);
  const std::optional<int64_t> token = value ? value->getAsInteger() : fallback;
  if (token && *token >= 0 && *token < vocabSize)
    return *token;
  reader.unexpected(key, "a token below vocab_size = " + Twine(vocabSize) +
                             ", for the decoder's inputs");
  return 0;
}

/// transformers' general name for a key of the family; files may have both.
static void checkOtherName(ConfigReader &reader, StringRef name, StringRef key, int64_t value) {
  const llvm::json::Value *other = reader.object().get(name);
  if (other && !other->getAsNull() && other->getAsInteger() != value)
    reader.unexpected(name, "the same as in " + key + ", " + Twine(value));
}

static void refuseLayerDrop(ConfigReader &reader, StringRef key) {
  if (reader.probability(key, 0.0) != 0.0)
    reader.unexpected(key, "0 (no layer is skipped)");
}

//===----------------------------------------------------------------------===//
// BART
//===----------------------------------------------------------------------===//

/// Reports keys of older files that select other blocks.
static void refuseOlderBart(ConfigReader &reader) {
  requireFlag(reader, "add_bias_logits", false);
  requireFlag(reader, "add_final_layer_norm", false);
  requireFlag(reader, "normalize_before", false);
  requireFlag(reader, "normalize_embedding", true);
  requireFlag(reader, "static_position_embeddings", false);
  if (reader.sizeOrNull("extra_pos_embeddings", 2) != 2)
    reader.unexpected("extra_pos_embeddings", "2");
}

void st::readBart(ConfigReader &reader, ModelConfig &config) {
  config.hiddenSize = reader.size("d_model", 1024);
  config.layerCount = reader.size("encoder_layers", 12, kMaxLayers);
  config.headCount = reader.size("encoder_attention_heads", 16);
  config.intermediateSize = reader.size("encoder_ffn_dim", 4096);
  config.vocabSize = reader.size("vocab_size", 50265);
  config.positionCount = reader.size("max_position_embeddings", 1024);
  config.firstPosition = 2; // after two unused rows
  config.activation = readActivation(reader, "activation_function", "gelu");
  config.hiddenDropout = config.embeddingDropout = reader.probability("dropout", 0.1);
  config.attentionDropout = reader.probability("attention_dropout", 0.0);
  config.activationDropout = reader.probability("activation_dropout", 0.0);
  config.layerNormEpsilon = 1e-5;
  config.initializerRange = reader.positive("init_std", 0.02);
  config.scalesEmbeddings = reader.boolean("scale_embedding", false);
  DecoderConfig &decoder = config.decoder;
  decoder.layerCount = reader.size("decoder_layers", 12, kMaxLayers);
  decoder.headCount = reader.size("decoder_attention_heads", 16);
  decoder.intermediateSize = reader.size("decoder_ffn_dim", 4096);
  decoder.startToken = readToken(reader, "decoder_start_token_id", config.vocabSize, 2);
  decoder.paddingToken = readToken(reader, "pad_token_id", config.vocabSize, 1);
  config.paddingToken = decoder.paddingToken;
  if (!reader.failed() && config.hiddenSize % decoder.headCount != 0)
    reader.unexpected("decoder_attention_heads",
                      "a divisor of d_model = " + Twine(config.hiddenSize));
  checkOtherName(reader, "hidden_size", "d_model", config.hiddenSize);
  checkOtherName(reader, "num_hidden_layers", "encoder_layers", config.layerCount);
  checkOtherName(reader, "num_attention_heads", "encoder_attention_heads", config.headCount);
  refuseLayerDrop(reader, "encoder_layerdrop");
  refuseLayerDrop(reader, "decoder_layerdrop");
  // Without ties the class has three tables, one for each stack and one for the head.
  requireFlag(reader, "tie_word_embeddings", true);
  refuseOlderBart(reader);
}

//===----------------------------------------------------------------------===//
// T5
//===----------------------------------------------------------------------===//

/// Reads the function of MLPs, and whether they have a gate: a name, perhaps after "gated-".
static void readProjection(ConfigReader &reader, ModelConfig &config) {
  const StringRef name = reader.string("feed_forward_proj", "relu");
  StringRef function = name;
  config.gatesMlp = function.consume_front("gated-");
  if (name == "gated-gelu")
    function = "gelu_new";
  const std::optional<Activation> activation = symbolizeActivation(function);
  if (!activation)
    return reader.unexpected("feed_forward_proj", "a function of hidden_act or \"gated-\" before "
                                                  "one, such as \"relu\" or \"gated-gelu\"");
  config.activation = *activation;
  // Files repeat the properties that the name implies.
  if (symbolizeActivation(reader.string("dense_act_fn", function)) != activation)
    reader.unexpected("dense_act_fn", "the function of feed_forward_proj, \"" + function + "\"");
  if (reader.boolean("is_gated_act", config.gatesMlp) != config.gatesMlp)
    reader.unexpected("is_gated_act", Twine(config.gatesMlp ? "true" : "false") +
                                          " for feed_forward_proj \"" + name + "\"");
}

static void readRelativePositions(ConfigReader &reader, ModelConfig &config) {
  constexpr int64_t maxBuckets = 1 << 16;
  RelativePositions &positions = config.relativePositions;
  positions.bucketCount = reader.size("relative_attention_num_buckets", 32, maxBuckets);
  if (positions.bucketCount < 4)
    reader.unexpected("relative_attention_num_buckets",
                      "an integer from 4: each direction of the encoder has half of the buckets");
  positions.maxDistance = reader.size("relative_attention_max_distance", 128);
  if (positions.maxDistance <= positions.bucketCount / 2)
    reader.unexpected("relative_attention_max_distance",
                      "more than relative_attention_num_buckets / 2 = " +
                          Twine(positions.bucketCount / 2));
}

void st::readT5(ConfigReader &reader, ModelConfig &config) {
  config.hiddenSize = reader.size("d_model", 512);
  config.headSize = reader.size("d_kv", 64);
  config.layerCount = reader.size("num_layers", 6, kMaxLayers);
  config.headCount = reader.size("num_heads", 8);
  config.intermediateSize = reader.size("d_ff", 2048);
  config.vocabSize = reader.size("vocab_size", 32128);
  config.positionCount = INT32_MAX; // distances have no limit
  config.layerNormEpsilon = reader.positive("layer_norm_epsilon", 1e-6);
  config.initializerRange = config.normInitialValue = reader.positive("initializer_factor", 1.0);
  config.hiddenDropout = reader.probability("dropout_rate", 0.1);
  config.embeddingDropout = config.attentionDropout = config.activationDropout =
      config.hiddenDropout;
  config.attentionBias = config.attentionOutBias = config.mlpBias = false;
  config.scalesAttention = false;
  const bool ties = reader.boolean("tie_word_embeddings", true);
  config.scalesHeadInput = reader.boolean("scale_decoder_outputs", ties);
  // transformers 5 also saves this for a head with a separate table, and finds out from the
  // checkpoint.
  if (ties && !config.scalesHeadInput)
    reader.unexpected("scale_decoder_outputs",
                      "true, or false for tie_word_embeddings if lm_head has its own table");
  readProjection(reader, config);
  readRelativePositions(reader, config);
  DecoderConfig &decoder = config.decoder;
  const llvm::json::Value *layers = reader.object().get("num_decoder_layers");
  const bool isGiven = layers && !layers->getAsNull();
  decoder.layerCount =
      isGiven ? reader.size("num_decoder_layers", 1, kMaxLayers) : config.layerCount;
  decoder.headCount = config.headCount;
  decoder.intermediateSize = config.intermediateSize;
  decoder.startToken = readToken(reader, "decoder_start_token_id", config.vocabSize);
  decoder.paddingToken = readToken(reader, "pad_token_id", config.vocabSize, 0);
  checkOtherName(reader, "hidden_size", "d_model", config.hiddenSize);
  checkOtherName(reader, "head_dim", "d_kv", config.headSize);
  checkOtherName(reader, "num_hidden_layers", "num_layers", config.layerCount);
  checkOtherName(reader, "num_attention_heads", "num_heads", config.headCount);
}
