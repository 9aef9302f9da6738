//===- Decoder.cpp - Causal language models of every family ---------------===//

#include "lib/Frontend/DecoderFamily.h"
#include "lib/Frontend/Experts.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::st;

namespace {
/// The decoder that a family describes, and the loss of its next tokens.
class Decoder {
public:
  Decoder(ModelBuilder &model, const DecoderFamily &family)
      : model(model), emit(model.emit), config(model.config), family(family) {}

  Value embeddings();
  Value blocks(Value x);
  Value loss(Value x);
  Value classLoss(Value x);
  Value tokenClassLoss(Value x);

private:
  /// The last token of each text, [B, H]; the tokens after it are padding.
  Value lastToken(Value x);
  /// Values that the branches of all blocks read.
  struct Shared {
    ScoreBias mask;
    ScoreBias windowMask; ///< the same for layers that attend to a window; null if no layer does
    /// The cosines and sines of each position's angles, [S, r / 2] or [B, S, r / 2]; null without
    /// rotation.
    Value cosines, sines;
  };
  Shared sharedValues();
  ScoreBias mask(std::optional<int64_t> window);
  Value block(Value x, const Shared &shared, int64_t layer);
  Value norm(Value x, const Twine &name);
  /// The input of a head: x, normalised and projected to the size of embeddings if the model does.
  Value outputs(Value x);
  /// The product with the parameters `<prefix>.<name>`, in a scope of that name if the family has
  /// one.
  Value dense(Value x, const Twine &prefix, StringRef name, int64_t outSize, bool hasBias,
              std::optional<double> standardDeviation = std::nullopt);
  /// Queries, keys and values, [B, S, heads * d] or [B, S, heads, d].
  SmallVector<Value, 3> project(Value x, const std::string &name);
  /// The parts of a product [B, S, ...] whose rows are [groups, queries of a group + 2, d].
  SmallVector<Value, 3> splitGroups(Value joined);
  Value attention(Value x, const Shared &shared, const std::string &name, int64_t layer);
  /// The inner layer of an MLP with the parameters `name`, after its activation.
  Value innerLayer(Value x, const std::string &name, int64_t innerSize);
  /// The MLP whose parameters have the prefix `name`.
  Value mlp(Value x, const std::string &name, int64_t innerSize);
  /// The MLP of a block, or its mixture of experts.
  Value secondBranch(Value x, const std::string &block, int64_t layer);
  Value experts(Value x, const std::string &block);
  /// Rotates element i of the first r of each head of x [B, S, h, d] with element i + r / 2.
  Value rotate(Value x, const Shared &shared);
  /// x [B, S, kv, d] with each head repeated for the queries that share it.
  Value repeatHeads(Value x);

  ModelBuilder &model;
  Emitter &emit;
  const ModelConfig &config;
  const DecoderFamily &family;
  Value wordEmbeddings, inputIds;
  /// Inputs of the batch according to CausalInputs: [B], [B, S] and [B, S], or null.
  Value prefixLengths, positionIds, segmentIds;
  RouterSums routerSums;
};
} // namespace

//===----------------------------------------------------------------------===//
// Embeddings and positions
//===----------------------------------------------------------------------===//

Value Decoder::embeddings() {
  ModelBuilder::Scope scope(model, family.embeddingScope);
  wordEmbeddings = model.tokenTable(family.tokens + ".weight");
  Value positions;
  if (!family.positions.empty())
    positions = model.weight(family.positions + ".weight",
                             {config.positionCount + config.firstPosition, config.hiddenSize});
  inputIds = model.batchArgument("input_ids", {model.batch, model.sequence}, config.vocabSize);
  if (config.inputs.positions)
    positionIds =
        model.batchArgument("position_ids", {model.batch, model.sequence}, model.sequence);
  if (config.inputs.prefix)
    prefixLengths = model.batchArgument("prefix_length", {model.batch}, model.sequence + 1);
  if (config.inputs.segments)
    segmentIds = model.batchArgument("segment_ids", {model.batch, model.sequence}, model.sequence);
  Value x = model.embedding(wordEmbeddings, inputIds, config.paddingToken);
  if (config.embeddingSize)
    x = model.project(
        x, model.weight(family.projectIn + ".weight", {config.hiddenSize, *config.embeddingSize}));
  if (family.scalesEmbeddings)
    x = emit.scale(x, std::sqrt(static_cast<double>(config.hiddenSize)));
  if (positions && positionIds)
    x = emit.add(x, model.gatherRows(positions, emit.offset(positionIds, config.firstPosition)));
  else if (positions)
    x = model.addPositions(x, positions, config.firstPosition);
  return model.dropout(x, config.embeddingDropout);
}

/// The index of the pair of elements that turns `waves` times in the original positions; pair i
/// turns by theta^(-i / half) radians per position.
static double pairOfWaves(const RotaryPositions &rotary, int64_t half, double waves) {
  constexpr double pi = 3.14159265358979323846;
  return half * std::log(rotary.originalPositions / (waves * 2.0 * pi)) / std::log(rotary.theta);
}

/// The angle of pair `i` of `half` per position, in radians, as in transformers'
/// modeling_rope_utils.
static double getFrequency(const RotaryPositions &rotary, int64_t i, int64_t half) {
  constexpr double pi = 3.14159265358979323846;
  const double frequency = std::pow(rotary.theta, -static_cast<double>(i) / half);
  // The unchanged part of the frequency; the rest is scaled.
  double kept = 0.0;
  switch (rotary.scaling) {
  case RotaryPositions::None:
    return frequency;
  case RotaryPositions::Linear:
    break;
  case RotaryPositions::Llama3: {
    // Short wavelengths are unchanged, long ones are scaled, and those between are interpolated.
    const double waves = rotary.originalPositions * frequency / (2.0 * pi);
    kept = (waves - rotary.lowFrequencyFactor) /
           (rotary.highFrequencyFactor - rotary.lowFrequencyFactor);
    break;
  }
  case RotaryPositions::Yarn: {
    double first = pairOfWaves(rotary, half, rotary.betaFast),
           last = pairOfWaves(rotary, half, rotary.betaSlow);
    if (rotary.truncates) {
      first = std::floor(first);
      last = std::ceil(last);
    }
    first = std::max(first, 0.0);
    last = std::min(last, 2.0 * half - 1.0);
    if (first == last)
      last += 0.001;
    kept = 1.0 - (i - first) / (last - first);
    break;
  }
  }
  kept = std::clamp(kept, 0.0, 1.0);
  return kept * frequency + (1.0 - kept) * frequency / rotary.factor;
}

ScoreBias Decoder::mask(std::optional<int64_t> window) {
  if (!prefixLengths && !segmentIds)
    return {model.causalBias(window), {2, 3}};
  using stablehlo::ComparisonDirection;
  const SmallVector<int64_t> shape = {model.batch, model.sequence, model.sequence};
  Type word = emit.builder.getI32Type();
  Value rows = emit.iota(shape, word, 1), columns = emit.iota(shape, word, 2);
  Value visible = emit.compare(ComparisonDirection::GE, rows, columns);
  if (prefixLengths)
    visible = emit.bitOr(visible, emit.compare(ComparisonDirection::LT, columns,
                                               model.broadcastLeading(prefixLengths, shape)));
  if (window && *window < model.sequence)
    visible = emit.bitAnd(
        visible, emit.compare(ComparisonDirection::LT, rows, emit.offset(columns, *window)));
  if (segmentIds)
    visible = emit.bitAnd(visible, emit.compare(ComparisonDirection::EQ,
                                                emit.broadcast(segmentIds, {0, 1}, shape),
                                                emit.broadcast(segmentIds, {0, 2}, shape)));
  return {model.scoreBias(visible), {0, 2, 3}};
}

Decoder::Shared Decoder::sharedValues() {
  ModelBuilder::Scope scope(model, family.root + "/causal_mask");
  Shared shared;
  SmallVector<bool, 2> exists(2, false);
  for (int64_t i = 0; i < config.layerCount; ++i)
    exists[config.hasWindow(i)] = true;
  if (exists[false])
    shared.mask = mask(std::nullopt);
  if (exists[true])
    shared.windowMask = mask(config.slidingWindow);
  if (!family.hasRotaryPositions)
    return shared;
  const int64_t half = config.rotatedSize() / 2;
  std::vector<float> cosine, sine;
  for (int64_t position = 0; position < model.sequence; ++position)
    for (int64_t i = 0; i < half; ++i) {
      const double angle = position * getFrequency(config.rotary, i, half);
      cosine.push_back(static_cast<float>(std::cos(angle) * config.rotary.attentionFactor));
      sine.push_back(static_cast<float>(std::sin(angle) * config.rotary.attentionFactor));
    }
  auto type = RankedTensorType::get({model.sequence, half}, emit.builder.getF32Type());
  shared.cosines = emit.constant(DenseElementsAttr::get(type, ArrayRef(cosine)));
  shared.sines = emit.constant(DenseElementsAttr::get(type, ArrayRef(sine)));
  if (positionIds)
    for (Value *table : {&shared.cosines, &shared.sines})
      *table = model.gatherRows(*table, positionIds);
  return shared;
}

Value Decoder::rotate(Value x, const Shared &shared) {
  ModelBuilder::Scope scope(model, "rotary");
  const int64_t rotated = config.rotatedSize(), half = rotated / 2;
  Value first = emit.sliceDim(x, 3, 0, half), second = emit.sliceDim(x, 3, half, rotated);
  SmallVector<int64_t> dims = {1, 3};
  if (positionIds)
    dims.insert(dims.begin(), 0);
  Value cosine = emit.broadcast(shared.cosines, dims, emit.shapeOf(first));
  Value sine = emit.broadcast(shared.sines, dims, emit.shapeOf(first));
  SmallVector<Value> parts = {emit.sub(emit.mul(first, cosine), emit.mul(second, sine)),
                              emit.add(emit.mul(second, cosine), emit.mul(first, sine))};
  if (rotated < config.headSize)
    parts.push_back(emit.sliceDim(x, 3, rotated, config.headSize));
  return emit.concatenate(parts, 3);
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Value Decoder::norm(Value x, const Twine &name) {
  if (family.norm == Norm::Layer || family.norm == Norm::LayerPlusOne)
    return model.layerNorm(x, name, /*isPlusOne=*/family.norm == Norm::LayerPlusOne);
  return model.rmsNorm(x, name, /*isPlusOne=*/family.norm == Norm::RmsPlusOne);
}

Value Decoder::dense(Value x, const Twine &prefix, StringRef name, int64_t outSize, bool hasBias,
                     std::optional<double> standardDeviation) {
  std::optional<ModelBuilder::Scope> scope;
  if (family.scopesProducts)
    scope.emplace(model, name);
  return model.dense(x, prefix + "." + name, outSize, family.layout, standardDeviation, hasBias);
}

Value Decoder::repeatHeads(Value x) {
  int64_t shared = config.headCount / config.keyValueHeadCount;
  if (shared == 1)
    return x;
  ModelBuilder::Scope scope(model, "repeat_heads");
  SmallVector<int64_t> shape(emit.shapeOf(x));
  Value repeated =
      emit.broadcast(x, {0, 1, 2, 4}, {shape[0], shape[1], shape[2], shared, shape[3]});
  return emit.reshape(repeated, {shape[0], shape[1], config.headCount, shape[3]});
}

SmallVector<Value, 3> Decoder::project(Value x, const std::string &name) {
  const int64_t size = config.headSize, queries = config.headCount * size,
                others = config.keyValueHeadCount * size;
  if (family.projections == Projections::Separate) {
    auto projected = [&](StringRef which, int64_t outSize) {
      Value result = dense(x, name, which, outSize, config.attentionBias);
      return family.hasRotaryPositions ? model.splitHeads(result) : result;
    };
    return {projected(family.query, queries), projected(family.key, others),
            projected(family.value, others)};
  }
  Value joined = dense(x, name, family.joined, queries + 2 * others, config.attentionBias);
  if (family.projections == Projections::ByHead)
    return splitGroups(joined);
  ModelBuilder::Scope scope(model, "split_qkv");
  return {emit.sliceDim(joined, 2, 0, queries), emit.sliceDim(joined, 2, queries, queries + others),
          emit.sliceDim(joined, 2, queries + others, queries + 2 * others)};
}

SmallVector<Value, 3> Decoder::splitGroups(Value joined) {
  const int64_t size = config.headSize, groups = config.keyValueHeadCount,
                queries = config.headCount / groups * size;
  {
    ModelBuilder::Scope scope(model, "split_heads");
    joined = emit.reshape(joined, {model.batch, model.sequence, groups, queries + 2 * size});
  }
  ModelBuilder::Scope scope(model, "split_qkv");
  Value query = emit.sliceDim(joined, 3, 0, queries);
  if (queries != size)
    query = emit.reshape(query, {model.batch, model.sequence, config.headCount, size});
  return {query, emit.sliceDim(joined, 3, queries, queries + size),
          emit.sliceDim(joined, 3, queries + size, queries + 2 * size)};
}

Value Decoder::attention(Value x, const Shared &shared, const std::string &block, int64_t layer) {
  const std::string name = block + "." + family.attention.str();
  SmallVector<Value, 3> projected = project(x, name);
  Value query = projected[0], key = projected[1], value = projected[2];
  if (family.normalizesHeads) {
    query = norm(query, name + "." + family.queryNorm);
    key = norm(key, name + "." + family.keyNorm);
  }
  if (family.hasRotaryPositions) {
    query = rotate(query, shared);
    key = rotate(key, shared);
  }
  if (config.keyValueHeadCount != config.headCount) {
    key = repeatHeads(model.splitHeads(key));
    value = repeatHeads(model.splitHeads(value));
  }
  double scale = config.scalesAttention ? 1.0 / std::sqrt(config.headSize) : 1.0;
  if (config.scalesAttentionByLayer)
    scale /= layer + 1;
  const ScoreBias &mask = config.hasWindow(layer) ? shared.windowMask : shared.mask;
  Value context = model.attention(query, key, value, ArrayRef(mask), scale, layer);
  std::optional<ModelBuilder::Scope> scope;
  Value out = dense(context, name, family.out, config.hiddenSize, config.attentionOutBias,
                    model.residualDeviation());
  if (family.scopesProducts)
    scope.emplace(model, family.out);
  return model.dropout(out, config.hiddenDropout);
}

Value Decoder::innerLayer(Value x, const std::string &name, int64_t innerSize) {
  Value inner, gate;
  if (!family.gate.empty())
    gate = dense(x, name, family.gate, innerSize, config.mlpBias);
  inner = dense(x, name, family.up, family.joinsGate ? 2 * innerSize : innerSize, config.mlpBias);
  if (family.joinsGate) {
    ModelBuilder::Scope scope(model, "split_gate");
    gate = emit.sliceDim(inner, 2, 0, innerSize);
    inner = emit.sliceDim(inner, 2, innerSize, 2 * innerSize);
  }
  {
    std::optional<ModelBuilder::Scope> scope;
    if (family.scopesProducts)
      scope.emplace(model, family.up);
    (gate ? gate : inner) = model.activation(gate ? gate : inner, config.activation);
  }
  if (!gate)
    return inner;
  ModelBuilder::Scope scope(model, "gate");
  return emit.mul(gate, inner);
}

Value Decoder::mlp(Value x, const std::string &name, int64_t innerSize) {
  Value inner = innerLayer(x, name, innerSize);
  Value out =
      dense(inner, name, family.down, config.hiddenSize, config.mlpBias, model.residualDeviation());
  std::optional<ModelBuilder::Scope> scope;
  if (family.scopesProducts)
    scope.emplace(model, family.down);
  return model.dropout(out, config.hiddenDropout);
}

Value Decoder::experts(Value x, const std::string &block) {
  auto named = [&](StringRef name) { return block + "." + name.str(); };
  const std::string experts = named(family.experts) + ".*.";
  const std::string gateName = family.expertGate.empty() ? "" : experts + family.expertGate.str();
  const ExpertNames names = {named(family.router), gateName, experts + family.expertUp.str(),
                             experts + family.expertDown.str(), family.joinsGate};
  Value out = buildExperts(model, x, names, routerSums);
  if (family.sharedExpert.empty())
    return out;
  ModelBuilder::Scope scope(model, "shared_expert");
  if (family.sharedGate.empty())
    return emit.add(out, mlp(x, named(family.sharedExpert), config.experts.sharedSize));
  Value gate = model.project(
      x, model.unshardedWeight(named(family.sharedGate) + ".weight", {1, config.hiddenSize}));
  Value shared = mlp(x, named(family.sharedExpert), config.experts.sharedSize);
  Value factor = emit.reshape(emit.logistic(gate), {model.batch, model.sequence});
  return emit.add(out, emit.mul(shared, model.broadcastLeading(factor, emit.shapeOf(shared))));
}

Value Decoder::secondBranch(Value x, const std::string &block, int64_t layer) {
  if (config.hasExperts(layer))
    return experts(x, block);
  return mlp(x, family.mlp.empty() ? block : block + "." + family.mlp.str(),
             config.intermediateSize);
}

Value Decoder::block(Value x, const Shared &shared, int64_t layer) {
  const std::string name = family.block.str() + std::to_string(layer);
  ModelBuilder::Scope scope(model, name);
  Value input = x, normalized, branch;
  {
    ModelBuilder::Scope scope(model, family.attention);
    normalized = config.normalizesSums ? x : norm(x, name + "." + family.attentionNorm);
    branch = attention(normalized, shared, name, layer);
    if (!config.hasParallelBranches)
      x = model.addResidual(x, branch);
    if (config.normalizesSums)
      x = normalized = norm(x, name + "." + family.attentionNorm);
  }
  ModelBuilder::Scope mlpScope(model, "mlp");
  if (!config.normalizesSums && !family.mlpNorm.empty())
    normalized = norm(config.hasParallelBranches ? input : x, name + "." + family.mlpNorm);
  Value second = secondBranch(normalized, name, layer);
  if (config.hasParallelBranches)
    second = emit.add(second, branch);
  x = model.addResidual(x, second);
  return config.normalizesSums ? norm(x, name + "." + family.mlpNorm) : x;
}

Value Decoder::blocks(Value x) {
  const Shared shared = sharedValues();
  for (int64_t i = 0; i < config.layerCount; ++i) {
    model.setBlock(i + 1);
    x = block(x, shared, i);
  }
  model.setBlock(config.layerCount + 1);
  return x;
}

Value Decoder::outputs(Value x) {
  if (config.hasFinalNorm)
    x = norm(x, family.finalNorm);
  if (config.embeddingSize)
    x = model.project(
        x, model.weight(family.projectOut + ".weight", {*config.embeddingSize, config.hiddenSize}));
  return x;
}

Value Decoder::loss(Value x) {
  ModelBuilder::Scope scope(model, family.headScope);
  x = outputs(x);
  Value head = config.tieWordEmbeddings
                   ? wordEmbeddings
                   : model.weight(family.head + ".weight", {config.vocabRows, emit.shapeOf(x)[2]});
  Value labels = model.batchArgument("labels", {model.batch, model.sequence}, config.vocabSize);
  Value logits = model.project(x, head);
  if (family.hasHeadBias)
    logits = model.addBias(logits, family.head + ".bias");
  model.measureCorrect("token", logits, labels, -100);
  Value loss = model.crossEntropy(logits, labels, -100);
  if (routerSums.layerLosses)
    loss = emit.add(loss, emit.scale(routerSums.layerLosses, config.experts.balanceCoefficient));
  if (routerSums.chosen)
    loss = emit.add(
        loss, emit.scale(buildBalanceLoss(model, routerSums), config.experts.balanceCoefficient));
  if (routerSums.squares)
    loss = emit.add(loss, emit.scale(buildZLoss(model, routerSums), config.experts.zCoefficient));
  return loss;
}

Value Decoder::lastToken(Value x) {
  using stablehlo::ComparisonDirection;
  if (!config.fillToken)
    return emit.reshape(emit.sliceDim(x, 1, model.sequence - 1, model.sequence),
                        {model.batch, emit.shapeOf(x)[2]});
  const SmallVector<int64_t> shape = {model.batch, model.sequence};
  Value places = emit.iota(shape, emit.builder.getI32Type(), 1);
  Value isText = emit.compare(ComparisonDirection::NE, inputIds,
                              emit.splatLike(inputIds, static_cast<double>(*config.fillToken)));
  Value last = emit.reduceMax(emit.select(isText, places, emit.splatLike(places, 0)), {1});
  Value isLast = emit.compare(ComparisonDirection::EQ, places, model.broadcastLeading(last, shape));
  // A sum with one term is exact in every type.
  Value picked =
      emit.select(model.broadcastLeading(isLast, emit.shapeOf(x)), x, emit.splatLike(x, 0.0));
  return emit.reduceAdd(picked, {1});
}

Value Decoder::classLoss(Value x) {
  ModelBuilder::Scope scope(model, family.classHead);
  x = lastToken(outputs(x));
  return model.classLoss(model.dense(x, family.classHead, config.labelCount, WeightLayout::OutIn,
                                     std::nullopt, /*hasBias=*/false));
}

Value Decoder::tokenClassLoss(Value x) {
  ModelBuilder::Scope scope(model, family.tokenClassHead);
  x = model.dropout(outputs(x), config.tokenClassDropout);
  return model.tokenClassLoss(
      model.dense(x, family.tokenClassHead, config.labelCount, WeightLayout::OutIn));
}

Value st::buildDecoder(ModelBuilder &model, const DecoderFamily &family, Task task) {
  Decoder decoder(model, family);
  Value x = decoder.blocks(decoder.embeddings());
  return task == Task::Classify         ? decoder.classLoss(x)
         : task == Task::ClassifyTokens ? decoder.tokenClassLoss(x)
                                        : decoder.loss(x);
}
