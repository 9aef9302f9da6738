#include "backends/cuda/codegen/kernels/OnlineSums.h"

#include "dialects/StableHLO/Utils/Reducers.h"
#include "dialects/StableHLO/Utils/Splat.h"
#include "mlir/IR/OperationSupport.h"

#include <cmath>

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::getSplat;
using mlir::st::skipBroadcasts;
namespace hlo = mlir::stablehlo;

namespace {
/// Dependence of values on one maximum of rows.
class MaximumDependence {
public:
  explicit MaximumDependence(hlo::ReduceOp reduce)
      : maximum(reduce.getResult(0)), input(reduce.getInputs()[0]),
        masked(findMasked(reduce.getInputs()[0])) {}

  enum Kind {
    Free,   ///< independent
    Scaled, ///< an exponential relative to it times a free value, or zero
    Other,
  };
  Kind get(Value value);

  /// Returns true if exponents of scaled values never exceed the maximum.
  bool isBounded() const { return exponential && (isOfInput || isMasked); }
  hlo::ExpOp exponential; ///< the exponential of scaled values

private:
  static hlo::SelectOp findMasked(Value input);
  Kind compute(Value value);
  Kind computeSelect(hlo::SelectOp select);

  Value maximum, input;
  hlo::SelectOp masked; ///< the maximum's input, if it is -inf where a mask is false
  bool isOfInput = false, isMasked = false;
  DenseMap<Value, Kind> known;
};
} // namespace

hlo::SelectOp MaximumDependence::findMasked(Value input) {
  auto select = input.getDefiningOp<hlo::SelectOp>();
  const std::optional<double> minimum = select ? getSplat(select.getOnFalse()) : std::nullopt;
  return minimum && std::isinf(*minimum) && *minimum < 0 ? select : hlo::SelectOp();
}

/// Returns true if two values of a body are equal: kernels may have repeated ops.
static bool isSame(Value a, Value b) {
  if (a == b)
    return true;
  Operation *left = a.getDefiningOp(), *right = b.getDefiningOp();
  return left && right &&
         OperationEquivalence::isEquivalentTo(
             left, right, [](Value x, Value y) { return success(isSame(x, y)); },
             /*markEquivalent=*/nullptr, OperationEquivalence::IgnoreLocations);
}

MaximumDependence::Kind MaximumDependence::computeSelect(hlo::SelectOp select) {
  const Kind onTrue = get(select.getOnTrue()), onFalse = get(select.getOnFalse());
  if (get(select.getPred()) != Free)
    return Other;
  if (onTrue == Free && onFalse == Free)
    return Free;
  if (onTrue == Scaled && getSplat(select.getOnFalse()) == 0.0) {
    isMasked |= masked && isSame(select.getPred(), masked.getPred());
    return Scaled;
  }
  return onFalse == Scaled && getSplat(select.getOnTrue()) == 0.0 ? Scaled : Other;
}

MaximumDependence::Kind MaximumDependence::compute(Value value) {
  if (value == maximum)
    return Other;
  Operation *op = value.getDefiningOp();
  if (!op)
    return Free;
  if (auto exp = dyn_cast<hlo::ExpOp>(op)) {
    auto difference = exp.getOperand().getDefiningOp<hlo::SubtractOp>();
    if (difference && skipBroadcasts(difference.getRhs()) == maximum &&
        get(difference.getLhs()) == Free && (!exponential || exponential == exp)) {
      exponential = exp;
      isOfInput = difference.getLhs() == input;
      if (masked && masked.getOnTrue() != difference.getLhs())
        masked = {};
      return Scaled;
    }
  }
  if (auto select = dyn_cast<hlo::SelectOp>(op))
    return computeSelect(select);
  if (isa<hlo::MulOp>(op)) {
    const Kind left = get(op->getOperand(0)), right = get(op->getOperand(1));
    if ((left == Scaled && right == Free) || (left == Free && right == Scaled))
      return Scaled;
  }
  const bool isFree =
      llvm::all_of(op->getOperands(), [&](Value operand) { return get(operand) == Free; });
  return isFree ? Free : Other;
}

MaximumDependence::Kind MaximumDependence::get(Value value) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  const Kind kind = compute(value);
  known[value] = kind;
  return kind;
}

std::optional<OnlineSum> mlir::cuda::findOnlineSum(const ElementValues::Sum &sum,
                                                   ArrayRef<ElementValues::Sum> maxima) {
  hlo::ReduceOp reduce = sum.op;
  Value term = reduce.getInputs()[0];
  if (!mlir::st::combinesWith<hlo::AddOp>(reduce.getBody()) ||
      !getElementTypeOrSelf(term.getType()).isF32())
    return std::nullopt;
  std::optional<OnlineSum> found;
  for (auto [i, other] : llvm::enumerate(maxima)) {
    hlo::ReduceOp maximum = other.op;
    MaximumDependence dependence(maximum);
    const MaximumDependence::Kind kind = dependence.get(term);
    if (kind == MaximumDependence::Free)
      continue;
    if (kind != MaximumDependence::Scaled || found ||
        !mlir::st::combinesWith<hlo::MaxOp>(maximum.getBody()) || !dependence.isBounded())
      return std::nullopt;
    found = {i, dependence.exponential};
  }
  return found;
}

Number mlir::cuda::getBelow(Number greatest) {
  Number lowest = greatest.extreme(/*largest=*/false, /*isUnsigned=*/false);
  return (greatest == lowest).select(greatest.constant(0), greatest);
}
