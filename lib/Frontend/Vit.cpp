//===- Vit.cpp - ViTForImageClassification --------------------------------===//

#include "lib/Frontend/ModelBuilder.h"

using namespace mlir;
using namespace mlir::st;

namespace {
/// The vision transformer (Dosovitskiy et al., 2020), as Hugging Face names and
/// computes it: layer normalisation before each branch, no pooler.
class Vit {
public:
  explicit Vit(ModelBuilder &model) : model(model), emit(model.emit), config(model.config) {}

  Value embeddings();
  Value encoder(Value x);
  Value loss(Value x);

private:
  /// The images' patches through one linear layer, [B, N, H].
  Value patches();
  Value attention(Value x, const std::string &name);
  Value dense(Value x, const Twine &name, int64_t outSize, bool hasBias = true) {
    return model.dense(x, name, outSize, WeightLayout::OutIn, std::nullopt, hasBias);
  }

  ModelBuilder &model;
  Emitter &emit;
  const ModelConfig &config;
};
} // namespace

Value Vit::patches() {
  const std::string name = "vit.embeddings.patch_embeddings.projection";
  ModelBuilder::Scope scope(model, "patch_embeddings");
  int64_t batch = model.batch, channels = config.channelCount;
  const Extent size = config.imageSize, patch = config.patchSize, grid = config.patchGrid();
  int64_t perPatch = channels * patch.height * patch.width;
  Value weight =
      model.weight(name + ".weight", {config.hiddenSize, channels, patch.height, patch.width});
  Value pixels = model.batchArgument("pixel_values", {batch, channels, size.height, size.width});
  // A convolution whose windows do not overlap is a product with each patch.
  Value cut =
      emit.reshape(pixels, {batch, channels, grid.height, patch.height, grid.width, patch.width});
  cut = emit.reshape(emit.transpose(cut, {0, 2, 4, 1, 3, 5}),
                     {batch, grid.height * grid.width, perPatch});
  Value matrix = emit.reshape(weight, {config.hiddenSize, perPatch});
  return model.addBias(model.project(cut, matrix), name + ".bias");
}

Value Vit::embeddings() {
  ModelBuilder::Scope scope(model, "vit.embeddings");
  int64_t batch = model.batch, tokens = model.sequence, hidden = config.hiddenSize;
  Value classToken = model.weight("vit.embeddings.cls_token", {1, 1, hidden});
  Value positions = model.weight("vit.embeddings.position_embeddings", {1, tokens, hidden});
  Value classTokens = emit.broadcast(emit.reshape(classToken, {hidden}), {2}, {batch, 1, hidden});
  Value x = emit.concatenate({classTokens, patches()}, 1);
  positions = emit.reshape(positions, {tokens, hidden});
  return model.dropout(model.addPositions(x, positions), config.embeddingDropout);
}

Value Vit::attention(Value x, const std::string &name) {
  auto projected = [&](StringRef which) {
    return dense(x, name + ".attention.attention." + which, config.hiddenSize,
                 config.attentionBias);
  };
  Value query = projected("query"), key = projected("key"), value = projected("value");
  Value context = model.attention(query, key, value, /*bias=*/nullptr, {});
  Value out = dense(context, name + ".attention.output.dense", config.hiddenSize);
  return model.dropout(out, config.hiddenDropout);
}

Value Vit::encoder(Value x) {
  for (int64_t i = 0; i < config.layerCount; ++i) {
    model.setBlock(i + 1);
    std::string name = "vit.encoder.layer." + std::to_string(i);
    ModelBuilder::Scope scope(model, name);
    {
      ModelBuilder::Scope scope(model, "attention");
      Value normalized = model.layerNorm(x, name + ".layernorm_before");
      x = model.addResidual(x, attention(normalized, name));
    }
    ModelBuilder::Scope mlpScope(model, "intermediate");
    Value inner = model.layerNorm(x, name + ".layernorm_after");
    inner = dense(inner, name + ".intermediate.dense", config.intermediateSize);
    inner = model.activation(inner, config.activation);
    Value out = dense(inner, name + ".output.dense", config.hiddenSize);
    x = model.addResidual(x, model.dropout(out, config.hiddenDropout));
  }
  model.setBlock(config.layerCount + 1);
  return x;
}

Value Vit::loss(Value x) {
  ModelBuilder::Scope scope(model, "classifier");
  // Tokens are normalised independently, so the first one suffices.
  Value first = emit.reshape(emit.sliceDim(x, 1, 0, 1), {model.batch, config.hiddenSize});
  first = model.layerNorm(first, "vit.layernorm");
  return model.classLoss(dense(first, "classifier", config.labelCount));
}

Value st::buildVit(ModelBuilder &model) {
  Vit vit(model);
  return vit.loss(vit.encoder(vit.embeddings()));
}
