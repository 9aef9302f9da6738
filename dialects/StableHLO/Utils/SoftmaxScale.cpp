#include "dialects/StableHLO/Utils/SoftmaxScale.h"
#include "dialects/StableHLO/Utils/Reducers.h"
#include "dialects/StableHLO/Utils/Splat.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

std::optional<size_t> mlir::st::findMaximum(hlo::ReduceOp reduce, ArrayRef<hlo::ReduceOp> maxima) {
  auto exponential = reduce.getInputs()[0].getDefiningOp<hlo::ExpOp>();
  auto difference =
      exponential ? exponential.getOperand().getDefiningOp<hlo::SubtractOp>() : nullptr;
  if (!difference || !getElementTypeOrSelf(difference.getType()).isF32() ||
      !combinesWith<hlo::AddOp>(reduce.getBody()))
    return std::nullopt;
  Value subtracted = skipBroadcasts(difference.getRhs());
  for (auto [i, maximum] : llvm::enumerate(maxima)) {
    hlo::ReduceOp other = maximum;
    if (other.getResult(0) == subtracted && other.getInputs()[0] == difference.getLhs() &&
        combinesWith<hlo::MaxOp>(other.getBody()))
      return i;
  }
  return std::nullopt;
}

namespace {
/// The exponents with which a value has e and the sum of e as factors. Zero matches any exponents.
struct Powers {
  int exponential = 0, sum = 0;
  bool isZero = false;

  bool isFree() const { return exponential == 0 && sum == 0; }
  bool operator==(const Powers &other) const {
    return exponential == other.exponential && sum == other.sum;
  }
};

/// Exponents of values with respect to a sum and its operand; std::nullopt if it is no such
/// product.
class PowerAnalysis {
public:
  explicit PowerAnalysis(hlo::ReduceOp sum) : sum(sum) {}

  std::optional<Powers> get(Value value);

private:
  hlo::ReduceOp sum;
  DenseMap<Value, std::optional<Powers>> known;

  std::optional<Powers> compute(Value value);
  std::optional<Powers> join(Value a, Value b);
};
} // namespace

/// Exponents of a selection between two values, or of their sum.
std::optional<Powers> PowerAnalysis::join(Value a, Value b) {
  std::optional<Powers> left = get(a), right = get(b);
  if (!left || !right)
    return std::nullopt;
  if (left->isZero)
    return right;
  return right->isZero || *left == *right ? left : std::nullopt;
}

std::optional<Powers> PowerAnalysis::compute(Value value) {
  if (value == sum.getResult(0))
    return Powers{0, 1};
  if (value == sum.getInputs()[0])
    return Powers{1, 0};
  Operation *op = value.getDefiningOp();
  if (!op)
    return Powers{};
  if (getSplat(value) == 0.0)
    return Powers{0, 0, true};
  if (isa<hlo::ReduceOp>(op))
    return std::nullopt;
  if (isa<hlo::BroadcastInDimOp, hlo::ReshapeOp, hlo::NegOp>(op))
    return get(op->getOperand(0));
  auto isFloat = [](Value of) { return isa<FloatType>(getElementTypeOrSelf(of.getType())); };
  if (isa<hlo::ConvertOp>(op) && isFloat(value) && isFloat(op->getOperand(0)))
    return get(op->getOperand(0));
  if (isa<hlo::MulOp, hlo::DivOp>(op) && isFloat(value)) {
    std::optional<Powers> left = get(op->getOperand(0)), right = get(op->getOperand(1));
    if (!left || !right)
      return std::nullopt;
    const int sign = isa<hlo::MulOp>(op) ? 1 : -1;
    return Powers{left->exponential + sign * right->exponential, left->sum + sign * right->sum,
                  left->isZero || (sign > 0 && right->isZero)};
  }
  if (auto select = dyn_cast<hlo::SelectOp>(op)) {
    std::optional<Powers> condition = get(select.getPred());
    return condition && condition->isFree() ? join(select.getOnTrue(), select.getOnFalse())
                                            : std::nullopt;
  }
  if (isa<hlo::AddOp, hlo::SubtractOp>(op) && isFloat(value))
    return join(op->getOperand(0), op->getOperand(1));
  for (Value operand : op->getOperands()) {
    std::optional<Powers> powers = get(operand);
    if (!powers || !powers->isFree())
      return std::nullopt;
  }
  return Powers{};
}

std::optional<Powers> PowerAnalysis::get(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  std::optional<Powers> powers = compute(value);
  known[value] = powers;
  return powers;
}

std::optional<SoftmaxScale> mlir::st::findSoftmaxScale(Value value, ArrayRef<hlo::ReduceOp> sums) {
  for (auto [i, sum] : llvm::enumerate(sums)) {
    std::optional<Powers> powers = PowerAnalysis(sum).get(value);
    if (powers && powers->exponential == 1 && (powers->sum == 0 || powers->sum == -1))
      return SoftmaxScale{i, powers->sum == -1};
  }
  return std::nullopt;
}
