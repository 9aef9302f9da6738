//===- ShardingPieces.cpp - Factor rules of slices and joins --------------===//
//
// A dimension that an op leaves untouched is parallel. Along the others elements move, but in
// blocks: if all boundaries are multiples of a number, that many elements stay together. A third of
// a dimension of 3 x 64 is a dimension of 64: a permutation factor counts the blocks, and the
// elements of a block are parallel.
//
//===----------------------------------------------------------------------===//

#include "dialects/StableHLO/Sharding/ShardingRules.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/Matchers.h"
#include <numeric>

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::stablehlo::sharding;
using st::ShardingRuleOpInterface;

namespace {

/// Gives dimension `dim` of operand 0 and the result one factor: parallel if the op leaves the
/// dimension untouched, a permutation otherwise.
void addPieceFactor(ShardingRule &rule, Operation *op, int64_t dim, bool isUntouched) {
  int64_t size = shapeOf(op->getOperand(0))[dim];
  int64_t resultSize = shapeOf(op->getResult(0))[dim];
  if (size == 1 && resultSize == 1)
    return;
  int64_t factor =
      rule.addFactor(size, isUntouched ? FactorKind::Parallel : FactorKind::Permutation);
  attach(rule.operands[0], dim, factor);
  attach(rule.results[0], dim, factor);
}

/// Attaches the blocks of a dimension of `size` elements, with `block` as their factor.
void attachBlocks(ShardingRule &rule, TensorFactors &tensor, int64_t dim, int64_t size,
                  int64_t block) {
  int64_t count = size / rule.factors[block].size;
  if (count != 1)
    attach(tensor, dim, rule.addFactor(count, FactorKind::Permutation));
  attach(tensor, dim, block);
}

/// The same for operand 0 and the result, whose elements along a dimension move in blocks.
void addBlockFactors(ShardingRule &rule, Operation *op, int64_t dim, int64_t size) {
  int64_t block = rule.addFactor(size);
  attachBlocks(rule, rule.operands[0], dim, shapeOf(op->getOperand(0))[dim], block);
  attachBlocks(rule, rule.results[0], dim, shapeOf(op->getResult(0))[dim], block);
}

/// Number of parts into which the blocks of a dimension of a rule's tensor are split.
int64_t blockShards(const LocalizeContext &context, const TensorFactors &tensor, int64_t dim) {
  return tensor[dim].empty() ? 1 : context.factorShards[tensor[dim].back()];
}

int64_t rankOf(Operation *op) { return shapeOf(op->getResult(0)).size(); }

struct SliceRule : ShardingRuleOpInterface::ExternalModel<SliceRule, SliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = emptyRule(op);
    for (int64_t dim = 0; dim < rankOf(op); ++dim) {
      auto slice = cast<SliceOp>(op);
      bool isFull = shapeOf(slice.getOperand())[dim] == shapeOf(slice)[dim];
      if (holdsCopies(slice, dim))
        // Each device takes the first copy of its part, so the dimension may be sharded.
        attach(rule.operands[0], dim, rule.addFactor(shapeOf(slice.getOperand())[dim]));
      else if (int64_t block = blockSize(slice, dim); !isFull && block > 1)
        addBlockFactors(rule, op, dim, block);
      else
        addPieceFactor(rule, op, dim, isFull);
    }
    rule.setLinear(Linearity::Separately, {0});
    return rule;
  }

  LogicalResult localize(Operation *op, LocalizeContext &context) const {
    auto slice = cast<SliceOp>(op);
    auto type = cast<RankedTensorType>(context.resultTypes[0]);
    SmallVector<int64_t> starts(slice.getStartIndices()), limits(slice.getLimitIndices());
    for (int64_t dim = 0; dim < type.getRank(); ++dim) {
      if (holdsCopies(slice, dim))
        continue;
      if (context.rule.operands[0][dim].size() > 1) {
        int64_t shards = blockShards(context, context.rule.operands[0], dim);
        starts[dim] /= shards;
        limits[dim] /= shards;
      } else if (type.getDimSize(dim) != slice.getType().getDimSize(dim)) {
        limits[dim] = type.getDimSize(dim); // the full dimension
      }
    }
    slice.setStartIndices(starts);
    slice.setLimitIndices(limits);
    return st::localizeByTypes(op, context);
  }

private:
  static bool holdsCopies(SliceOp op, int64_t dim) {
    auto copies = op->getAttrOfType<DenseI64ArrayAttr>(st::kCopiesAttr);
    return copies && llvm::is_contained(copies.asArrayRef(), dim) &&
           op.getStartIndices()[dim] == 0 && op.getLimitIndices()[dim] == 1;
  }

  static int64_t blockSize(SliceOp op, int64_t dim) {
    if (op.getStrides()[dim] != 1 || shapeOf(op)[dim] == 0)
      return 1;
    return std::gcd(shapeOf(op.getOperand())[dim],
                    std::gcd(op.getStartIndices()[dim], op.getLimitIndices()[dim]));
  }
};

struct PadRule : ShardingRuleOpInterface::ExternalModel<PadRule, PadOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto pad = cast<PadOp>(op);
    ShardingRule rule = emptyRule(op);
    for (int64_t dim = 0; dim < rankOf(op); ++dim) {
      bool isUntouched = pad.getEdgePaddingLow()[dim] == 0 && pad.getEdgePaddingHigh()[dim] == 0 &&
                         pad.getInteriorPadding()[dim] == 0;
      if (int64_t block = blockSize(pad, dim); !isUntouched && block > 1)
        addBlockFactors(rule, op, dim, block);
      else
        addPieceFactor(rule, op, dim, isUntouched);
    }
    rule.setLinear(Linearity::Jointly, {0, 1});
    return rule;
  }

  LogicalResult localize(Operation *op, LocalizeContext &context) const {
    auto pad = cast<PadOp>(op);
    SmallVector<int64_t> low(pad.getEdgePaddingLow()), high(pad.getEdgePaddingHigh());
    for (int64_t dim = 0; dim < rankOf(op); ++dim) {
      int64_t shards = blockShards(context, context.rule.operands[0], dim);
      low[dim] /= shards;
      high[dim] /= shards;
    }
    pad.setEdgePaddingLow(low);
    pad.setEdgePaddingHigh(high);
    return st::localizeByTypes(op, context);
  }

private:
  static int64_t blockSize(PadOp op, int64_t dim) {
    if (op.getInteriorPadding()[dim] != 0 || shapeOf(op)[dim] == 0 ||
        shapeOf(op.getOperand())[dim] == 0)
      return 1;
    return std::gcd(shapeOf(op.getOperand())[dim],
                    std::gcd(op.getEdgePaddingLow()[dim], op.getEdgePaddingHigh()[dim]));
  }
};

struct ConcatenateRule : ShardingRuleOpInterface::ExternalModel<ConcatenateRule, ConcatenateOp> {
  ShardingRule getShardingRule(Operation *op) const {
    auto concatenate = cast<ConcatenateOp>(op);
    ShardingRule rule = emptyRule(op);
    int64_t joined = concatenate.getDimension();
    for (int64_t dim = 0; dim < rankOf(op); ++dim) {
      int64_t size = shapeOf(concatenate)[dim], block = dim == joined ? blockSize(concatenate) : 1;
      if (size == 1)
        continue;
      if (block == 1) {
        FactorKind kind = dim == joined ? FactorKind::Permutation : FactorKind::Parallel;
        int64_t factor = rule.addFactor(size, kind);
        attach(rule.results[0], dim, factor);
        for (TensorFactors &operand : rule.operands)
          attach(operand, dim, factor);
        continue;
      }
      int64_t factor = rule.addFactor(block);
      attachBlocks(rule, rule.results[0], dim, size, factor);
      for (auto [tensor, operand] : llvm::zip_equal(rule.operands, op->getOperands()))
        attachBlocks(rule, tensor, dim, shapeOf(operand)[dim], factor);
    }
    rule.setLinear(Linearity::Jointly,
                   llvm::to_vector(llvm::seq<int64_t>(0, op->getNumOperands())));
    return rule;
  }

private:
  static int64_t blockSize(ConcatenateOp op) {
    int64_t block = 0;
    for (Value operand : op->getOperands()) {
      int64_t size = shapeOf(operand)[op.getDimension()];
      block = size == 0 ? 1 : std::gcd(block, size);
    }
    return block;
  }
};

struct DynamicSliceRule : ShardingRuleOpInterface::ExternalModel<DynamicSliceRule, DynamicSliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = emptyRule(op);
    for (int64_t dim = 0; dim < rankOf(op); ++dim)
      // A slice of full size starts at 0, regardless of its index.
      addPieceFactor(rule, op, dim,
                     shapeOf(op->getOperand(0))[dim] == shapeOf(op->getResult(0))[dim]);
    rule.setLinear(Linearity::Separately, {0});
    return rule;
  }

  LogicalResult localize(Operation *op, LocalizeContext &context) const {
    auto type = cast<RankedTensorType>(context.resultTypes[0]);
    cast<DynamicSliceOp>(op).setSliceSizes(type.getShape());
    return st::localizeByTypes(op, context);
  }
};

struct DynamicUpdateSliceRule
    : ShardingRuleOpInterface::ExternalModel<DynamicUpdateSliceRule, DynamicUpdateSliceOp> {
  ShardingRule getShardingRule(Operation *op) const {
    ShardingRule rule = emptyRule(op);
    ArrayRef<int64_t> updateShape = shapeOf(op->getOperand(1));
    for (int64_t dim = 0; dim < rankOf(op); ++dim) {
      bool isUntouched = updateShape[dim] == shapeOf(op->getResult(0))[dim];
      addPieceFactor(rule, op, dim, isUntouched);
      if (updateShape[dim] == 1)
        continue;
      if (isUntouched)
        rule.operands[1][dim] = rule.results[0][dim];
      else
        attach(rule.operands[1], dim,
               rule.addFactor(updateShape[dim], FactorKind::NeedReplication));
    }
    rule.setLinear(Linearity::Jointly, {0, 1});
    return rule;
  }
};

} // namespace

void stablehlo::attachPieceShardingRules(MLIRContext *context) {
  SliceOp::attachInterface<SliceRule>(*context);
  PadOp::attachInterface<PadRule>(*context);
  ConcatenateOp::attachInterface<ConcatenateRule>(*context);
  DynamicSliceOp::attachInterface<DynamicSliceRule>(*context);
  DynamicUpdateSliceOp::attachInterface<DynamicUpdateSliceRule>(*context);
}
