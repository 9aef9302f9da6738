//===- Seq2SeqFamily.cpp - Families with encoder and decoder --------------===//

#include "lib/Frontend/Seq2Seq/Seq2SeqFamily.h"

using namespace mlir;
using namespace mlir::st;

/// T5 (Raffel et al., 2019): relative positions, root mean square normalisation, no biases.
static Seq2SeqFamily t5() {
  Seq2SeqFamily family;
  family.type = ModelType::T5;
  family.norm = Norm::Rms;
  family.normalizesFirst = true;
  family.hasRelativePositions = true;
  family.initializesByInputs = true;
  family.tokens = "shared";
  family.head = "lm_head";
  family.encoder = "encoder";
  family.decoder = "decoder";
  family.block = "block";
  family.finalNorm = "final_layer_norm";
  family.selfAttention = {"layer.0.SelfAttention", "layer.0.layer_norm"};
  family.crossAttention = {"layer.1.EncDecAttention", "layer.1.layer_norm"};
  family.encoderMlp = {"layer.1.DenseReluDense", "layer.1.layer_norm"};
  family.decoderMlp = {"layer.2.DenseReluDense", "layer.2.layer_norm"};
  family.query = "q";
  family.key = "k";
  family.value = "v";
  family.out = "o";
  family.up = "wi";
  family.gate = "wi_0";
  family.gatedUp = "wi_1";
  family.down = "wo";
  family.relativeTable = "relative_attention_bias";
  return family;
}

/// BART (Lewis et al., 2019): BERT's blocks, and a decoder whose blocks attend to their result.
static Seq2SeqFamily bart() {
  Seq2SeqFamily family;
  family.type = ModelType::Bart;
  family.tokens = "model.shared";
  family.head = "lm_head";
  family.headBias = "final_logits_bias";
  family.encoder = "model.encoder";
  family.decoder = "model.decoder";
  family.block = "layers";
  family.positions = "embed_positions";
  family.embeddingNorm = "layernorm_embedding";
  family.selfAttention = {"self_attn", "self_attn_layer_norm"};
  family.crossAttention = {"encoder_attn", "encoder_attn_layer_norm"};
  family.encoderMlp = family.decoderMlp = {"", "final_layer_norm"};
  family.query = "q_proj";
  family.key = "k_proj";
  family.value = "v_proj";
  family.out = "out_proj";
  family.up = "fc1";
  family.down = "fc2";
  return family;
}

const Seq2SeqFamily *st::findSeq2SeqFamily(ModelType type) {
  static const Seq2SeqFamily families[] = {bart(), t5()};
  const Seq2SeqFamily *found =
      llvm::find_if(families, [&](const Seq2SeqFamily &family) { return family.type == type; });
  return found == std::end(families) ? nullptr : found;
}
