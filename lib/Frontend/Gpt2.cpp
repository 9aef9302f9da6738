//===- Gpt2.cpp - GPT2LMHeadModel -----------------------------------------===//

#include "lib/Frontend/ModelBuilder.h"
#include <cmath>

using namespace mlir;
using namespace mlir::st;

namespace {
/// The decoder of GPT-2 (Radford et al., 2019), as Hugging Face names and
/// computes it: layer normalisation before each branch.
class Gpt2 {
public:
  explicit Gpt2(ModelBuilder &model)
      : model(model), emit(model.emit), config(model.config),
        residualDeviation(config.initializerRange / std::sqrt(2.0 * config.layerCount)) {}

  Value embeddings();
  Value decoder(Value x);
  Value loss(Value x);

private:
  Value attention(Value x, Value bias, const std::string &name, int64_t layer);
  Value mlp(Value x, const std::string &name);
  Value dense(Value x, const Twine &name, int64_t outSize,
              std::optional<double> standardDeviation = std::nullopt) {
    return model.dense(x, name, outSize, WeightLayout::InOut, standardDeviation);
  }

  ModelBuilder &model;
  Emitter &emit;
  const ModelConfig &config;
  /// Layers that write to the residual stream start smaller, by the root of their number.
  double residualDeviation;
  Value wordEmbeddings;
};
} // namespace

Value Gpt2::embeddings() {
  ModelBuilder::Scope scope(model, "transformer.embeddings");
  wordEmbeddings = model.weight("transformer.wte.weight", {config.vocabRows, config.hiddenSize});
  Value positions =
      model.weight("transformer.wpe.weight", {config.positionCount, config.hiddenSize});
  Value ids = model.batchArgument("input_ids", {model.batch, model.sequence}, config.vocabSize);
  Value x = model.embedding(wordEmbeddings, ids);
  return model.dropout(model.addPositions(x, positions), config.embeddingDropout);
}

Value Gpt2::attention(Value x, Value bias, const std::string &name, int64_t layer) {
  int64_t hidden = config.hiddenSize;
  Value qkv = dense(x, name + ".attn.c_attn", 3 * hidden);
  auto part = [&](int64_t i) {
    ModelBuilder::Scope scope(model, "split_qkv");
    return emit.sliceDim(qkv, 2, i * hidden, (i + 1) * hidden);
  };
  Value query = part(0), key = part(1), value = part(2);
  double scale = config.scalesAttention ? 1.0 / std::sqrt(config.headSize) : 1.0;
  if (config.scalesAttentionByLayer)
    scale /= layer + 1;
  Value context = model.attention(query, key, value, bias, {2, 3}, scale);
  Value out = dense(context, name + ".attn.c_proj", hidden, residualDeviation);
  return model.dropout(out, config.hiddenDropout);
}

Value Gpt2::mlp(Value x, const std::string &name) {
  Value inner = dense(x, name + ".mlp.c_fc", config.intermediateSize);
  inner = model.activation(inner, config.activation);
  Value out = dense(inner, name + ".mlp.c_proj", config.hiddenSize, residualDeviation);
  return model.dropout(out, config.hiddenDropout);
}

Value Gpt2::decoder(Value x) {
  Value bias;
  {
    ModelBuilder::Scope scope(model, "transformer/causal_mask");
    bias = model.causalBias();
  }
  for (int64_t i = 0; i < config.layerCount; ++i) {
    model.setBlock(i + 1);
    std::string name = "transformer.h." + std::to_string(i);
    ModelBuilder::Scope scope(model, name);
    {
      ModelBuilder::Scope scope(model, "attn");
      Value normalized = model.layerNorm(x, name + ".ln_1");
      x = model.addResidual(x, attention(normalized, bias, name, i));
    }
    ModelBuilder::Scope mlpScope(model, "mlp");
    Value normalized = model.layerNorm(x, name + ".ln_2");
    x = model.addResidual(x, mlp(normalized, name));
  }
  model.setBlock(config.layerCount + 1);
  return x;
}

Value Gpt2::loss(Value x) {
  ModelBuilder::Scope scope(model, "lm_head");
  x = model.layerNorm(x, "transformer.ln_f");
  Value head = config.tieWordEmbeddings
                   ? wordEmbeddings
                   : model.weight("lm_head.weight", {config.vocabRows, config.hiddenSize});
  Value labels = model.batchArgument("labels", {model.batch, model.sequence}, config.vocabSize);
  Value logits = model.project(x, head);
  model.measureCorrect("token", logits, labels, -100);
  return model.crossEntropy(logits, labels, -100);
}

Value st::buildGpt2(ModelBuilder &model) {
  Gpt2 gpt2(model);
  return gpt2.loss(gpt2.decoder(gpt2.embeddings()));
}
