//===- Bert.cpp - BERT and MegatronBERT -----------------------------------===//

#include "lib/Frontend/ModelBuilder.h"
#include <limits>

using namespace mlir;
using namespace mlir::st;

namespace {
/// The encoder and heads of BERT (Devlin et al., 2018), as Hugging Face names
/// and computes them: layer normalisation after the embeddings and each residual
/// sum, or (MegatronBERT; Shoeybi et al., 2019) before each branch and at the end.
class Bert {
public:
  explicit Bert(ModelBuilder &model)
      : model(model), emit(model.emit), config(model.config),
        normalizesFirst(config.type == ModelType::MegatronBert) {}

  Value embeddings();
  Value encoder(Value x);
  Value preTrainingLoss(Value x);
  Value spanLoss(Value x);

private:
  Value attentionBias();
  Value attention(Value x, Value bias, const std::string &name, int64_t index);
  Value feedForward(Value x, const std::string &name);
  Value layer(Value x, Value bias, int64_t index);
  Value maskedLmLoss(Value x);
  Value nextSentenceLoss(Value x);
  Value dense(Value x, const Twine &name, int64_t outSize,
              std::optional<double> standardDeviation = std::nullopt) {
    return model.dense(x, name, outSize, WeightLayout::OutIn, standardDeviation);
  }
  /// x + dropout(branch), normalised if normalisation comes last.
  Value addBranch(Value x, Value branch, const Twine &name);
  /// x, normalised if normalisation comes first.
  Value normalizedInput(Value x, const Twine &name) {
    return normalizesFirst ? model.layerNorm(x, name) : x;
  }

  ModelBuilder &model;
  Emitter &emit;
  const ModelConfig &config;
  bool normalizesFirst;
  Value wordEmbeddings;
};
} // namespace

Value Bert::embeddings() {
  int64_t hidden = config.hiddenSize;
  SmallVector<int64_t> ids = {model.batch, model.sequence};
  ModelBuilder::Scope scope(model, "bert.embeddings");
  wordEmbeddings = model.tokenTable("bert.embeddings.word_embeddings.weight");
  Value positions =
      model.weight("bert.embeddings.position_embeddings.weight", {config.positionCount, hidden});
  Value types;
  if (config.hasBinaryHead)
    types = model.weight("bert.embeddings.token_type_embeddings.weight",
                         {config.typeVocabSize, hidden});
  Value inputIds = model.batchArgument("input_ids", ids, config.vocabSize);
  Value typeIds;
  if (types)
    typeIds = model.batchArgument("token_type_ids", ids, config.typeVocabSize);
  Value x = model.embedding(wordEmbeddings, inputIds, config.paddingToken);
  if (types) {
    ModelBuilder::Scope scope(model, "token_types");
    x = emit.add(x, model.embedding(types, typeIds));
  }
  x = model.addPositions(x, positions);
  if (!normalizesFirst)
    x = model.layerNorm(x, "bert.embeddings.LayerNorm");
  return model.dropout(x, config.embeddingDropout);
}

Value Bert::attentionBias() {
  ModelBuilder::Scope scope(model, "bert/attention_mask");
  Value mask = model.batchArgument("attention_mask", {model.batch, model.sequence}, 2);
  Value visible = emit.convert(mask, emit.builder.getF32Type());
  Value hidden = emit.sub(emit.splatLike(visible, 1.0), visible);
  return emit.scale(hidden, std::numeric_limits<float>::lowest());
}

Value Bert::addBranch(Value x, Value branch, const Twine &name) {
  branch = model.dropout(branch, config.hiddenDropout);
  if (normalizesFirst)
    return model.addResidual(x, branch);
  return model.layerNorm(model.addResidual(branch, x), name);
}

Value Bert::attention(Value x, Value bias, const std::string &name, int64_t index) {
  ModelBuilder::Scope scope(model, "attention");
  Value input = normalizedInput(x, name + ".attention.ln");
  auto projected = [&](StringRef which) {
    ModelBuilder::Scope scope(model, which);
    return dense(input, name + ".attention.self." + which, config.hiddenSize);
  };
  Value query = projected("query");
  Value key = projected("key");
  Value value = projected("value");
  Value context = model.attention(query, key, value, bias, {0, 3}, std::nullopt, index);
  ModelBuilder::Scope outputScope(model, "output");
  Value out = dense(context, name + ".attention.output.dense", config.hiddenSize,
                    model.residualDeviation());
  return addBranch(x, out, name + ".attention.output.LayerNorm");
}

Value Bert::feedForward(Value x, const std::string &name) {
  Value inner = normalizedInput(x, name + ".ln");
  {
    ModelBuilder::Scope scope(model, "intermediate");
    inner = dense(inner, name + ".intermediate.dense", config.intermediateSize);
    inner = model.activation(inner, config.activation);
  }
  ModelBuilder::Scope outputScope(model, "output");
  Value out = dense(inner, name + ".output.dense", config.hiddenSize, model.residualDeviation());
  return addBranch(x, out, name + ".output.LayerNorm");
}

Value Bert::layer(Value x, Value bias, int64_t index) {
  std::string name = "bert.encoder.layer." + std::to_string(index);
  ModelBuilder::Scope scope(model, name);
  return feedForward(attention(x, bias, name, index), name);
}

Value Bert::encoder(Value x) {
  Value bias = attentionBias();
  for (int64_t i = 0; i < config.layerCount; ++i) {
    model.setBlock(i + 1);
    x = layer(x, bias, i);
  }
  model.setBlock(config.layerCount + 1);
  if (!normalizesFirst)
    return x;
  ModelBuilder::Scope scope(model, "bert.encoder");
  return model.layerNorm(x, "bert.encoder.ln");
}

Value Bert::maskedLmLoss(Value x) {
  ModelBuilder::Scope scope(model, "cls.predictions");
  Value h = dense(x, "cls.predictions.transform.dense", config.hiddenSize);
  h = model.layerNorm(model.activation(h, config.headActivation),
                      "cls.predictions.transform.LayerNorm");
  Value decoder = config.tieWordEmbeddings ? wordEmbeddings
                                           : model.weight("cls.predictions.decoder.weight",
                                                          {config.vocabRows, config.hiddenSize});
  Value logits = model.addBias(model.project(h, decoder), "cls.predictions.bias");
  Value labels = model.batchArgument("labels", {model.batch, model.sequence}, config.vocabSize);
  model.measureCorrect("masked_lm", logits, labels, -100);
  return model.crossEntropy(logits, labels, -100);
}

Value Bert::nextSentenceLoss(Value x) {
  ModelBuilder::Scope scope(model, "cls.seq_relationship");
  // The pooler reads the first token of each sequence.
  Value first = emit.reshape(emit.sliceDim(x, 1, 0, 1), {model.batch, config.hiddenSize});
  Value pooled = dense(first, "bert.pooler.dense", config.hiddenSize);
  pooled = model.activation(pooled, Activation::Tanh);
  Value logits = dense(pooled, "cls.seq_relationship", 2);
  Value labels = model.batchArgument("next_sentence_label", {model.batch}, 2);
  model.measureCorrect("next_sentence", logits, labels, -100);
  return model.crossEntropy(logits, labels, -100);
}

Value Bert::preTrainingLoss(Value x) {
  Value maskedLm = maskedLmLoss(x);
  if (!config.hasBinaryHead)
    return maskedLm;
  Value nextSentence = nextSentenceLoss(x);
  model.measure("lm_loss", maskedLm);
  model.measure("next_sentence_loss", nextSentence);
  ModelBuilder::Scope scope(model, "loss");
  return emit.add(maskedLm, nextSentence);
}

Value Bert::spanLoss(Value x) {
  ModelBuilder::Scope scope(model, "qa_outputs");
  int64_t batch = model.batch, sequence = model.sequence;
  Value logits = dense(x, "qa_outputs", 2);
  auto lossOf = [&](StringRef positionName, int64_t index) {
    Value one = emit.reshape(emit.sliceDim(logits, 2, index, index + 1), {batch, sequence});
    Value positions = model.batchArgument(positionName, {batch}, sequence);
    model.measure(index == 0 ? "start_logits" : "end_logits", one);
    // A position beyond the end counts as an answer outside of this window.
    positions =
        emit.clamp(emit.splatLike(positions, 0), positions, emit.splatLike(positions, sequence));
    return model.crossEntropy(one, positions, sequence);
  };
  Value start = lossOf("start_positions", 0);
  Value end = lossOf("end_positions", 1);
  return emit.scale(emit.add(start, end), 0.5);
}

Value st::buildBert(ModelBuilder &model, Task task) {
  Bert bert(model);
  Value x = bert.encoder(bert.embeddings());
  if (task == Task::Encode)
    return x;
  return task == Task::Span ? bert.spanLoss(x) : bert.preTrainingLoss(x);
}
