//===- Layers.cpp - The layers of models --------------------===//

#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/Utils/DropoutMask.h"
#include "lib/Frontend/ModelBuilder.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

/// The dimensions 0 ... count - 1.
static SmallVector<int64_t> leadingDims(int64_t count) {
  return llvm::to_vector(llvm::seq<int64_t>(0, count));
}

Value ModelBuilder::broadcastLeading(Value x, ArrayRef<int64_t> shape) {
  return emit.broadcast(x, leadingDims(emit.typeOf(x).getRank()), shape);
}

//===----------------------------------------------------------------------===//
// Dense layers and embeddings
//===----------------------------------------------------------------------===//

Value ModelBuilder::addBias(Value x, const Twine &name) {
  Scope scope(*this, "bias");
  int64_t last = emit.typeOf(x).getRank() - 1;
  Value bias = parameter(name, {emit.shapeOf(x)[last]}, {Init::Zeros},
                         /*decays=*/false);
  return emit.add(x, emit.broadcast(bias, {last}, emit.shapeOf(x)));
}

Value ModelBuilder::project(Value x, Value matrix) {
  return emit.dot(x, matrix, {{}, {}, {emit.typeOf(x).getRank() - 1}, {1}});
}

Value ModelBuilder::dense(Value x, const Twine &name, int64_t outSize, WeightLayout layout,
                          std::optional<double> standardDeviation, bool hasBias) {
  int64_t last = emit.typeOf(x).getRank() - 1;
  int64_t inSize = emit.shapeOf(x)[last];
  bool outIn = layout == WeightLayout::OutIn;
  SmallVector<int64_t> shape = {inSize, outSize};
  if (outIn)
    std::swap(shape[0], shape[1]);
  Value matrix = parameter(name + ".weight", shape,
                           {Init::Normal, standardDeviation.value_or(config.initializerRange)});
  Value product = emit.dot(x, matrix, {{}, {}, {last}, {outIn ? 1 : 0}});
  return hasBias ? addBias(product, name + ".bias") : product;
}

Value ModelBuilder::tokenTable(const Twine &name) {
  return parameter(name, {config.vocabRows, config.embeddingSize.value_or(config.hiddenSize)},
                   {Init::Normal, config.initializerRange, config.paddingToken});
}

Value ModelBuilder::embedding(Value table, Value ids, std::optional<int64_t> padding) {
  Scope scope(*this, "embedding");
  Value rows = gatherRows(table, ids);
  if (!padding)
    return rows;
  Value frozen = gatherRows(table, ids);
  frozen.getDefiningOp()->setAttr(kStopGradientAttr, builder.getUnitAttr());
  Value isPadding = emit.compare(ComparisonDirection::EQ, ids, emit.splatLike(ids, *padding));
  return emit.select(broadcastLeading(isPadding, emit.shapeOf(rows)), frozen, rows);
}

Value ModelBuilder::addPositions(Value x, Value table, int64_t first) {
  Scope scope(*this, "positions");
  Value used = emit.sliceDim(table, 0, first, first + emit.shapeOf(x)[1]);
  return emit.add(x, emit.broadcast(used, {1, 2}, emit.shapeOf(x)));
}

Value ModelBuilder::gatherRows(Value table, Value ids) {
  const int64_t hidden = emit.shapeOf(table)[1];
  SmallVector<int64_t> idShape(emit.shapeOf(ids)), shape = idShape;
  int64_t rank = shape.size();
  shape.push_back(hidden);
  idShape.push_back(1);
  auto numbers = GatherDimensionNumbersAttr::get(
      builder.getContext(), /*offsetDims=*/{rank}, /*collapsedSliceDims=*/{0},
      /*operandBatchingDims=*/{}, /*startIndicesBatchingDims=*/{},
      /*startIndexMap=*/{0}, /*indexVectorDim=*/rank);
  return GatherOp::create(builder, emit.loc, RankedTensorType::get(shape, builder.getF32Type()),
                          table, emit.reshape(ids, idShape), numbers, ArrayRef<int64_t>{1, hidden},
                          /*indices_are_sorted=*/false);
}

//===----------------------------------------------------------------------===//
// Elementwise and row layers
//===----------------------------------------------------------------------===//

Value ModelBuilder::layerNorm(Value x, const Twine &name, bool isPlusOne) {
  Scope scope(*this, "layer_norm");
  ArrayRef<int64_t> shape = emit.shapeOf(x);
  int64_t last = shape.size() - 1;
  double perElement = 1.0 / shape[last];
  auto parameterLike = [&](StringRef suffix, Init::Kind kind) {
    Value vector = parameter(name + suffix, {shape[last]}, {kind},
                             /*decays=*/false);
    if (isPlusOne && suffix == ".weight")
      vector = emit.offset(vector, 1.0);
    return emit.broadcast(vector, {last}, shape);
  };
  Value gamma = parameterLike(".weight", isPlusOne ? Init::Zeros : Init::Ones);
  Value beta = parameterLike(".bias", Init::Zeros);
  Value mean = emit.scale(emit.reduceAdd(x, {last}), perElement);
  Value centered = emit.sub(x, broadcastLeading(mean, shape));
  Value variance = emit.scale(emit.reduceAdd(emit.mul(centered, centered), {last}), perElement);
  Value inverse = emit.rsqrt(emit.offset(variance, config.layerNormEpsilon));
  Value normalized = emit.mul(centered, broadcastLeading(inverse, shape));
  return emit.add(emit.mul(normalized, gamma), beta);
}

Value ModelBuilder::rmsNorm(Value x, const Twine &name, bool isPlusOne) {
  Scope scope(*this, "rms_norm");
  ArrayRef<int64_t> shape = emit.shapeOf(x);
  int64_t last = shape.size() - 1;
  Init init = {isPlusOne ? Init::Zeros : Init::Ones};
  if (config.normInitialValue != 1.0)
    init = {Init::Constant, 0.0, std::nullopt, config.normInitialValue};
  Value gain = parameter(name + ".weight", {shape[last]}, init, /*decays=*/false);
  if (isPlusOne)
    gain = emit.offset(gain, 1.0);
  Value square = emit.scale(emit.reduceAdd(emit.mul(x, x), {last}), 1.0 / shape[last]);
  Value inverse = emit.rsqrt(emit.offset(square, config.layerNormEpsilon));
  Value normalized = emit.mul(x, broadcastLeading(inverse, shape));
  return emit.mul(normalized, emit.broadcast(gain, {last}, shape));
}

Value ModelBuilder::addResidual(Value x, Value y) {
  Scope scope(*this, "residual");
  return emit.add(x, y);
}

Value ModelBuilder::activation(Value x, Activation kind) {
  Scope scope(*this, "activation");
  switch (kind) {
  case Activation::Gelu: {
    Value erf = emit.erf(emit.scale(x, 1.0 / std::sqrt(2.0)));
    return emit.mul(emit.scale(x, 0.5), emit.offset(erf, 1.0));
  }
  case Activation::GeluTanh: {
    // sqrt(2 / pi) (x + 0.044715 x^3) with x taken out, after Hendrycks and
    // Gimpel, "Gaussian error linear units", 2016.
    constexpr double pi = 3.14159265358979323846;
    Value slope = emit.offset(emit.scale(emit.mul(x, x), 0.044715), 1.0);
    Value inner = emit.scale(emit.mul(x, slope), std::sqrt(2.0 / pi));
    return emit.mul(emit.scale(x, 0.5), emit.offset(emit.tanh(inner), 1.0));
  }
  case Activation::QuickGelu:
    return emit.mul(x, emit.logistic(emit.scale(x, 1.702)));
  case Activation::Relu: {
    // A maximum has the gradient one half at zero; that of ReLU is zero there.
    Value zeros = emit.zerosLike(x);
    return emit.select(emit.compare(ComparisonDirection::GT, x, zeros), x, zeros);
  }
  case Activation::ReluSquared: {
    Value positive = emit.max(x, emit.zerosLike(x));
    return emit.mul(positive, positive);
  }
  case Activation::Silu:
    return emit.mul(x, emit.logistic(x));
  case Activation::Tanh:
    return emit.tanh(x);
  }
  llvm_unreachable("unknown activation");
}

Value ModelBuilder::dropout(Value x, double probability) {
  if (probability == 0.0)
    return x;
  Scope scope(*this, "dropout");
  const uint32_t rate = roundDropoutRate(probability);
  if (rate == 0)
    return x;
  assert(dropoutSites < kFirstAddedSite && "the other sites are those of passes");
  return emitDropout(emit, x, rngKey(), dropoutSites++, rate);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The maximum along the last dimension. Subtracting it changes neither softmax nor cross entropy,
/// so no gradient flows through it.
static Value reduceToMaximum(ModelBuilder &model, Value x) {
  int64_t last = model.emit.typeOf(x).getRank() - 1;
  Value maximum = model.emit.reduceMax(x, {last});
  maximum.getDefiningOp()->setAttr(kStopGradientAttr, UnitAttr::get(maximum.getContext()));
  return maximum;
}

/// The same, repeated along the dimension.
static Value rowMaximum(ModelBuilder &model, Value x) {
  return model.broadcastLeading(reduceToMaximum(model, x), model.emit.shapeOf(x));
}

Value ModelBuilder::logSumExp(Value x) {
  Scope scope(*this, "log_sum_exp");
  Value maximum = reduceToMaximum(*this, x);
  Value shifted = emit.sub(x, broadcastLeading(maximum, emit.shapeOf(x)));
  int64_t last = emit.typeOf(x).getRank() - 1;
  return emit.add(emit.log(emit.reduceAdd(emit.exp(shifted), {last})), maximum);
}

Value ModelBuilder::softmax(Value x) {
  Scope scope(*this, "softmax");
  int64_t last = emit.typeOf(x).getRank() - 1;
  Value exponential = emit.exp(emit.sub(x, rowMaximum(*this, x)));
  Value sum = emit.reduceAdd(exponential, {last});
  // One division per row instead of one per element, forward and backward.
  Value inverse = emit.div(emit.splatLike(sum, 1.0), sum);
  return emit.mul(exponential, broadcastLeading(inverse, emit.shapeOf(x)));
}

Value ModelBuilder::splitHeads(Value x, std::optional<int64_t> size) {
  ArrayRef<int64_t> shape = emit.shapeOf(x);
  if (shape.size() == 4)
    return x;
  Scope scope(*this, "split_heads");
  const int64_t ofHead = size.value_or(config.headSize);
  return emit.reshape(x, {shape[0], shape[1], shape[2] / ofHead, ofHead});
}

Value ModelBuilder::mergeHeads(Value x) {
  Scope scope(*this, "merge_heads");
  ArrayRef<int64_t> shape = emit.shapeOf(x);
  return emit.reshape(emit.transpose(x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

Value ModelBuilder::attentionScores(Value query, Value key, double scale) {
  Scope scope(*this, "scores");
  // Scaling by layer exists because unscaled products may overflow.
  const bool isLate = config.scalesScores.value_or(false) && !config.scalesProductsByLayer;
  query = splitHeads(isLate || scale == 1.0 ? query : emit.scale(query, scale));
  // [B, S, h, d] x [B, T, h, d] -> [B, h, S, T]
  Value scores = emit.dot(query, splitHeads(key), {{0, 2}, {0, 2}, {3}, {3}});
  return isLate && scale != 1.0 ? emit.scale(scores, scale) : scores;
}

Value ModelBuilder::attentionContext(Value probabilities, Value value) {
  Scope scope(*this, "context");
  // [B, h, S, T] x [B, T, h, d] -> [B, h, S, d]
  return emit.dot(probabilities, splitHeads(value), {{0, 1}, {0, 2}, {3}, {1}});
}

Value ModelBuilder::maskScores(Value scores, Value bias, ArrayRef<int64_t> biasDims) {
  Scope scope(*this, "mask");
  return emit.add(scores, emit.broadcast(bias, biasDims, emit.shapeOf(scores)));
}

Value ModelBuilder::attention(Value query, Value key, Value value, Value bias,
                              ArrayRef<int64_t> biasDims, std::optional<double> scale,
                              int64_t layer) {
  return attention(query, key, value, ScoreBias{bias, SmallVector<int64_t>(biasDims)}, scale,
                   layer);
}

Value ModelBuilder::attention(Value query, Value key, Value value, ArrayRef<ScoreBias> biases,
                              std::optional<double> scale, int64_t layer) {
  const double factor = config.scalesProductsByLayer ? layer + 1 : 1;
  Value scores =
      attentionScores(query, key, scale.value_or(1.0 / std::sqrt(config.headSize)) / factor);
  if (factor != 1) {
    Scope scope(*this, "layer_scaling");
    scores = emit.scale(scores, factor);
  }
  for (const auto &[bias, dims] : biases)
    if (bias)
      scores = maskScores(scores, bias, dims);
  Value probabilities = dropout(softmax(scores), config.attentionDropout);
  return mergeHeads(attentionContext(probabilities, value));
}

double ModelBuilder::residualDeviation() const {
  return config.scalesResidualInit ? config.initializerRange / std::sqrt(2.0 * config.layerCount)
                                   : config.initializerRange;
}

Value ModelBuilder::causalBias(std::optional<int64_t> window, std::optional<int64_t> length) {
  const int64_t size = length.value_or(sequence);
  SmallVector<int64_t> shape = {size, size};
  Type word = builder.getI32Type();
  Value rows = emit.iota(shape, word, 0), columns = emit.iota(shape, word, 1);
  Value visible = emit.compare(ComparisonDirection::GE, rows, columns);
  if (window && *window < size) {
    Value begin = emit.offset(columns, *window);
    visible = emit.bitAnd(visible, emit.compare(ComparisonDirection::LT, rows, begin));
  }
  return scoreBias(visible);
}

Value ModelBuilder::scoreBias(Value visible) {
  auto type = RankedTensorType::get(emit.shapeOf(visible), builder.getF32Type());
  // Added to the scores: such low values vanish in the softmax.
  return emit.select(visible, emit.splat(type, 0.0),
                     emit.splat(type, std::numeric_limits<float>::lowest()));
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

Value ModelBuilder::crossEntropy(Value logits, Value labels, int64_t ignored) {
  Scope scope(*this, "cross_entropy");
  ArrayRef<int64_t> shape = emit.shapeOf(logits);
  int64_t last = shape.size() - 1;
  Type word = builder.getI32Type();
  Value shifted = emit.sub(logits, rowMaximum(*this, logits));
  Value logSum = emit.log(emit.reduceAdd(emit.exp(shifted), {last}));
  // A comparison instead of a gather: it shards over the classes.
  Value isLabel = emit.compare(ComparisonDirection::EQ, emit.iota(shape, word, last),
                               broadcastLeading(labels, shape));
  Value picked = emit.reduceAdd(emit.select(isLabel, shifted, emit.zerosLike(shifted)), {last});
  Value entropy = emit.sub(logSum, picked);

  Value counts = emit.compare(ComparisonDirection::NE, labels, emit.splatLike(labels, ignored));
  SmallVector<int64_t> all = leadingDims(last);
  Value sum = emit.reduceAdd(emit.select(counts, entropy, emit.zerosLike(entropy)), all);
  Value count = emit.reduceAdd(emit.convert(counts, builder.getF32Type()), all);
  return emit.div(sum, emit.max(count, emit.splatLike(count, 1.0)));
}

Value ModelBuilder::mean(Value x) {
  RankedTensorType type = emit.typeOf(x);
  return emit.scale(emit.reduceAdd(x, leadingDims(type.getRank())), 1.0 / type.getNumElements());
}

Value ModelBuilder::binaryCrossEntropy(Value logits, Value labels) {
  Scope scope(*this, "binary_cross_entropy");
  // log(1 + e^x) - x y, computed from a logarithm of a number between 1 and 2 and a remainder, so
  // that no exponential overflows.
  Value small = emit.exp(emit.neg(emit.abs(logits)));
  Value logarithm = Log1pOp::create(builder, emit.loc, small.getType(), small);
  Value softplus = emit.add(emit.max(logits, emit.zerosLike(logits)), logarithm);
  return mean(emit.sub(softplus, emit.mul(logits, labels)));
}

Value ModelBuilder::squaredError(Value x, Value labels) {
  Scope scope(*this, "squared_error");
  Value difference = emit.sub(x, labels);
  return mean(emit.mul(difference, difference));
}
