//===- Llama.cpp - LlamaForCausalLM ---------------------------------------===//

#include "lib/Frontend/ModelBuilder.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::st;

namespace {
/// The decoder of Llama (Touvron et al., 2023), as Hugging Face names and computes
/// it: root mean square normalisation before each branch, rotary positions (Su et
/// al., 2021), heads of queries that share keys and values (Ainslie et al., 2023),
/// gated inner layers (Shazeer, 2020).
class Llama {
public:
  explicit Llama(ModelBuilder &model) : model(model), emit(model.emit), config(model.config) {}

  Value embeddings();
  Value decoder(Value x);
  Value loss(Value x);

private:
  /// Cosines and sines of the angles of each position, [S, d / 2].
  void rotaryTables();
  /// Rotates element i of each head of x [B, S, h, d] with element i + d / 2.
  Value rotate(Value x);
  /// x [B, S, kv, d] with each head as often as queries share it.
  Value repeatHeads(Value x);
  Value attention(Value x, Value bias, const std::string &name);
  Value mlp(Value x, const std::string &name);
  Value dense(Value x, const Twine &name, int64_t outSize, bool hasBias) {
    return model.dense(x, name, outSize, WeightLayout::OutIn, std::nullopt, hasBias);
  }

  ModelBuilder &model;
  Emitter &emit;
  const ModelConfig &config;
  Value wordEmbeddings;
  Value cosines, sines;
};
} // namespace

Value Llama::embeddings() {
  ModelBuilder::Scope scope(model, "model.embed_tokens");
  wordEmbeddings = model.tokenTable("model.embed_tokens.weight");
  Value ids = model.batchArgument("input_ids", {model.batch, model.sequence}, config.vocabSize);
  return model.embedding(wordEmbeddings, ids, config.paddingToken);
}

/// Scales `frequency`, in radians per position, as transformers' modeling_rope_utils does.
static double scaled(const RotaryPositions &rotary, double frequency) {
  constexpr double pi = 3.14159265358979323846;
  switch (rotary.scaling) {
  case RotaryPositions::None:
    return frequency;
  case RotaryPositions::Linear:
    return frequency / rotary.factor;
  case RotaryPositions::Llama3: {
    // Short waves stay, long ones are stretched, and those between them in part.
    double waves = rotary.originalPositions * frequency / (2.0 * pi);
    double kept = (waves - rotary.lowFrequencyFactor) /
                  (rotary.highFrequencyFactor - rotary.lowFrequencyFactor);
    kept = std::clamp(kept, 0.0, 1.0);
    return kept * frequency + (1.0 - kept) * frequency / rotary.factor;
  }
  }
  llvm_unreachable("unknown scaling");
}

void Llama::rotaryTables() {
  int64_t half = config.headSize / 2;
  std::vector<float> cosine, sine;
  for (int64_t position = 0; position < model.sequence; ++position)
    for (int64_t i = 0; i < half; ++i) {
      double frequency = std::pow(config.rotary.theta, -static_cast<double>(i) / half);
      double angle = position * scaled(config.rotary, frequency);
      cosine.push_back(static_cast<float>(std::cos(angle)));
      sine.push_back(static_cast<float>(std::sin(angle)));
    }
  auto type = RankedTensorType::get({model.sequence, half}, emit.builder.getF32Type());
  cosines = emit.constant(DenseElementsAttr::get(type, ArrayRef(cosine)));
  sines = emit.constant(DenseElementsAttr::get(type, ArrayRef(sine)));
}

Value Llama::rotate(Value x) {
  ModelBuilder::Scope scope(model, "rotary");
  int64_t half = config.headSize / 2;
  Value first = emit.sliceDim(x, 3, 0, half), second = emit.sliceDim(x, 3, half, 2 * half);
  Value cosine = emit.broadcast(cosines, {1, 3}, emit.shapeOf(first));
  Value sine = emit.broadcast(sines, {1, 3}, emit.shapeOf(first));
  Value turnedFirst = emit.sub(emit.mul(first, cosine), emit.mul(second, sine));
  Value turnedSecond = emit.add(emit.mul(second, cosine), emit.mul(first, sine));
  return emit.concatenate({turnedFirst, turnedSecond}, 3);
}

Value Llama::repeatHeads(Value x) {
  int64_t shared = config.headCount / config.keyValueHeadCount;
  if (shared == 1)
    return x;
  ModelBuilder::Scope scope(model, "repeat_heads");
  SmallVector<int64_t> shape(emit.shapeOf(x));
  Value repeated =
      emit.broadcast(x, {0, 1, 2, 4}, {shape[0], shape[1], shape[2], shared, shape[3]});
  return emit.reshape(repeated, {shape[0], shape[1], config.headCount, shape[3]});
}

Value Llama::attention(Value x, Value bias, const std::string &name) {
  auto projected = [&](StringRef which, int64_t heads) {
    return model.splitHeads(dense(x, name + ".self_attn." + which + "_proj",
                                  heads * config.headSize, config.attentionBias));
  };
  Value query = projected("q", config.headCount);
  Value key = projected("k", config.keyValueHeadCount);
  Value value = projected("v", config.keyValueHeadCount);
  query = rotate(query);
  key = repeatHeads(rotate(key));
  Value context = model.attention(query, key, repeatHeads(value), bias, {2, 3});
  return dense(context, name + ".self_attn.o_proj", config.hiddenSize, config.attentionBias);
}

Value Llama::mlp(Value x, const std::string &name) {
  Value gate = dense(x, name + ".mlp.gate_proj", config.intermediateSize, config.mlpBias);
  Value inner = dense(x, name + ".mlp.up_proj", config.intermediateSize, config.mlpBias);
  gate = model.activation(gate, config.activation);
  {
    ModelBuilder::Scope scope(model, "gate");
    inner = emit.mul(gate, inner);
  }
  return dense(inner, name + ".mlp.down_proj", config.hiddenSize, config.mlpBias);
}

Value Llama::decoder(Value x) {
  Value bias;
  {
    ModelBuilder::Scope scope(model, "model/causal_mask");
    bias = model.causalBias();
    rotaryTables();
  }
  for (int64_t i = 0; i < config.layerCount; ++i) {
    model.setBlock(i + 1);
    std::string name = "model.layers." + std::to_string(i);
    ModelBuilder::Scope scope(model, name);
    {
      ModelBuilder::Scope scope(model, "self_attn");
      Value normalized = model.rmsNorm(x, name + ".input_layernorm");
      x = model.addResidual(x, attention(normalized, bias, name));
    }
    ModelBuilder::Scope mlpScope(model, "mlp");
    Value normalized = model.rmsNorm(x, name + ".post_attention_layernorm");
    x = model.addResidual(x, mlp(normalized, name));
  }
  model.setBlock(config.layerCount + 1);
  return x;
}

Value Llama::loss(Value x) {
  ModelBuilder::Scope scope(model, "lm_head");
  x = model.rmsNorm(x, "model.norm");
  Value head = config.tieWordEmbeddings
                   ? wordEmbeddings
                   : model.weight("lm_head.weight", {config.vocabRows, config.hiddenSize});
  Value labels = model.batchArgument("labels", {model.batch, model.sequence}, config.vocabSize);
  Value logits = model.project(x, head);
  model.measureCorrect("token", logits, labels, -100);
  return model.crossEntropy(logits, labels, -100);
}

Value st::buildLlama(ModelBuilder &model) {
  Llama llama(model);
  return llama.loss(llama.decoder(llama.embeddings()));
}
