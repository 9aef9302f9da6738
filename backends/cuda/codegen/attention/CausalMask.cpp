#include "backends/cuda/codegen/attention/CausalMask.h"

#include "backends/cuda/codegen/analysis/CausalPredicate.h"
#include "backends/cuda/codegen/analysis/Splat.h"

using namespace mlir;
using namespace mlir::cuda;
namespace hlo = mlir::stablehlo;

namespace {
/// The value of the elements above the diagonal.
enum class Beyond { Unknown, Zero, FarBelow };

class CausalAnalysis {
public:
  CausalAnalysis(const FusedAttention &fused, const ElementValues &values)
      : fused(fused), values(values), row(std::min(fused.own, fused.streamed)),
        column(std::max(fused.own, fused.streamed)) {}

  Beyond get(Value value);

private:
  /// A row's or a column's index, plus a constant.
  struct Index {
    unsigned group;
    int64_t offset;
  };

  Beyond compute(Operation *op);
  /// Returns the value of a predicate above the diagonal, if all elements there have one. A
  /// predicate of several comparisons must have another value on the diagonal.
  std::optional<bool> aboveDiagonal(Value predicate);
  bool holdsOnDiagonal(Value predicate);
  std::optional<Index> getIndex(Value value);
  bool isScore(Value value);
  bool variesAlongRow(Value value);

  const FusedAttention &fused;
  const ElementValues &values;
  unsigned row, column; ///< groups
  DenseMap<Value, Beyond> known;
};
} // namespace

bool CausalAnalysis::variesAlongRow(Value value) {
  return values.space.getGroups(skipBroadcasts(value)) >> column & 1;
}

/// Returns true for the result of a product, also when converted or scaled.
bool CausalAnalysis::isScore(Value value) {
  if (llvm::any_of(fused.producers, [&](const AttentionProduct &p) { return p.rows == value; }))
    return true;
  Operation *op = value.getDefiningOp();
  if (isa_and_nonnull<hlo::ConvertOp>(op))
    return isScore(op->getOperand(0));
  if (isa_and_nonnull<hlo::MulOp, hlo::DivOp>(op))
    return isScore(op->getOperand(0)) && getSplat(op->getOperand(1));
  return false;
}

std::optional<CausalAnalysis::Index> CausalAnalysis::getIndex(Value value) {
  value = skipBroadcasts(value);
  if (auto add = value.getDefiningOp<hlo::AddOp>()) {
    DenseIntElementsAttr constant;
    std::optional<Index> index = getIndex(add.getLhs());
    if (!index || !matchPattern(skipBroadcasts(add.getRhs()), m_Constant(&constant)) ||
        !constant.isSplat())
      return std::nullopt;
    index->offset += constant.getSplatValue<APInt>().getSExtValue();
    return index;
  }
  auto iota = value.getDefiningOp<hlo::IotaOp>();
  std::optional<unsigned> group = iota ? values.space.getIotaGroup(iota) : std::nullopt;
  return group ? std::optional(Index{*group, 0}) : std::nullopt;
}

/// On the diagonal, the order of the constants decides a comparison of row and column.
bool CausalAnalysis::holdsOnDiagonal(Value predicate) {
  auto compare = skipBroadcasts(predicate).getDefiningOp<hlo::CompareOp>();
  if (!compare)
    return false;
  std::optional<Index> left = getIndex(compare.getLhs()), right = getIndex(compare.getRhs());
  if (!left || !right || left->group + right->group != row + column || left->group == right->group)
    return false;
  switch (compare.getComparisonDirection()) {
  case hlo::ComparisonDirection::LT:
    return left->offset < right->offset;
  case hlo::ComparisonDirection::LE:
    return left->offset <= right->offset;
  case hlo::ComparisonDirection::GT:
    return left->offset > right->offset;
  case hlo::ComparisonDirection::GE:
    return left->offset >= right->offset;
  case hlo::ComparisonDirection::EQ:
  case hlo::ComparisonDirection::NE:
    return false;
  }
  llvm_unreachable("all directions are listed");
}

std::optional<bool> CausalAnalysis::aboveDiagonal(Value predicate) {
  if (auto compare = CausalPredicate::match(predicate, values.space, row, column))
    return compare->holds(/*order=*/-1);
  // A window: both the causal comparison and one with the window's begin must hold.
  auto both = skipBroadcasts(predicate).getDefiningOp<hlo::AndOp>();
  if (!both)
    return std::nullopt;
  for (auto [causal, window] :
       {std::pair(both.getLhs(), both.getRhs()), std::pair(both.getRhs(), both.getLhs())})
    if (auto compare = CausalPredicate::match(causal, values.space, row, column);
        compare && !compare->holds(-1) && compare->holds(0) && holdsOnDiagonal(window))
      return false;
  return std::nullopt;
}

Beyond CausalAnalysis::compute(Operation *op) {
  if (isa<hlo::BroadcastInDimOp, hlo::ReshapeOp, hlo::ConvertOp, hlo::NegOp>(op)) {
    Beyond inner = get(op->getOperand(0));
    return isa<hlo::NegOp>(op) && inner == Beyond::FarBelow ? Beyond::Unknown : inner;
  }
  if (auto select = dyn_cast<hlo::SelectOp>(op)) {
    if (std::optional<bool> holds = aboveDiagonal(select.getPred())) {
      Value other = *holds ? select.getOnFalse() : select.getOnTrue();
      Value taken = *holds ? select.getOnTrue() : select.getOnFalse();
      std::optional<double> constant = getSplat(taken);
      // A mask table of zeros, or the scores themselves.
      if (constant && *constant <= kFarBelow && (getSplat(other) == 0.0 || isScore(other)))
        return Beyond::FarBelow;
      return constant == 0.0 ? Beyond::Zero : get(taken);
    }
    Beyond a = get(select.getOnTrue()), b = get(select.getOnFalse());
    return a == b && a == Beyond::Zero ? a : Beyond::Unknown;
  }
  if (isa<hlo::AddOp>(op)) {
    Value a = op->getOperand(0), b = op->getOperand(1);
    if ((get(a) == Beyond::FarBelow && isScore(b)) || (get(b) == Beyond::FarBelow && isScore(a)))
      return Beyond::FarBelow;
    return get(a) == Beyond::Zero && get(b) == Beyond::Zero ? Beyond::Zero : Beyond::Unknown;
  }
  if (isa<hlo::SubtractOp>(op)) {
    Beyond a = get(op->getOperand(0)), b = get(op->getOperand(1));
    if (a == Beyond::FarBelow)
      return variesAlongRow(op->getOperand(1)) ? Beyond::Unknown : a;
    return a == Beyond::Zero && b == Beyond::Zero ? a : Beyond::Unknown;
  }
  if (isa<hlo::ExpOp>(op))
    return get(op->getOperand(0)) == Beyond::FarBelow ? Beyond::Zero : Beyond::Unknown;
  if (isa<hlo::MulOp>(op))
    return get(op->getOperand(0)) == Beyond::Zero || get(op->getOperand(1)) == Beyond::Zero
               ? Beyond::Zero
               : Beyond::Unknown;
  if (isa<hlo::DivOp>(op))
    return get(op->getOperand(0)) == Beyond::Zero ? Beyond::Zero : Beyond::Unknown;
  if (std::optional<double> constant = getSplat(op->getResult(0)))
    return *constant == 0 ? Beyond::Zero : Beyond::Unknown;
  return Beyond::Unknown;
}

Beyond CausalAnalysis::get(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return Beyond::Unknown;
  if (auto found = known.find(value); found != known.end())
    return found->second;
  Beyond beyond = compute(op);
  known[value] = beyond;
  return beyond;
}

bool mlir::cuda::isCausal(const FusedAttention &fused, const ElementValues &values) {
  CausalAnalysis analysis(fused, values);
  for (const SmallVector<ElementValues::Sum> &level : values.levels)
    for (const ElementValues::Sum &sum : level) {
      hlo::ReduceOp reduce = sum.op;
      Operation &combination = reduce.getBody().front().front();
      Beyond beyond = analysis.get(reduce.getInputs()[0]);
      if (!(isa<hlo::MaxOp>(combination) && beyond == Beyond::FarBelow) &&
          !(isa<hlo::AddOp>(combination) && beyond == Beyond::Zero))
        return false;
    }
  for (const auto *products : {&fused.consumers, &fused.crossing})
    for (const AttentionProduct &product : *products)
      if (analysis.get(product.rows) != Beyond::Zero)
        return false;
  size_t stored = fused.stored.size();
  for (auto [i, value] : llvm::enumerate(fused.body().getTerminator()->getOperands()))
    if (i < stored && !values.isOfRow(value))
      return false;
  return true;
}
