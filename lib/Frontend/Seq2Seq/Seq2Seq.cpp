//===- Seq2Seq.cpp - Encoders with decoders of every family ---------------===//

#include "lib/Frontend/Seq2Seq/RelativePositions.h"
#include "lib/Frontend/Seq2Seq/Seq2SeqFamily.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::st;
using stablehlo::ComparisonDirection;

namespace {
/// The model that a family describes, and the loss of its target.
class Seq2Seq {
public:
  Seq2Seq(ModelBuilder &model, const Seq2SeqFamily &family)
      : model(model), emit(model.emit), config(model.config), family(family) {}

  Value encode();
  /// The states of the target's positions; `memory` is the encoder's result.
  Value decode(Value memory);
  Value loss(Value x);

private:
  /// The encoder or the decoder.
  struct Stack {
    std::string name;
    int64_t layerCount, headCount, intermediateSize, sequence;
    BranchNames mlp;
    /// The addends of scores: the bias of hidden positions, and the rows of the table of relative
    /// positions for the distances of all pairs of positions.
    ScoreBias mask;
    Value relativeTable, distances;
  };

  /// Declares the parameters that all blocks of a stack share.
  void declareShared(Stack &stack);
  Value embed(const Stack &stack, Value ids, Value positions);
  /// The inputs of the decoder: a start token, then the target's tokens.
  Value shiftedLabels();
  Value norm(Value x, const Twine &name);
  /// x + dropout(branch(x)), with a norm before the branch or after the sum.
  Value addBranch(Value x, const Twine &normName, function_ref<Value(Value)> branch);
  Value dense(Value x, const Twine &name, int64_t outSize, bool hasBias, double deviationScale = 1);
  /// Attention of x to `memory`.
  Value attention(const Stack &stack, Value x, Value memory, const std::string &name,
                  ArrayRef<ScoreBias> biases);
  Value mlp(const Stack &stack, Value x, const std::string &prefix);
  Value block(const Stack &stack, Value x, Value memory, int64_t layer);
  /// The parameter's bias of each head and pair of positions: [heads, S, S].
  ScoreBias relativeBias(const Stack &stack);
  /// The lowest number for the source's padding, 0 for its tokens: [B, S].
  Value paddingBias();

  ModelBuilder &model;
  Emitter &emit;
  const ModelConfig &config;
  const Seq2SeqFamily &family;
  Value wordEmbeddings, labels;
  ScoreBias sourceMask;
  int64_t blockIndex = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Embeddings and positions
//===----------------------------------------------------------------------===//

void Seq2Seq::declareShared(Stack &stack) {
  if (!family.hasRelativePositions)
    return;
  const std::string name = (stack.name + Twine(".") + family.block + ".0." +
                            family.selfAttention.module + "." + family.relativeTable)
                               .str();
  stack.relativeTable = model.parameter(
      name + ".weight", {config.relativePositions.bucketCount, stack.headCount},
      {Init::Normal, config.initializerRange / std::sqrt(double(config.hiddenSize))});
  ModelBuilder::Scope scope(model, stack.name + "/relative_positions");
  stack.distances = emitBuckets(emit, config.relativePositions, stack.sequence,
                                /*isBidirectional=*/stack.name == family.encoder);
}

ScoreBias Seq2Seq::relativeBias(const Stack &stack) {
  ModelBuilder::Scope scope(model, family.relativeTable);
  // A product instead of a lookup: it shards over the heads, and so does its gradient.
  return {emit.dot(stack.relativeTable, stack.distances, {{}, {}, {0}, {2}}), {1, 2, 3}};
}

Value Seq2Seq::embed(const Stack &stack, Value ids, Value positions) {
  Value x = model.embedding(wordEmbeddings, ids, config.paddingToken);
  if (config.scalesEmbeddings)
    x = emit.scale(x, std::sqrt(static_cast<double>(config.hiddenSize)));
  if (positions)
    x = model.addPositions(x, positions, config.firstPosition);
  if (!family.embeddingNorm.empty())
    x = norm(x, stack.name + "." + family.embeddingNorm);
  return model.dropout(x, config.embeddingDropout);
}

Value Seq2Seq::paddingBias() {
  ModelBuilder::Scope scope(model, family.encoder + "/attention_mask");
  Value mask = model.batchArgument("attention_mask", {model.batch, model.sequence}, 2);
  Value visible = emit.convert(mask, emit.builder.getF32Type());
  Value hidden = emit.sub(emit.splatLike(visible, 1.0), visible);
  return emit.scale(hidden, std::numeric_limits<float>::lowest());
}

Value Seq2Seq::shiftedLabels() {
  ModelBuilder::Scope scope(model, "shift_right");
  const int64_t length = model.targetSequence;
  Value start = emit.splat(RankedTensorType::get({model.batch, 1}, emit.builder.getI32Type()),
                           static_cast<double>(config.decoder.startToken));
  if (length == 1)
    return start;
  Value earlier = emit.sliceDim(labels, 1, 0, length - 1);
  Value isIgnored = emit.compare(ComparisonDirection::EQ, earlier, emit.splatLike(earlier, -100));
  Value padding = emit.splatLike(earlier, static_cast<double>(config.decoder.paddingToken));
  return emit.concatenate({start, emit.select(isIgnored, padding, earlier)}, 1);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Value Seq2Seq::norm(Value x, const Twine &name) {
  return family.norm == Norm::Layer ? model.layerNorm(x, name) : model.rmsNorm(x, name);
}

Value Seq2Seq::addBranch(Value x, const Twine &normName, function_ref<Value(Value)> branch) {
  Value out = branch(family.normalizesFirst ? norm(x, normName) : x);
  x = model.addResidual(x, model.dropout(out, config.hiddenDropout));
  return family.normalizesFirst ? x : norm(x, normName);
}

Value Seq2Seq::dense(Value x, const Twine &name, int64_t outSize, bool hasBias,
                     double deviationScale) {
  double deviation = config.initializerRange;
  if (family.initializesByInputs)
    deviation *= deviationScale / std::sqrt(static_cast<double>(emit.shapeOf(x).back()));
  return model.dense(x, name, outSize, WeightLayout::OutIn, deviation, hasBias);
}

Value Seq2Seq::attention(const Stack &stack, Value x, Value memory, const std::string &name,
                         ArrayRef<ScoreBias> biases) {
  const int64_t size =
      stack.headCount == config.headCount ? config.headSize : config.hiddenSize / stack.headCount;
  auto projected = [&](Value input, StringRef which, double deviationScale = 1) {
    Value product = dense(input, name + "." + which, stack.headCount * size, config.attentionBias,
                          deviationScale);
    return model.splitHeads(product, size);
  };
  Value query = projected(x, family.query, 1 / std::sqrt(static_cast<double>(size)));
  Value key = projected(memory, family.key), value = projected(memory, family.value);
  const double scale = config.scalesAttention ? 1.0 / std::sqrt(static_cast<double>(size)) : 1.0;
  Value context = model.attention(query, key, value, biases, scale);
  return dense(context, name + "." + family.out, config.hiddenSize, config.attentionOutBias);
}

Value Seq2Seq::mlp(const Stack &stack, Value x, const std::string &prefix) {
  const StringRef up = config.gatesMlp ? family.gatedUp : family.up;
  Value inner, gate;
  if (config.gatesMlp)
    gate = dense(x, prefix + family.gate, stack.intermediateSize, config.mlpBias);
  inner = dense(x, prefix + up, stack.intermediateSize, config.mlpBias);
  (gate ? gate : inner) = model.activation(gate ? gate : inner, config.activation);
  if (gate) {
    ModelBuilder::Scope scope(model, "gate");
    inner = emit.mul(gate, inner);
  }
  inner = model.dropout(inner, config.activationDropout);
  return dense(inner, prefix + family.down, config.hiddenSize, config.mlpBias);
}

Value Seq2Seq::block(const Stack &stack, Value x, Value memory, int64_t layer) {
  const std::string name = stack.name + "." + family.block.str() + "." + std::to_string(layer);
  ModelBuilder::Scope scope(model, name);
  auto named = [&](StringRef part) { return name + "." + part.str(); };
  {
    const BranchNames &names = family.selfAttention;
    ModelBuilder::Scope scope(model, names.module);
    x = addBranch(x, named(names.norm), [&](Value input) {
      SmallVector<ScoreBias> biases;
      if (stack.relativeTable)
        biases.push_back(relativeBias(stack));
      biases.push_back(stack.mask);
      return attention(stack, input, input, named(names.module), biases);
    });
  }
  if (memory) {
    const BranchNames &names = family.crossAttention;
    ModelBuilder::Scope scope(model, names.module);
    x = addBranch(x, named(names.norm), [&](Value input) {
      return attention(stack, input, memory, named(names.module), sourceMask);
    });
  }
  ModelBuilder::Scope mlpScope(model, stack.mlp.module.empty() ? "mlp" : stack.mlp.module);
  const std::string prefix = stack.mlp.module.empty() ? named("") : named(stack.mlp.module) + ".";
  return addBranch(x, named(stack.mlp.norm),
                   [&](Value input) { return mlp(stack, input, prefix); });
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

/// The parameter of a stack's positions; null if it has none.
static Value positionTable(ModelBuilder &model, StringRef stack, StringRef name) {
  if (name.empty())
    return {};
  const ModelConfig &config = model.config;
  return model.weight(stack + "." + name + ".weight",
                      {config.firstPosition + config.positionCount, config.hiddenSize});
}

Value Seq2Seq::encode() {
  Stack stack{family.encoder.str(),
              config.layerCount,
              config.headCount,
              config.intermediateSize,
              model.sequence,
              family.encoderMlp,
              {},
              {},
              {}};
  Value x;
  {
    ModelBuilder::Scope scope(model, stack.name + ".embeddings");
    wordEmbeddings = model.tokenTable(family.tokens + ".weight");
    Value positions = positionTable(model, stack.name, family.positions);
    Value ids = model.batchArgument("input_ids", {model.batch, model.sequence}, config.vocabSize);
    x = embed(stack, ids, positions);
  }
  declareShared(stack);
  stack.mask = sourceMask = {paddingBias(), {0, 3}};
  for (int64_t i = 0; i < stack.layerCount; ++i) {
    model.setBlock(++blockIndex);
    x = block(stack, x, /*memory=*/{}, i);
  }
  model.setBlock(++blockIndex);
  if (family.finalNorm.empty())
    return x;
  ModelBuilder::Scope scope(model, stack.name);
  return model.dropout(norm(x, stack.name + "." + family.finalNorm), config.hiddenDropout);
}

Value Seq2Seq::decode(Value memory) {
  const DecoderConfig &sizes = config.decoder;
  Stack stack{family.decoder.str(),
              sizes.layerCount,
              sizes.headCount,
              sizes.intermediateSize,
              model.targetSequence,
              family.decoderMlp,
              {},
              {},
              {}};
  Value x;
  {
    ModelBuilder::Scope scope(model, stack.name + ".embeddings");
    Value positions = positionTable(model, stack.name, family.positions);
    labels = model.batchArgument("labels", {model.batch, model.targetSequence}, config.vocabSize);
    x = embed(stack, shiftedLabels(), positions);
  }
  declareShared(stack);
  {
    ModelBuilder::Scope scope(model, stack.name + "/causal_mask");
    stack.mask = {model.causalBias(std::nullopt, model.targetSequence), {2, 3}};
  }
  for (int64_t i = 0; i < stack.layerCount; ++i) {
    model.setBlock(++blockIndex);
    x = block(stack, x, memory, i);
  }
  model.setBlock(++blockIndex);
  if (family.finalNorm.empty())
    return x;
  ModelBuilder::Scope scope(model, stack.name);
  return model.dropout(norm(x, stack.name + "." + family.finalNorm), config.hiddenDropout);
}

Value Seq2Seq::loss(Value x) {
  ModelBuilder::Scope scope(model, family.head);
  if (config.scalesHeadInput)
    x = emit.scale(x, 1.0 / std::sqrt(static_cast<double>(config.hiddenSize)));
  Value head = config.tieWordEmbeddings
                   ? wordEmbeddings
                   : model.weight(family.head + ".weight", {config.vocabRows, config.hiddenSize});
  Value logits = model.project(x, head);
  if (!family.headBias.empty()) {
    Value bias = model.frozenParameter(family.headBias, {1, config.vocabRows}, {Init::Zeros});
    bias = emit.reshape(bias, {config.vocabRows});
    logits = emit.add(logits, emit.broadcast(bias, {2}, emit.shapeOf(logits)));
  }
  model.measureCorrect("token", logits, labels, -100);
  return model.crossEntropy(logits, labels, -100);
}

Value st::buildSeq2Seq(ModelBuilder &model, const Seq2SeqFamily &family) {
  Seq2Seq builder(model, family);
  return builder.loss(builder.decode(builder.encode()));
}
