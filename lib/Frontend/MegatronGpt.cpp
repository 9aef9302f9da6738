//===- MegatronGpt.cpp - GPT as Megatron-LM trains it ---------------------===//

#include "lib/Frontend/ModelBuilder.h"

using namespace mlir;
using namespace mlir::st;

namespace {
/// The decoder of GPT as Megatron-LM (Shoeybi et al., 2019) names and computes it: GPT-2's, but
/// weights are [out, in], and one product computes queries, keys and values. Those of a head are
/// adjacent in its result, so that heads can be split over devices.
class MegatronGpt {
public:
  explicit MegatronGpt(ModelBuilder &model)
      : model(model), emit(model.emit), config(model.config),
        residualDeviation(model.residualDeviation()) {}

  Value embeddings();
  Value decoder(Value x);
  Value loss(Value x);

private:
  Value attention(Value x, Value bias, const std::string &name, int64_t layer);
  Value mlp(Value x, const std::string &name);
  Value dense(Value x, const Twine &name, int64_t outSize,
              std::optional<double> standardDeviation = std::nullopt) {
    return model.dense(x, name, outSize, WeightLayout::OutIn, standardDeviation);
  }

  ModelBuilder &model;
  Emitter &emit;
  const ModelConfig &config;
  double residualDeviation;
  Value wordEmbeddings;
};
} // namespace

Value MegatronGpt::embeddings() {
  const std::string name = "language_model.embedding";
  ModelBuilder::Scope scope(model, name);
  wordEmbeddings = model.tokenTable(name + ".word_embeddings.weight");
  Value positions =
      model.weight(name + ".position_embeddings.weight", {config.positionCount, config.hiddenSize});
  Value ids = model.batchArgument("input_ids", {model.batch, model.sequence}, config.vocabSize);
  Value x = model.addPositions(model.embedding(wordEmbeddings, ids), positions);
  return model.dropout(x, config.embeddingDropout);
}

Value MegatronGpt::attention(Value x, Value bias, const std::string &name, int64_t layer) {
  int64_t size = config.headSize;
  Value qkv;
  {
    ModelBuilder::Scope scope(model, "query_key_value");
    qkv = dense(x, name + ".self_attention.query_key_value", 3 * config.hiddenSize);
  }
  // The rows of the weight are [heads, 3, d].
  {
    ModelBuilder::Scope scope(model, "split_heads");
    qkv = emit.reshape(qkv, {model.batch, model.sequence, config.headCount, 3 * size});
  }
  auto part = [&](int64_t i) {
    ModelBuilder::Scope scope(model, "split_qkv");
    return emit.sliceDim(qkv, 3, i * size, (i + 1) * size);
  };
  Value query = part(0), key = part(1), value = part(2);
  Value context = model.attention(query, key, value, bias, {2, 3}, std::nullopt, layer);
  ModelBuilder::Scope scope(model, "dense");
  Value out = dense(context, name + ".self_attention.dense", config.hiddenSize, residualDeviation);
  return model.dropout(out, config.hiddenDropout);
}

Value MegatronGpt::mlp(Value x, const std::string &name) {
  Value inner;
  {
    ModelBuilder::Scope scope(model, "dense_h_to_4h");
    inner = dense(x, name + ".mlp.dense_h_to_4h", config.intermediateSize);
    inner = model.activation(inner, config.activation);
  }
  ModelBuilder::Scope scope(model, "dense_4h_to_h");
  Value out = dense(inner, name + ".mlp.dense_4h_to_h", config.hiddenSize, residualDeviation);
  return model.dropout(out, config.hiddenDropout);
}

Value MegatronGpt::decoder(Value x) {
  Value bias;
  {
    ModelBuilder::Scope scope(model, "language_model/causal_mask");
    bias = model.causalBias();
  }
  for (int64_t i = 0; i < config.layerCount; ++i) {
    model.setBlock(i + 1);
    std::string name = "language_model.encoder.layers." + std::to_string(i);
    ModelBuilder::Scope scope(model, name);
    {
      ModelBuilder::Scope scope(model, "self_attention");
      Value normalized = model.layerNorm(x, name + ".input_layernorm");
      x = model.addResidual(x, attention(normalized, bias, name, i));
    }
    ModelBuilder::Scope mlpScope(model, "mlp");
    Value normalized = model.layerNorm(x, name + ".post_attention_layernorm");
    x = model.addResidual(x, mlp(normalized, name));
  }
  model.setBlock(config.layerCount + 1);
  return x;
}

Value MegatronGpt::loss(Value x) {
  ModelBuilder::Scope scope(model, "language_model.output_layer");
  x = model.layerNorm(x, "language_model.encoder.final_layernorm");
  Value head = config.tieWordEmbeddings ? wordEmbeddings
                                        : model.weight("language_model.output_layer.weight",
                                                       {config.vocabRows, config.hiddenSize});
  Value labels = model.batchArgument("labels", {model.batch, model.sequence}, config.vocabSize);
  Value logits = model.project(x, head);
  model.measureCorrect("token", logits, labels, -100);
  return model.crossEntropy(logits, labels, -100);
}

Value st::buildMegatronGpt(ModelBuilder &model) {
  MegatronGpt gpt(model);
  return gpt.loss(gpt.decoder(gpt.embeddings()));
}
