#include "passes/Partition/Config/SeedShardings.h"
#include "dialects/St/IR/NamedRows.h"
#include "dialects/St/Sharding/OpSharding.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::st;

namespace {
/// A tensor that holds a parameter's elements, and the parameter dimensions in it.
struct Trace {
  Value value;
  /// The dimension of `value` that each dimension of the parameter became; -1 where
  /// it is none.
  SmallVector<int64_t> dims;
};
} // namespace

/// The first user in program order.
static OpOperand *firstUse(Value value) {
  OpOperand *first = nullptr;
  for (OpOperand &use : value.getUses())
    if (!first || use.getOwner()->isBeforeInBlock(first->getOwner()))
      first = &use;
  return first;
}

static bool hasAttr(BlockArgument parameter, StringRef name) {
  auto function = dyn_cast<func::FuncOp>(parameter.getOwner()->getParentOp());
  return function && function.getArgAttr(parameter.getArgNumber(), name);
}

bool mlir::st::hasNamedRows(BlockArgument parameter) { return hasAttr(parameter, kNamedRowsAttr); }

SmallVector<int64_t> mlir::st::tracedDims(BlockArgument parameter) {
  int64_t rank = cast<RankedTensorType>(parameter.getType()).getRank();
  if (hasAttr(parameter, kUnshardedAttr))
    return SmallVector<int64_t>(rank, -1);
  SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (rank > 0 && hasNamedRows(parameter))
    dims[0] = -1;
  return dims;
}

bool mlir::st::readsParts(OpOperand &use, BlockArgument parameter) {
  return isa<stablehlo::GatherOp>(use.getOwner()) && use.getOperandNumber() == 0 &&
         hasNamedRows(parameter);
}

bool mlir::st::onlyReorders(Operation *op, const ShardingRule &rule) {
  return op->getNumOperands() == 1 && op->getNumResults() == 1 && op->getNumRegions() == 0 &&
         rule.operands.size() == 1 && llvm::none_of(rule.factors, [](const Factor &factor) {
           return factor.kind == FactorKind::Reduction;
         });
}

int64_t mlir::st::followDimension(int64_t dim, const ShardingRule &rule) {
  if (dim < 0 || rule.operands[0][dim].size() != 1)
    return -1;
  int64_t factor = rule.operands[0][dim][0], followed = -1;
  for (auto [resultDim, parts] : llvm::enumerate(rule.results[0]))
    if (parts.size() == 1 && parts[0] == factor)
      followed = resultDim;
  return followed;
}

/// Continues with the op's result.
static void follow(Trace &trace, Operation *op, const ShardingRule &rule) {
  for (int64_t &dim : trace.dims)
    dim = followDimension(dim, rule);
  trace.value = op->getResult(0);
}

/// The parameter's dimension that its use contracts, or does not contract.
static std::optional<int64_t> dimensionOfKind(const Trace &trace, const TensorFactors &factors,
                                              const ShardingRule &rule, bool isContracted) {
  for (auto [dim, traced] : llvm::enumerate(trace.dims)) {
    if (traced < 0 || factors[traced].empty())
      continue;
    FactorKind kind = rule.factors[factors[traced][0]].kind;
    if (kind != FactorKind::NeedReplication && (kind == FactorKind::Reduction) == isContracted)
      return dim;
  }
  return std::nullopt;
}

std::optional<int64_t> mlir::st::shardedDimension(BlockArgument parameter, int64_t shardingDim) {
  int64_t rank = cast<RankedTensorType>(parameter.getType()).getRank();
  bool cutsContracted = shardingDim == 0;
  if (rank == 0 || (rank == 1 && cutsContracted) || hasAttr(parameter, kUnshardedAttr))
    return std::nullopt;
  if (rank == 1)
    return 0;
  Trace trace{parameter, tracedDims(parameter)};
  while (OpOperand *use = firstUse(trace.value)) {
    Operation *op = use->getOwner();
    ShardingRule rule = getShardingRule(op);
    if (readsParts(*use, parameter)) {
      follow(trace, op, rule);
      continue;
    }
    if (isa<stablehlo::DotGeneralOp, stablehlo::ConvolutionOp, stablehlo::GatherOp>(op)) {
      if (auto dim =
              dimensionOfKind(trace, rule.operands[use->getOperandNumber()], rule, cutsContracted))
        return dim;
      break;
    }
    if (!onlyReorders(op, rule))
      break;
    follow(trace, op, rule);
  }
  return cutsContracted ? 0 : rank - 1;
}
