//===- Experts.cpp - Layers with a mixture of experts ---------------------===//
//
// Tokens are copied to a buffer of slots [B, slots, H], whose blocks of equal size belong to one
// expert each. Batched products compute the blocks, and each token's result is the sum of its
// slots.
//
//   with a capacity  One block per expert, as large as the capacity. No product depends on the
//                    routing, so the experts can be sharded: the buffer is then resharded from the
//                    batch to the experts and back.
//   without          Blocks of an even share of the tokens. An expert with more tokens has more
//                    blocks. Fewer than two blocks per expert always suffice, so the products cost
//                    at most about twice the work of the tokens, however uneven the load is. The
//                    weights of each block's expert are gathered.
//
// After Gale et al., "MegaBlocks: Efficient Sparse Training with Mixture-of-Experts", 2022
// (blocks), and Lepikhin et al., "GShard", 2020 (capacity, one group of tokens per sequence).
//
//===----------------------------------------------------------------------===//

#include "lib/Frontend/Experts.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

namespace {
/// The experts that tokens chose.
struct Routing {
  Value logits;                ///< [B, S, E]
  Value probabilities;         ///< [B, S, E]
  SmallVector<Value> isChosen; ///< of each choice, [B, S, E]: true for one expert
  SmallVector<Value> weights;  ///< of each choice, [B, S]
  Value anyChosen;             ///< 1 for the chosen experts, else 0: i32 [B, S, E]
};

/// The slots of a layer's buffer.
struct Slots {
  int64_t blocks = 0, blockSize = 0;
  /// The slot of each choice, [B, S, choices]. A slot that does not exist means that the token is
  /// dropped.
  Value slots;
  Value weights; ///< [B, S, choices]
  /// The expert of each block, [B, blocks]; null if block i belongs to expert i.
  Value owners;

  int64_t count() const { return blocks * blockSize; }
};

class Experts {
public:
  Experts(ModelBuilder &model, const ExpertNames &names)
      : model(model), emit(model.emit), config(model.config.experts), names(names),
        perExpert({model.batch, model.sequence, config.count}), word(emit.builder.getI32Type()) {}

  Routing route(Value x);
  void addBalance(RouterSums &sums, const Routing &routing);
  /// Megatron-LM's balance loss of this layer.
  Value layerBalance(const Routing &routing);
  void addSquares(RouterSums &sums, const Routing &routing);
  Slots assign(const Routing &routing);
  Value dispatch(Value x, const Slots &slots);
  Value compute(Value buffer, const Slots &slots);
  Value combine(Value buffer, const Slots &slots);

private:
  Slots assignCapacity(const Routing &routing, Value places);
  Slots assignBlocks(const Routing &routing, Value places);
  /// Sums of x over the elements before each one (`isInclusive`: and of itself) along `dim`.
  Value runningSums(Value x, int64_t dim, bool isInclusive);
  /// The element of `values` [B, S, E] of the chosen expert: [B, S].
  Value pick(Value isChosen, Value values);
  /// Parts [B, S] as [B, S, parts].
  Value stack(ArrayRef<Value> parts);
  Value tokens(const Slots &slots);
  Value weightsOf(StringRef name, ArrayRef<int64_t> shape, const Slots &slots,
                  std::optional<double> standardDeviation = std::nullopt);
  Value product(Value x, Value weights, const Slots &slots);
  /// The inner layers of blocks of tokens, after their activation.
  Value innerLayers(Value x, const Slots &slots);

  ModelBuilder &model;
  Emitter &emit;
  const ExpertsConfig &config;
  const ExpertNames &names;
  SmallVector<int64_t> perExpert; ///< [B, S, E]
  Type word;
};
} // namespace

//===----------------------------------------------------------------------===//
// Routing
//===----------------------------------------------------------------------===//

Routing Experts::route(Value x) {
  Routing routing;
  Value matrix =
      model.unshardedWeight(names.router + ".weight", {config.count, model.config.hiddenSize});
  routing.logits = model.project(x, matrix);
  Value probabilities = routing.probabilities = model.softmax(routing.logits);
  // The first expert has the largest number.
  Value order = emit.sub(emit.splat(RankedTensorType::get(perExpert, word), config.count - 1),
                         emit.iota(perExpert, word, 2));
  Value candidates = probabilities, total;
  for (int64_t i = 0; i < config.perToken; ++i) {
    Value best = model.broadcastLeading(emit.reduceMax(candidates, {2}), perExpert);
    Value isBest = emit.compare(ComparisonDirection::EQ, candidates, best);
    Value first = emit.reduceMax(emit.select(isBest, order, emit.splatLike(order, -1)), {2});
    Value isChosen =
        emit.compare(ComparisonDirection::EQ, order, model.broadcastLeading(first, perExpert));
    candidates = emit.select(isChosen, emit.splatLike(candidates, -1.0), candidates);
    routing.isChosen.push_back(isChosen);
    routing.weights.push_back(pick(isChosen, probabilities));
    total = total ? emit.add(total, routing.weights.back()) : routing.weights.back();
    Value chosen = emit.convert(isChosen, word);
    routing.anyChosen = routing.anyChosen ? emit.add(routing.anyChosen, chosen) : chosen;
  }
  if (config.normalizesWeights)
    for (Value &weight : routing.weights)
      weight = emit.div(weight, total);
  return routing;
}

Value Experts::pick(Value isChosen, Value values) {
  return emit.reduceAdd(emit.select(isChosen, values, emit.zerosLike(values)), {2});
}

Value Experts::layerBalance(const Routing &routing) {
  const int64_t group = *config.balanceGroup > 0 ? *config.balanceGroup : model.batch;
  const int64_t groups = model.batch / group;
  auto sum = [&](Value perToken) {
    Value ofSequences = emit.reduceAdd(perToken, {1});
    return emit.reduceAdd(emit.reshape(ofSequences, {groups, group, config.count}), {1});
  };
  Value chosen = sum(emit.convert(routing.anyChosen, emit.builder.getF32Type()));
  Value products = emit.mul(chosen, sum(routing.probabilities));
  const double tokens = static_cast<double>(group * model.sequence);
  return emit.scale(emit.reduceAdd(products, {0, 1}),
                    static_cast<double>(config.count) /
                        (static_cast<double>(groups * config.perToken) * tokens * tokens));
}

void Experts::addBalance(RouterSums &sums, const Routing &routing) {
  if (config.balanceGroup) {
    Value layer = layerBalance(routing);
    sums.layerLosses = sums.layerLosses ? emit.add(sums.layerLosses, layer) : layer;
    return;
  }
  const bool ofSequences = config.balancesSequences;
  const SmallVector<int64_t> dims =
      ofSequences ? SmallVector<int64_t>{1} : SmallVector<int64_t>{0, 1};
  auto add = [&](Value &sum, Value perToken) {
    Value layer = emit.reduceAdd(perToken, dims);
    sum = sum ? emit.add(sum, layer) : layer;
  };
  add(sums.chosen, emit.convert(routing.anyChosen, emit.builder.getF32Type()));
  add(sums.probabilities, routing.probabilities);
  sums.rows += ofSequences ? model.sequence : model.batch * model.sequence;
}

void Experts::addSquares(RouterSums &sums, const Routing &routing) {
  Value logSum = model.logSumExp(routing.logits);
  Value layer = emit.reduceAdd(emit.mul(logSum, logSum), {0, 1});
  sums.squares = sums.squares ? emit.add(sums.squares, layer) : layer;
  ++sums.layers;
}

//===----------------------------------------------------------------------===//
// Slots
//===----------------------------------------------------------------------===//

Value Experts::runningSums(Value x, int64_t dim, bool isInclusive) {
  SmallVector<int64_t> zeros(emit.typeOf(x).getRank(), 0);
  Value zero = emit.splat(RankedTensorType::get({}, word), 0), sum = x;
  // Hillis and Steele, "Data parallel algorithms", 1986.
  for (int64_t distance = 1; distance < emit.shapeOf(x)[dim]; distance *= 2) {
    SmallVector<int64_t> low = zeros, high = zeros;
    low[dim] = distance;
    high[dim] = -distance;
    sum = emit.add(sum, emit.pad(sum, zero, low, high, zeros));
  }
  return isInclusive ? sum : emit.sub(sum, x);
}

Value Experts::stack(ArrayRef<Value> parts) {
  SmallVector<Value> columns;
  for (Value part : parts)
    columns.push_back(emit.reshape(part, {model.batch, model.sequence, 1}));
  return emit.concatenate(columns, 2);
}

Slots Experts::assign(const Routing &routing) {
  // The number of earlier tokens of the sequence that chose the expert.
  Value places = runningSums(routing.anyChosen, 1, /*isInclusive=*/false);
  return config.capacityFactor ? assignCapacity(routing, places) : assignBlocks(routing, places);
}

Slots Experts::assignCapacity(const Routing &routing, Value places) {
  Slots slots;
  const double share =
      static_cast<double>(model.sequence * config.perToken) / static_cast<double>(config.count);
  slots.blocks = config.count;
  slots.blockSize = static_cast<int64_t>(std::clamp(std::ceil(*config.capacityFactor * share), 1.0,
                                                    static_cast<double>(model.sequence)));
  Value fits =
      emit.compare(ComparisonDirection::LT, places, emit.splatLike(places, slots.blockSize));
  Value begin = emit.scale(emit.iota(perExpert, word, 2), slots.blockSize);
  Value slot = emit.select(fits, emit.add(begin, places), emit.splatLike(places, slots.count()));
  SmallVector<Value> numbers, weights;
  for (auto [isChosen, weight] : llvm::zip_equal(routing.isChosen, routing.weights)) {
    numbers.push_back(pick(isChosen, slot));
    Value isKept = emit.compare(ComparisonDirection::LT, numbers.back(),
                                emit.splatLike(numbers.back(), slots.count()));
    weights.push_back(emit.select(isKept, weight, emit.zerosLike(weight)));
  }
  slots.slots = stack(numbers);
  slots.weights = stack(weights);
  return slots;
}

/// An expert with n tokens has ceil(n / size) blocks. n tokens on e experts thus have at most
/// (n + e (size - 1)) / size blocks.
Slots Experts::assignBlocks(const Routing &routing, Value places) {
  Slots slots;
  const int64_t choices = model.sequence * config.perToken;
  slots.blockSize = llvm::divideCeil(choices, config.count);
  slots.blocks = (choices + config.count * (slots.blockSize - 1)) / slots.blockSize;
  Value counts = emit.reduceAdd(routing.anyChosen, {1});
  Value blocks =
      emit.div(emit.offset(counts, slots.blockSize - 1), emit.splatLike(counts, slots.blockSize));
  Value ends = runningSums(blocks, 1, /*isInclusive=*/true);
  Value begins = emit.scale(emit.sub(ends, blocks), slots.blockSize);
  Value slot = emit.add(places, emit.broadcast(begins, {0, 2}, perExpert));
  SmallVector<Value> numbers;
  for (Value isChosen : routing.isChosen)
    numbers.push_back(pick(isChosen, slot));
  slots.slots = stack(numbers);
  slots.weights = stack(routing.weights);

  // A block belongs to the first expert whose blocks end after it; the last blocks may be empty.
  const SmallVector<int64_t> shape = {model.batch, slots.blocks, config.count};
  Value isBehind = emit.compare(ComparisonDirection::LE, emit.broadcast(ends, {0, 2}, shape),
                                emit.iota(shape, word, 1));
  Value owners = emit.reduceAdd(emit.convert(isBehind, word), {2});
  slots.owners = emit.min(owners, emit.splatLike(owners, config.count - 1));
  return slots;
}

//===----------------------------------------------------------------------===//
// The buffer
//===----------------------------------------------------------------------===//

Value Experts::dispatch(Value x, const Slots &slots) {
  const int64_t hidden = model.config.hiddenSize;
  const SmallVector<int64_t> copies = {model.batch, model.sequence, config.perToken, hidden};
  auto type =
      RankedTensorType::get({model.batch, slots.count(), hidden}, emit.typeOf(x).getElementType());
  auto numbers = ScatterDimensionNumbersAttr::get(
      emit.builder.getContext(), /*updateWindowDims=*/{3}, /*insertedWindowDims=*/{1},
      /*inputBatchingDims=*/{0}, /*scatterIndicesBatchingDims=*/{0},
      /*scatterDimsToOperandDims=*/{1}, /*indexVectorDim=*/3);
  // A buffer's slot has at most one token; other updates are beyond its end and skipped.
  auto scatter = ScatterOp::create(emit.builder, emit.loc, ValueRange{emit.splat(type, 0.0)},
                                   slots.slots, ValueRange{emit.broadcast(x, {0, 1, 3}, copies)},
                                   numbers, /*indicesAreSorted=*/false, /*uniqueIndices=*/true);
  OpBuilder::InsertionGuard guard(emit.builder);
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Block *body = emit.builder.createBlock(&scatter.getUpdateComputation(), {}, {scalar, scalar},
                                         {emit.loc, emit.loc});
  Value sum =
      AddOp::create(emit.builder, emit.loc, scalar, body->getArgument(0), body->getArgument(1));
  stablehlo::ReturnOp::create(emit.builder, emit.loc, ValueRange{sum});
  return scatter.getResult(0);
}

Value Experts::combine(Value buffer, const Slots &slots) {
  const int64_t hidden = model.config.hiddenSize;
  const SmallVector<int64_t> shape = {model.batch, model.sequence, config.perToken, hidden};
  auto numbers = GatherDimensionNumbersAttr::get(
      emit.builder.getContext(), /*offsetDims=*/{3}, /*collapsedSliceDims=*/{1},
      /*operandBatchingDims=*/{0}, /*startIndicesBatchingDims=*/{0}, /*startIndexMap=*/{1},
      /*indexVectorDim=*/3);
  Value outputs = GatherOp::create(
      emit.builder, emit.loc, RankedTensorType::get(shape, emit.typeOf(buffer).getElementType()),
      buffer, slots.slots, numbers, ArrayRef<int64_t>{1, 1, hidden}, /*indices_are_sorted=*/false);
  return emit.reduceAdd(emit.mul(outputs, model.broadcastLeading(slots.weights, shape)), {2});
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// The weights [E, out, in], or for blocks with owners [B, blocks, out, in].
Value Experts::weightsOf(StringRef name, ArrayRef<int64_t> shape, const Slots &slots,
                         std::optional<double> standardDeviation) {
  Value weights = model.stackedWeight(name + ".weight", config.count, shape, standardDeviation);
  if (!slots.owners)
    return weights;
  auto numbers = GatherDimensionNumbersAttr::get(
      emit.builder.getContext(), /*offsetDims=*/{2, 3}, /*collapsedSliceDims=*/{0},
      /*operandBatchingDims=*/{}, /*startIndicesBatchingDims=*/{}, /*startIndexMap=*/{0},
      /*indexVectorDim=*/2);
  auto type = RankedTensorType::get({model.batch, slots.blocks, shape[0], shape[1]},
                                    emit.typeOf(weights).getElementType());
  return GatherOp::create(emit.builder, emit.loc, type, weights, slots.owners, numbers,
                          ArrayRef<int64_t>{1, shape[0], shape[1]},
                          /*indices_are_sorted=*/true);
}

/// The product of each block with the weights of its expert. Blocks are [E, B, ...] or, with
/// owners, [B, blocks, ...].
Value Experts::product(Value x, Value weights, const Slots &slots) {
  if (slots.owners)
    return emit.dot(x, weights, {{0, 1}, {0, 1}, {3}, {3}});
  return emit.dot(x, weights, {{0}, {0}, {3}, {2}});
}

Value Experts::innerLayers(Value x, const Slots &slots) {
  const int64_t hidden = model.config.hiddenSize, size = config.intermediateSize;
  const Activation activation = model.config.activation;
  Value gate, inner;
  if (!names.gate.empty())
    gate = product(x, weightsOf(names.gate, {size, hidden}, slots), slots);
  inner =
      product(x, weightsOf(names.up, {names.joinsGate ? 2 * size : size, hidden}, slots), slots);
  if (names.joinsGate) {
    gate = emit.sliceDim(inner, 3, 0, size);
    inner = emit.sliceDim(inner, 3, size, 2 * size);
  }
  return gate ? emit.mul(model.activation(gate, activation), inner)
              : model.activation(inner, activation);
}

Value Experts::compute(Value buffer, const Slots &slots) {
  const int64_t hidden = model.config.hiddenSize;
  Value x = emit.reshape(buffer, {model.batch, slots.blocks, slots.blockSize, hidden});
  const bool areExpertsFirst = !slots.owners;
  if (areExpertsFirst)
    x = emit.transpose(x, {1, 0, 2, 3});
  Value inner = innerLayers(x, slots);
  Value down =
      weightsOf(names.down, {hidden, config.intermediateSize}, slots, model.residualDeviation());
  Value out = product(inner, down, slots);
  if (areExpertsFirst)
    out = emit.transpose(out, {1, 0, 2, 3});
  return emit.reshape(out, {model.batch, slots.count(), hidden});
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

Value st::buildExperts(ModelBuilder &model, Value x, const ExpertNames &names, RouterSums &sums) {
  Experts experts(model, names);
  Routing routing;
  Slots slots;
  {
    ModelBuilder::Scope scope(model, "router");
    routing = experts.route(x);
    if (model.config.experts.balanceCoefficient != 0.0)
      experts.addBalance(sums, routing);
    if (model.config.experts.zCoefficient != 0.0)
      experts.addSquares(sums, routing);
  }
  {
    ModelBuilder::Scope scope(model, "slots");
    slots = experts.assign(routing);
  }
  Value buffer;
  {
    ModelBuilder::Scope scope(model, "dispatch");
    buffer = experts.dispatch(x, slots);
  }
  {
    ModelBuilder::Scope scope(model, "experts");
    buffer = experts.compute(buffer, slots);
  }
  ModelBuilder::Scope scope(model, "combine");
  return experts.combine(buffer, slots);
}

Value st::buildBalanceLoss(ModelBuilder &model, const RouterSums &sums) {
  ModelBuilder::Scope scope(model, "balance_loss");
  Emitter &emit = model.emit;
  const double rows = static_cast<double>(sums.rows);
  Value chosen = emit.scale(sums.chosen, 1.0 / rows);
  Value probabilities = emit.scale(sums.probabilities, 1.0 / rows);
  Value products = emit.mul(chosen, probabilities);
  // Sums over the experts, and over the sequences if each has its own sums.
  const bool ofSequences = emit.typeOf(products).getRank() == 2;
  const SmallVector<int64_t> dims =
      ofSequences ? SmallVector<int64_t>{0, 1} : SmallVector<int64_t>{0};
  const double count = ofSequences ? static_cast<double>(model.batch) : 1.0;
  return emit.scale(emit.reduceAdd(products, dims),
                    static_cast<double>(model.config.experts.count) / count);
}

Value st::buildZLoss(ModelBuilder &model, const RouterSums &sums) {
  ModelBuilder::Scope scope(model, "z_loss");
  const auto tokens = static_cast<double>(model.batch * model.sequence * sums.layers);
  return model.emit.scale(sums.squares, 1.0 / tokens);
}
