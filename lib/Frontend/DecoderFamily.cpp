//===- DecoderFamily.cpp - The families of causal language models ---------===//

#include "lib/Frontend/DecoderFamily.h"

using namespace mlir;
using namespace mlir::st;

/// GPT-2 (Radford et al., 2019): one product for queries, keys and values, weights [in, out].
static DecoderFamily gpt2() {
  DecoderFamily family;
  family.type = ModelType::Gpt2;
  family.tokenClassHead = "classifier";
  family.projections = Projections::Joined;
  family.layout = WeightLayout::InOut;
  family.root = "transformer";
  family.embeddingScope = "transformer.embeddings";
  family.headScope = "lm_head";
  family.tokens = "transformer.wte";
  family.positions = "transformer.wpe";
  family.finalNorm = "transformer.ln_f";
  family.head = "lm_head";
  family.block = "transformer.h.";
  family.attentionNorm = "ln_1";
  family.mlpNorm = "ln_2";
  family.attention = "attn";
  family.joined = "c_attn";
  family.out = "c_proj";
  family.mlp = "mlp";
  family.up = "c_fc";
  family.down = "c_proj";
  return family;
}

/// Llama (Touvron et al., 2023): root mean square normalisation, rotary positions (Su et al.,
/// 2021), heads of queries that share keys and values (Ainslie et al., 2023), gated inner layers
/// (Shazeer, 2020). Many later families have its blocks and names.
static DecoderFamily llama(ModelType type = ModelType::Llama) {
  DecoderFamily family;
  family.type = type;
  family.norm = Norm::Rms;
  family.hasRotaryPositions = true;
  family.root = "model";
  family.embeddingScope = "model.embed_tokens";
  family.headScope = "lm_head";
  family.tokens = "model.embed_tokens";
  family.finalNorm = "model.norm";
  family.head = "lm_head";
  family.block = "model.layers.";
  family.attentionNorm = "input_layernorm";
  family.mlpNorm = "post_attention_layernorm";
  family.attention = "self_attn";
  family.query = "q_proj";
  family.key = "k_proj";
  family.value = "v_proj";
  family.out = "o_proj";
  family.mlp = "mlp";
  family.gate = "gate_proj";
  family.up = "up_proj";
  family.down = "down_proj";
  return family;
}

/// Gemma (Gemma Team, 2024): Llama's blocks with scaled embeddings and gains stored less one.
static DecoderFamily gemma() {
  DecoderFamily family = llama(ModelType::Gemma);
  family.norm = Norm::RmsPlusOne;
  family.scalesEmbeddings = true;
  return family;
}

/// Qwen3 (Yang et al., 2025): Llama's blocks with norms of the heads of queries and keys.
static DecoderFamily qwen3() {
  DecoderFamily family = llama(ModelType::Qwen3);
  family.normalizesHeads = true;
  return family;
}

/// Mixtral (Jiang et al., 2024): Llama's blocks with a mixture of experts instead of each MLP.
static DecoderFamily mixtral() {
  DecoderFamily family = llama(ModelType::Mixtral);
  family.router = "block_sparse_moe.gate";
  family.experts = "block_sparse_moe.experts";
  family.expertGate = "w1";
  family.expertUp = "w3";
  family.expertDown = "w2";
  return family;
}

/// Qwen2-MoE (Yang et al., 2024): Qwen2's blocks. Some have an MLP, the others a mixture of experts
/// and an expert for every token, scaled by a gate.
static DecoderFamily qwen2Moe() {
  DecoderFamily family = llama(ModelType::Qwen2Moe);
  family.router = "mlp.gate";
  family.experts = "mlp.experts";
  family.expertGate = "gate_proj";
  family.expertUp = "up_proj";
  family.expertDown = "down_proj";
  family.sharedExpert = "mlp.shared_expert";
  family.sharedGate = "mlp.shared_expert_gate";
  return family;
}

/// OPT (Zhang et al., 2022): GPT-2's blocks with separate products. The model of 350 M parameters
/// normalises sums, and its embeddings are smaller than its blocks.
static DecoderFamily opt() {
  DecoderFamily family;
  family.type = ModelType::Opt;
  family.tokenClassHead = "";
  family.root = "model.decoder";
  family.embeddingScope = "model.decoder.embeddings";
  family.headScope = "lm_head";
  family.tokens = "model.decoder.embed_tokens";
  family.positions = "model.decoder.embed_positions";
  family.finalNorm = "model.decoder.final_layer_norm";
  family.projectIn = "model.decoder.project_in";
  family.projectOut = "model.decoder.project_out";
  family.head = "lm_head";
  family.block = "model.decoder.layers.";
  family.attentionNorm = "self_attn_layer_norm";
  family.mlpNorm = "final_layer_norm";
  family.attention = "self_attn";
  family.query = "q_proj";
  family.key = "k_proj";
  family.value = "v_proj";
  family.out = "out_proj";
  family.up = "fc1";
  family.down = "fc2";
  return family;
}

/// Phi (Li et al., 2023): both branches read one norm, part of each head rotates, and the head for
/// tokens has a bias. Heads of queries and keys may have norms.
static DecoderFamily phi() {
  DecoderFamily family;
  family.type = ModelType::Phi;
  family.hasRotaryPositions = true;
  family.hasHeadBias = true;
  family.root = "model";
  family.embeddingScope = "model.embed_tokens";
  family.headScope = "lm_head";
  family.tokens = "model.embed_tokens";
  family.finalNorm = "model.final_layernorm";
  family.head = "lm_head";
  family.block = "model.layers.";
  family.attentionNorm = "input_layernorm";
  family.attention = "self_attn";
  family.query = "q_proj";
  family.key = "k_proj";
  family.value = "v_proj";
  family.queryNorm = "q_layernorm";
  family.keyNorm = "k_layernorm";
  family.out = "dense";
  family.mlp = "mlp";
  family.up = "fc1";
  family.down = "fc2";
  return family;
}

/// GPT-NeoX (Black et al., 2022): parallel branches with a norm each, part of each head rotates,
/// and one product for queries, keys and values, head by head.
static DecoderFamily gptNeoX() {
  DecoderFamily family;
  family.type = ModelType::GptNeoX;
  family.tokenClassHead = "classifier";
  family.projections = Projections::ByHead;
  family.hasRotaryPositions = true;
  family.root = "gpt_neox";
  family.embeddingScope = "gpt_neox.embed_in";
  family.headScope = "embed_out";
  family.tokens = "gpt_neox.embed_in";
  family.finalNorm = "gpt_neox.final_layer_norm";
  family.head = "embed_out";
  family.block = "gpt_neox.layers.";
  family.attentionNorm = "input_layernorm";
  family.mlpNorm = "post_attention_layernorm";
  family.attention = "attention";
  family.joined = "query_key_value";
  family.out = "dense";
  family.mlp = "mlp";
  family.up = "dense_h_to_4h";
  family.down = "dense_4h_to_h";
  return family;
}

/// GPT as Megatron-LM (Shoeybi et al., 2019) names and computes it: GPT-2's blocks, but weights are
/// [out, in], and queries, keys and values of a head are adjacent. A model may have parts of
/// Llama's and Mixtral's blocks instead.
static DecoderFamily megatronGpt() {
  DecoderFamily family = gptNeoX();
  family.type = ModelType::MegatronGpt;
  family.classHead = family.tokenClassHead = "";
  family.hasRotaryPositions = false;
  family.scopesProducts = true;
  family.root = "language_model";
  family.embeddingScope = "language_model.embedding";
  family.headScope = "language_model.output_layer";
  family.tokens = "language_model.embedding.word_embeddings";
  family.positions = "language_model.embedding.position_embeddings";
  family.finalNorm = "language_model.encoder.final_layernorm";
  family.head = "language_model.output_layer";
  family.block = "language_model.encoder.layers.";
  family.attention = "self_attention";
  family.queryNorm = "q_layernorm";
  family.keyNorm = "k_layernorm";
  family.router = "mlp.router";
  family.experts = "mlp.local_experts";
  family.expertUp = "dense_h_to_4h";
  family.expertDown = "dense_4h_to_h";
  family.sharedExpert = "mlp.shared_experts";
  return family;
}

/// Replaces the parts of Megatron-LM's GPT that a model chooses.
static void chooseParts(DecoderFamily &family, const ModelConfig &config) {
  const bool isPlusOne = config.storesNormsLessOne;
  if (config.usesRmsNorm)
    family.norm = isPlusOne ? Norm::RmsPlusOne : Norm::Rms;
  else if (isPlusOne)
    family.norm = Norm::LayerPlusOne;
  family.hasRotaryPositions = config.positionKind == PositionKind::Rotary;
  if (config.positionKind != PositionKind::Learned)
    family.positions = "";
  family.joinsGate = config.gatesMlp;
  if (config.experts.sharedSize == 0)
    family.sharedExpert = "";
}

const DecoderFamily *st::findDecoderFamily(ModelType type) {
  static const DecoderFamily families[] = {gpt2(),
                                           llama(),
                                           llama(ModelType::Mistral),
                                           mixtral(),
                                           llama(ModelType::Qwen2),
                                           qwen2Moe(),
                                           qwen3(),
                                           gemma(),
                                           opt(),
                                           phi(),
                                           gptNeoX(),
                                           megatronGpt()};
  const DecoderFamily *found =
      llvm::find_if(families, [&](const DecoderFamily &family) { return family.type == type; });
  return found == std::end(families) ? nullptr : found;
}

bool st::isDecoder(ModelType type) { return findDecoderFamily(type); }

DecoderFamily st::describeDecoder(const ModelConfig &config) {
  DecoderFamily family = *findDecoderFamily(config.type);
  family.normalizesHeads |= config.normalizesHeads;
  if (config.type == ModelType::MegatronGpt)
    chooseParts(family, config);
  return family;
}
