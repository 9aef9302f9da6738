//===- Encoder.cpp - Encoders of text of every family ---------------------===//

#include "lib/Frontend/EncoderFamily.h"
#include <limits>

using namespace mlir;
using namespace mlir::st;

namespace {
/// The encoder that a family describes, and its heads.
class Encoder {
public:
  Encoder(ModelBuilder &model, const EncoderFamily &family)
      : model(model), emit(model.emit), config(model.config), family(family),
        root(family.root.str()) {}

  Value embeddings();
  Value blocks(Value x);
  Value preTrainingLoss(Value x);
  Value spanLoss(Value x);
  Value classLoss(Value x);
  Value tokenClassLoss(Value x);

private:
  /// The first token of each sequence, [B, H].
  Value firstToken(Value x) {
    return emit.reshape(emit.sliceDim(x, 1, 0, 1), {model.batch, config.hiddenSize});
  }
  Value firstRow(Value table, Value x);
  /// x plus the rows of `table` at the positions that RoBERTa counts.
  Value addCountedPositions(Value x, Value table, Value ids);
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
  Value addBranch(Value x, Value branch, const Twine &name, bool drops = true);
  /// x, normalised if normalisation comes first.
  Value normalizedInput(Value x, const Twine &name) {
    return family.normalizesFirst ? model.layerNorm(x, name) : x;
  }

  ModelBuilder &model;
  Emitter &emit;
  const ModelConfig &config;
  const EncoderFamily &family;
  std::string root;
  Value wordEmbeddings;
};
} // namespace

Value Encoder::embeddings() {
  int64_t hidden = config.hiddenSize;
  const std::string name = root + ".embeddings";
  SmallVector<int64_t> ids = {model.batch, model.sequence};
  ModelBuilder::Scope scope(model, name);
  wordEmbeddings = model.tokenTable(name + ".word_embeddings.weight");
  Init init = {Init::Normal, config.initializerRange};
  if (family.countsPositions)
    init.zeroRow = config.paddingToken;
  Value positions = model.parameter(name + ".position_embeddings.weight",
                                    {config.firstPosition + config.positionCount, hidden}, init);
  Value types;
  const bool hasTypes = family.tokenTypes == TokenTypes::First ||
                        (family.tokenTypes == TokenTypes::Given && config.hasBinaryHead);
  if (hasTypes)
    types = model.weight(name + ".token_type_embeddings.weight", {config.typeVocabSize, hidden});
  Value inputIds = model.batchArgument("input_ids", ids, config.vocabSize);
  Value typeIds;
  if (types && family.tokenTypes == TokenTypes::Given)
    typeIds = model.batchArgument("token_type_ids", ids, config.typeVocabSize);
  Value x = model.embedding(wordEmbeddings, inputIds, config.paddingToken);
  if (types) {
    ModelBuilder::Scope scope(model, "token_types");
    x = emit.add(x, typeIds ? model.embedding(types, typeIds) : firstRow(types, x));
  }
  if (family.countsPositions)
    x = addCountedPositions(x, positions, inputIds);
  else
    x = model.addPositions(x, positions);
  if (!family.normalizesFirst)
    x = model.layerNorm(x, name + ".LayerNorm");
  return model.dropout(x, config.embeddingDropout);
}

/// The first row of `table` for each token of x.
Value Encoder::firstRow(Value table, Value x) {
  Value row = emit.reshape(emit.sliceDim(table, 0, 0, 1), {config.hiddenSize});
  return emit.broadcast(row, {2}, emit.shapeOf(x));
}

Value Encoder::addCountedPositions(Value x, Value table, Value ids) {
  ModelBuilder::Scope scope(model, "positions");
  const int64_t sequence = model.sequence, padding = *config.paddingToken;
  Type f32 = emit.builder.getF32Type(), word = emit.builder.getI32Type();
  Value counts =
      emit.compare(stablehlo::ComparisonDirection::NE, ids, emit.splatLike(ids, padding));
  counts = emit.convert(counts, f32);
  // A product with a triangle of ones counts the tokens up to each position. The numbers are exact
  // below 2^24.
  Value before =
      emit.compare(stablehlo::ComparisonDirection::LE, emit.iota({sequence, sequence}, word, 0),
                   emit.iota({sequence, sequence}, word, 1));
  Value sums = emit.dot(counts, emit.convert(before, f32), {{}, {}, {1}, {0}});
  Value rows = emit.offset(emit.convert(emit.mul(sums, counts), word), padding);
  return emit.add(x, model.embedding(table, rows, padding));
}

Value Encoder::attentionBias() {
  ModelBuilder::Scope scope(model, root + "/attention_mask");
  Value mask = model.batchArgument("attention_mask", {model.batch, model.sequence}, 2);
  Value visible = emit.convert(mask, emit.builder.getF32Type());
  Value hidden = emit.sub(emit.splatLike(visible, 1.0), visible);
  return emit.scale(hidden, std::numeric_limits<float>::lowest());
}

Value Encoder::addBranch(Value x, Value branch, const Twine &name, bool drops) {
  if (drops)
    branch = model.dropout(branch, config.hiddenDropout);
  if (family.normalizesFirst)
    return model.addResidual(x, branch);
  return model.layerNorm(model.addResidual(branch, x), name);
}

Value Encoder::attention(Value x, Value bias, const std::string &name, int64_t index) {
  ModelBuilder::Scope scope(model, "attention");
  Value input = normalizedInput(x, name + "." + family.attentionNorm);
  auto projected = [&](StringRef scopeName, StringRef which) {
    ModelBuilder::Scope scope(model, scopeName);
    return dense(input, name + "." + which, config.hiddenSize);
  };
  Value query = projected("query", family.query);
  Value key = projected("key", family.key);
  Value value = projected("value", family.value);
  Value context = model.attention(query, key, value, bias, {0, 3}, std::nullopt, index);
  ModelBuilder::Scope outputScope(model, "output");
  Value out = dense(context, name + "." + family.out, config.hiddenSize, model.residualDeviation());
  return addBranch(x, out, name + "." + family.attentionNorm, family.dropsAttentionOutput);
}

Value Encoder::feedForward(Value x, const std::string &name) {
  Value inner = normalizedInput(x, name + "." + family.mlpNorm);
  {
    ModelBuilder::Scope scope(model, "intermediate");
    inner = dense(inner, name + "." + family.up, config.intermediateSize);
    inner = model.activation(inner, config.activation);
  }
  ModelBuilder::Scope outputScope(model, "output");
  Value out = dense(inner, name + "." + family.down, config.hiddenSize, model.residualDeviation());
  return addBranch(x, out, name + "." + family.mlpNorm);
}

Value Encoder::layer(Value x, Value bias, int64_t index) {
  std::string name = family.block.str() + std::to_string(index);
  ModelBuilder::Scope scope(model, name);
  return feedForward(attention(x, bias, name, index), name);
}

Value Encoder::blocks(Value x) {
  Value bias = attentionBias();
  for (int64_t i = 0; i < config.layerCount; ++i) {
    model.setBlock(i + 1);
    x = layer(x, bias, i);
  }
  model.setBlock(config.layerCount + 1);
  if (!family.normalizesFirst)
    return x;
  ModelBuilder::Scope scope(model, root + ".encoder");
  return model.layerNorm(x, root + ".encoder.ln");
}

Value Encoder::maskedLmLoss(Value x) {
  ModelBuilder::Scope scope(model, family.headScope);
  Value h = dense(x, family.headDense, config.hiddenSize);
  h = model.layerNorm(model.activation(h, config.headActivation), family.headNorm);
  Value decoder = config.tieWordEmbeddings ? wordEmbeddings
                                           : model.weight(family.decoder + ".weight",
                                                          {config.vocabRows, config.hiddenSize});
  Value logits = model.addBias(model.project(h, decoder), family.headBias);
  Value labels = model.batchArgument("labels", {model.batch, model.sequence}, config.vocabSize);
  model.measureCorrect("masked_lm", logits, labels, -100);
  return model.crossEntropy(logits, labels, -100);
}

Value Encoder::nextSentenceLoss(Value x) {
  ModelBuilder::Scope scope(model, "cls.seq_relationship");
  Value pooled = dense(firstToken(x), root + ".pooler.dense", config.hiddenSize);
  pooled = model.activation(pooled, Activation::Tanh);
  Value logits = dense(pooled, "cls.seq_relationship", 2);
  Value labels = model.batchArgument("next_sentence_label", {model.batch}, 2);
  model.measureCorrect("next_sentence", logits, labels, -100);
  return model.crossEntropy(logits, labels, -100);
}

Value Encoder::preTrainingLoss(Value x) {
  Value maskedLm = maskedLmLoss(x);
  if (!config.hasBinaryHead)
    return maskedLm;
  Value nextSentence = nextSentenceLoss(x);
  model.measure("lm_loss", maskedLm);
  model.measure("next_sentence_loss", nextSentence);
  ModelBuilder::Scope scope(model, "loss");
  return emit.add(maskedLm, nextSentence);
}

Value Encoder::spanLoss(Value x) {
  ModelBuilder::Scope scope(model, "qa_outputs");
  int64_t batch = model.batch, sequence = model.sequence;
  Value logits = dense(model.dropout(x, config.spanDropout), "qa_outputs", 2);
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

Value Encoder::classLoss(Value x) {
  ModelBuilder::Scope scope(model, "classifier");
  Value first = firstToken(x);
  if (family.dropsClassInput)
    first = model.dropout(first, config.classDropout);
  Value inner =
      model.activation(dense(first, family.classDense, config.hiddenSize), family.classActivation);
  inner = model.dropout(inner, config.classDropout);
  return model.classLoss(dense(inner, family.classOut, config.labelCount));
}

Value Encoder::tokenClassLoss(Value x) {
  ModelBuilder::Scope scope(model, "classifier");
  x = model.dropout(x, config.tokenClassDropout);
  return model.tokenClassLoss(dense(x, "classifier", config.labelCount));
}

Value st::buildEncoder(ModelBuilder &model, const EncoderFamily &family, Task task) {
  Encoder encoder(model, family);
  Value x = encoder.blocks(encoder.embeddings());
  switch (task) {
  case Task::Encode:
    return x;
  case Task::Span:
    return encoder.spanLoss(x);
  case Task::Classify:
    return encoder.classLoss(x);
  case Task::ClassifyTokens:
    return encoder.tokenClassLoss(x);
  default:
    return encoder.preTrainingLoss(x);
  }
}
