//===- ShardingIndexing.cpp - Factor rules of gather and scatter ----------===//
//
// A dimension that indices select from can be sharded if they have one component and select single
// elements of it (rows of an embedding table). Every shard then reads all indices: a gather yields
// zero for rows of other shards, so that the sum over the shards is the result; a scatter skips
// them, as it skips indices out of bounds. Constant indices that name each element once are a
// permutation: devices that have one element each send them to each other.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/Analysis/Permutation.h"
#include "dialects/StableHLO/Sharding/ShardingRules.h"
#include "dialects/StableHLO/StableHLOOps.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::stablehlo::sharding;
using st::ShardingRuleOpInterface;

namespace {

/// Correspondence between dimensions of gather's operand (scatter's input), indices, and windows
/// (gather's result, scatter's updates).
struct Indexing {
  Value tensor, indices, windows;
  ArrayRef<int64_t> windowDims, missingDims, tensorBatch, indicesBatch, indexMap;
  int64_t indexVectorDim;

  /// Returns true if indices select single elements of one dimension.
  bool namesElements() const {
    return indexMap.size() == 1 && llvm::is_contained(missingDims, indexMap[0]);
  }

  /// Assigns factors to batching, index and window dimensions. `indexKind` is the kind of the
  /// dimensions that number the windows.
  void addTo(ShardingRule &rule, TensorFactors &inTensor, TensorFactors &inIndices,
             TensorFactors &inWindows, FactorKind indexKind, ReductionKind reduction) const;
};

void Indexing::addTo(ShardingRule &rule, TensorFactors &inTensor, TensorFactors &inIndices,
                     TensorFactors &inWindows, FactorKind indexKind,
                     ReductionKind reduction) const {
  ArrayRef<int64_t> tensorShape = shapeOf(tensor), indicesShape = shapeOf(indices);
  ArrayRef<int64_t> windowsShape = shapeOf(windows);
  SmallVector<int64_t> numbering; // the dimensions of `windows` that number windows
  for (int64_t dim = 0, rank = windowsShape.size(); dim < rank; ++dim)
    if (!llvm::is_contained(windowDims, dim))
      numbering.push_back(dim);

  size_t next = 0;
  for (int64_t dim = 0, rank = indicesShape.size(); dim < rank; ++dim) {
    if (dim == indexVectorDim) {
      if (indicesShape[dim] != 1)
        attach(inIndices, dim, rule.addFactor(indicesShape[dim], FactorKind::NeedReplication));
      continue;
    }
    int64_t windowsDim = numbering[next++];
    if (indicesShape[dim] == 1)
      continue;
    const auto *batch = llvm::find(indicesBatch, dim);
    bool isBatch = batch != indicesBatch.end();
    int64_t factor =
        rule.addFactor(indicesShape[dim], isBatch ? FactorKind::Parallel : indexKind, reduction);
    attach(inIndices, dim, factor);
    attach(inWindows, windowsDim, factor);
    if (isBatch)
      attach(inTensor, tensorBatch[batch - indicesBatch.begin()], factor);
  }

  next = 0;
  for (int64_t dim = 0, rank = tensorShape.size(); dim < rank; ++dim) {
    if (llvm::is_contained(missingDims, dim) || llvm::is_contained(tensorBatch, dim))
      continue;
    int64_t windowsDim = windowDims[next++];
    // A window as large as the dimension starts at its first element.
    if (windowsShape[windowsDim] == tensorShape[dim]) {
      int64_t factor = tensorShape[dim] == 1 ? -1 : rule.addFactor(tensorShape[dim]);
      attach(inTensor, dim, factor);
      attach(inWindows, windowsDim, factor);
      continue;
    }
    attach(inTensor, dim, rule.addFactor(tensorShape[dim], FactorKind::NeedReplication));
    if (windowsShape[windowsDim] != 1)
      attach(inWindows, windowsDim,
             rule.addFactor(windowsShape[windowsDim], FactorKind::NeedReplication));
  }
}

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

Indexing indexingOf(GatherOp op) {
  GatherDimensionNumbersAttr dims = op.getDimensionNumbers();
  return {op.getOperand(),
          op.getStartIndices(),
          op.getResult(),
          dims.getOffsetDims(),
          dims.getCollapsedSliceDims(),
          dims.getOperandBatchingDims(),
          dims.getStartIndicesBatchingDims(),
          dims.getStartIndexMap(),
          dims.getIndexVectorDim()};
}

struct GatherRule : ShardingRuleOpInterface::ExternalModel<GatherRule, GatherOp> {
  ShardingRule getShardingRule(Operation *op) const {
    Indexing indexing = indexingOf(cast<GatherOp>(op));
    ShardingRule rule = emptyRule(op);
    if (std::optional<st::Permutation> permutation = st::findPermutation(cast<GatherOp>(op)))
      return addPermutation(std::move(rule), indexing, *permutation);
    indexing.addTo(rule, rule.operands[0], rule.operands[1], rule.results[0], FactorKind::Parallel,
                   ReductionKind::Sum);
    bool isNumber = !getElementTypeOrSelf(indexing.tensor.getType()).isInteger(1);
    for (int64_t dim : indexing.missingDims) {
      int64_t size = shapeOf(indexing.tensor)[dim];
      bool isSummed = isNumber && indexing.namesElements() && dim == indexing.indexMap[0];
      if (size != 1)
        attach(
            rule.operands[0], dim,
            rule.addFactor(size, isSummed ? FactorKind::Reduction : FactorKind::NeedReplication));
    }
    if (isNumber)
      rule.setLinear(Linearity::Separately, {0});
    return rule;
  }

  LogicalResult localize(Operation *op, LocalizeContext &context) const;

private:
  /// The rule of a permutation; the indices, a constant, are replicated.
  static ShardingRule addPermutation(ShardingRule rule, const Indexing &indexing,
                                     const st::Permutation &permutation) {
    TensorFactors ofIndices = rule.operands[1];
    indexing.addTo(rule, rule.operands[0], ofIndices, rule.results[0], FactorKind::Permutation,
                   ReductionKind::Sum);
    int64_t factor = rule.results[0][permutation.dim].front();
    rule.factors[factor].movesElements = rule.factors[factor].isCounted = true;
    attach(rule.operands[0], permutation.dim, factor);
    if (!getElementTypeOrSelf(indexing.tensor.getType()).isInteger(1))
      rule.setLinear(Linearity::Separately, {0});
    return rule;
  }
};

/// A constant of the type of `like` with all elements equal to `value`.
Value splatLike(OpBuilder &builder, Value like, int64_t value) {
  auto type = cast<RankedTensorType>(like.getType());
  Type element = type.getElementType();
  Attribute attribute = builder.getZeroAttr(element);
  if (auto complex = dyn_cast<ComplexType>(element)) {
    Attribute zero = builder.getZeroAttr(complex.getElementType());
    attribute = builder.getArrayAttr({zero, zero});
  } else if (value != 0) {
    attribute = builder.getIntegerAttr(element, value);
  }
  return ConstantOp::create(builder, like.getLoc(), DenseElementsAttr::get(type, attribute));
}

/// Converts indices to a type that fits every position in the full dimension: 8 or 16 bits may not
/// reach the first row of a shard.
Value widenIndices(OpBuilder &builder, Value indices) {
  auto type = cast<RankedTensorType>(indices.getType());
  if (type.getElementTypeBitWidth() >= 32)
    return indices;
  return ConvertOp::create(builder, indices.getLoc(), type.clone(builder.getI32Type()), indices);
}

/// Restricts the gather to rows of this shard. Returns where it read such a row, in the shape of
/// the result.
Value restrictToShard(GatherOp gather, const Indexing &indexing, int64_t factor,
                      LocalizeContext &context) {
  OpBuilder &builder = context.builder;
  Location loc = gather.getLoc();
  Value indices = widenIndices(builder, gather.getStartIndices());
  int64_t shards = context.factorShards[factor], size = context.rule.factors[factor].size;
  // The gather clamps positions in the full dimension the same way.
  indices = ClampOp::create(builder, loc, splatLike(builder, indices, 0), indices,
                            splatLike(builder, indices, size - 1));
  indices = context.toLocal(factor, indices);
  gather.getStartIndicesMutable().assign(indices);

  Value isBelow = CompareOp::create(
      builder, loc, indices, splatLike(builder, indices, size / shards), ComparisonDirection::LT);
  Value isAbove = CompareOp::create(builder, loc, indices, splatLike(builder, indices, 0),
                                    ComparisonDirection::GE);
  Value isHere = AndOp::create(builder, loc, isBelow, isAbove);
  auto type = cast<RankedTensorType>(isHere.getType());
  if (indexing.indexVectorDim < type.getRank()) {
    SmallVector<int64_t> shape(type.getShape());
    shape.erase(shape.begin() + indexing.indexVectorDim);
    isHere = ReshapeOp::create(builder, loc, type.clone(shape), isHere);
  }
  auto resultType = cast<RankedTensorType>(context.resultTypes[0]);
  SmallVector<int64_t> numbering;
  for (int64_t dim = 0; dim < resultType.getRank(); ++dim)
    if (!llvm::is_contained(indexing.windowDims, dim))
      numbering.push_back(dim);
  return BroadcastInDimOp::create(builder, loc, resultType.clone(builder.getI1Type()), isHere,
                                  numbering);
}

LogicalResult GatherRule::localize(Operation *op, LocalizeContext &context) const {
  auto gather = cast<GatherOp>(op);
  Indexing indexing = indexingOf(gather);
  auto localResult = cast<RankedTensorType>(context.resultTypes[0]);
  SmallVector<int64_t> sizes(gather.getSliceSizes());
  size_t next = 0;
  for (int64_t dim = 0, rank = sizes.size(); dim < rank; ++dim)
    if (!llvm::is_contained(indexing.missingDims, dim) &&
        !llvm::is_contained(indexing.tensorBatch, dim))
      sizes[dim] = localResult.getDimSize(indexing.windowDims[next++]);
  gather.setSliceSizes(sizes);

  auto *moved = llvm::find_if(context.rule.factors,
                              [](const st::Factor &factor) { return factor.movesElements; });
  if (moved != context.rule.factors.end()) {
    const int64_t factor = moved - context.rule.factors.begin();
    if (context.factorShards[factor] == 1)
      return st::localizeByTypes(op, context);
    Value part = context.permuteParts(gather.getOperand(), factor, st::readSources(gather));
    op->replaceAllUsesWith(ValueRange{part});
    op->erase();
    return success();
  }
  ArrayRef<int64_t> factors;
  if (indexing.namesElements())
    factors = context.rule.operands[0][indexing.indexMap[0]];
  if (factors.empty() || context.factorShards[factors[0]] == 1)
    return st::localizeByTypes(op, context);
  Value isHere = restrictToShard(gather, indexing, factors[0], context);
  gather.getResult().setType(localResult);
  OpBuilder::InsertionGuard guard(context.builder);
  context.builder.setInsertionPointAfter(op);
  Value zeros = splatLike(context.builder, gather, 0);
  auto select = SelectOp::create(context.builder, op->getLoc(), isHere, gather, zeros);
  gather.getResult().replaceAllUsesExcept(select, select);
  return success();
}

//===----------------------------------------------------------------------===//
// scatter
//===----------------------------------------------------------------------===//

Indexing indexingOf(ScatterOp op) {
  ScatterDimensionNumbersAttr dims = op.getScatterDimensionNumbers();
  return {op.getInputs()[0],
          op.getScatterIndices(),
          op.getUpdates()[0],
          dims.getUpdateWindowDims(),
          dims.getInsertedWindowDims(),
          dims.getInputBatchingDims(),
          dims.getScatterIndicesBatchingDims(),
          dims.getScatterDimsToOperandDims(),
          dims.getIndexVectorDim()};
}

/// One tensor only. Updates with a commutative combination may be spread over shards, each of which
/// yields a partial result.
struct ScatterRule : ShardingRuleOpInterface::ExternalModel<ScatterRule, ScatterOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto scatter = cast<ScatterOp>(op);
    if (scatter.getInputs().size() != 1)
      return {};
    Indexing indexing = indexingOf(scatter);
    ShardingRule rule = emptyRule(op);
    std::optional<ReductionKind> kind = reductionOf(scatter.getUpdateComputation());
    indexing.addTo(rule, rule.operands[0], rule.operands[1], rule.operands[2],
                   kind ? FactorKind::Reduction : FactorKind::NeedReplication,
                   kind.value_or(ReductionKind::Sum));
    for (int64_t dim : indexing.missingDims) {
      int64_t size = shapeOf(indexing.tensor)[dim];
      bool canSplit = indexing.namesElements() && dim == indexing.indexMap[0];
      if (size != 1)
        attach(rule.operands[0], dim,
               rule.addFactor(size, canSplit ? FactorKind::Parallel : FactorKind::NeedReplication));
    }
    rule.results[0] = rule.operands[0];
    if (kind == ReductionKind::Sum) {
      rule.setLinear(Linearity::Jointly, {0, 2});
      rule.countedOnce = {0};
    }
    return rule;
  }

  LogicalResult localize(Operation *op, LocalizeContext &context) const {
    auto scatter = cast<ScatterOp>(op);
    if (!context.rule.isShardable())
      return st::localizeByTypes(op, context);
    Indexing indexing = indexingOf(scatter);
    ArrayRef<int64_t> factors;
    if (indexing.namesElements())
      factors = context.rule.operands[0][indexing.indexMap[0]];
    if (!factors.empty() && context.factorShards[factors[0]] > 1)
      scatter.getScatterIndicesMutable().assign(
          context.toLocal(factors[0], widenIndices(context.builder, scatter.getScatterIndices())));
    return st::localizeByTypes(op, context);
  }
};

} // namespace

void stablehlo::attachIndexingShardingRules(MLIRContext *context) {
  GatherOp::attachInterface<GatherRule>(*context);
  ScatterOp::attachInterface<ScatterRule>(*context);
}
