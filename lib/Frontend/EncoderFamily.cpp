//===- EncoderFamily.cpp - The families of encoders -----------------------===//

#include "lib/Frontend/EncoderFamily.h"

using namespace mlir;
using namespace mlir::st;

/// BERT (Devlin et al., 2018): each residual sum is normalised.
static EncoderFamily bert(ModelType type = ModelType::Bert) {
  EncoderFamily family;
  family.type = type;
  family.root = "bert";
  family.block = "bert.encoder.layer.";
  family.query = "attention.self.query";
  family.key = "attention.self.key";
  family.value = "attention.self.value";
  family.out = "attention.output.dense";
  family.attentionNorm = "attention.output.LayerNorm";
  family.up = "intermediate.dense";
  family.down = "output.dense";
  family.mlpNorm = "output.LayerNorm";
  family.headScope = "cls.predictions";
  family.headDense = "cls.predictions.transform.dense";
  family.headNorm = "cls.predictions.transform.LayerNorm";
  family.decoder = "cls.predictions.decoder";
  family.headBias = "cls.predictions.bias";
  family.classDense = "bert.pooler.dense";
  return family;
}

/// MegatronBERT (Shoeybi et al., 2019): BERT's blocks that normalise their inputs.
static EncoderFamily megatronBert() {
  EncoderFamily family = bert(ModelType::MegatronBert);
  family.normalizesFirst = true;
  family.attentionNorm = "attention.ln";
  family.mlpNorm = "ln";
  return family;
}

/// RoBERTa (Liu et al., 2019): BERT's blocks without a head for sentences.
static EncoderFamily roberta() {
  EncoderFamily family = bert(ModelType::Roberta);
  family.countsPositions = true;
  family.tokenTypes = TokenTypes::First;
  family.root = "roberta";
  family.block = "roberta.encoder.layer.";
  family.headScope = "lm_head";
  family.headDense = "lm_head.dense";
  family.headNorm = "lm_head.layer_norm";
  family.decoder = "lm_head.decoder";
  family.headBias = "lm_head.bias";
  family.classDense = "classifier.dense";
  family.classOut = "classifier.out_proj";
  family.dropsClassInput = true;
  return family;
}

/// DistilBERT (Sanh et al., 2019): BERT's blocks without types of tokens.
static EncoderFamily distilBert() {
  EncoderFamily family;
  family.type = ModelType::DistilBert;
  family.tokenTypes = TokenTypes::None;
  family.dropsAttentionOutput = false;
  family.root = "distilbert";
  family.block = "distilbert.transformer.layer.";
  family.query = "attention.q_lin";
  family.key = "attention.k_lin";
  family.value = "attention.v_lin";
  family.out = "attention.out_lin";
  family.attentionNorm = "sa_layer_norm";
  family.up = "ffn.lin1";
  family.down = "ffn.lin2";
  family.mlpNorm = "output_layer_norm";
  family.headScope = "vocab_projector";
  family.headDense = "vocab_transform";
  family.headNorm = "vocab_layer_norm";
  family.decoder = "vocab_projector";
  family.headBias = "vocab_projector.bias";
  family.classDense = "pre_classifier";
  family.classActivation = Activation::Relu;
  return family;
}

const EncoderFamily *st::findEncoderFamily(ModelType type) {
  static const EncoderFamily families[] = {bert(), megatronBert(), roberta(), distilBert()};
  const EncoderFamily *found =
      llvm::find_if(families, [&](const EncoderFamily &family) { return family.type == type; });
  return found == std::end(families) ? nullptr : found;
}
