#include "passes/Pipeline/Recompute.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::st;

static constexpr int64_t kNever = int64_t(1) << 32;
static constexpr int64_t kTranscendentalCost = 2 * kPassCost;
static constexpr int64_t kFewElements = 4;

static bool isTranscendental(Operation *op) {
  using namespace stablehlo;
  return isa<ExpOp, Expm1Op, LogOp, Log1pOp, LogisticOp, TanhOp, TanOp, SineOp, CosineOp, SqrtOp,
             RsqrtOp, CbrtOp, PowOp, Atan2Op, DivOp, RemOp>(op) ||
         isa<chlo::ChloDialect>(op->getDialect());
}

static bool isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() ||
         isa<stablehlo::SelectOp, stablehlo::ClampOp, chlo::ErfOp>(op);
}

static int64_t getOpCost(Operation *op) {
  using namespace stablehlo;
  if (isa<ConstantOp, IotaOp, AxisIndexOp, ReshapeOp, BroadcastInDimOp>(op) || isView(op))
    return 1;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  bool few = type.getNumElements() <= kFewElements;
  if (isElementwise(op))
    return few ? 1 : isTranscendental(op) ? kTranscendentalCost : kPassCost;
  if (isa<SliceOp>(op))
    return few ? 1 : kPassCost;
  return kNever;
}

/// Returns true for ops that index computations consist of.
static bool isIndexArithmetic(Operation *op) {
  using namespace stablehlo;
  return isa<AddOp, SubtractOp, MulOp, AndOp, OrOp, XorOp, MinOp, MaxOp, ShiftLeftOp,
             ShiftRightLogicalOp, CompareOp>(op) &&
         llvm::all_of(op->getOperandTypes(), [](Type type) {
           return isa<IntegerType>(cast<RankedTensorType>(type).getElementType());
         });
}

namespace {
struct Cost {
  int64_t cost = 0;
  bool ofIndices = false; ///< a number that depends on an element's position alone
};
} // namespace

static Cost getCost(Value value, function_ref<bool(Value)> isAtHand, int64_t budget) {
  using namespace stablehlo;
  if (isAtHand(value))
    return {};
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1)
    return {kNever};
  // A loop over elements counts their indices anyway, so values that depend only on indices cost no
  // pass.
  const bool isArithmetic = isIndexArithmetic(op);
  Cost all = {isArithmetic ? 1 : getOpCost(op),
              isArithmetic ||
                  isa<ConstantOp, IotaOp, AxisIndexOp, ReshapeOp, BroadcastInDimOp>(op)};
  for (Value operand : op->getOperands()) {
    if (all.cost > budget)
      return all;
    Cost cost = getCost(operand, isAtHand, budget - all.cost);
    all.cost += cost.cost;
    all.ofIndices &= cost.ofIndices;
  }
  if (isArithmetic && !all.ofIndices)
    all.cost += getOpCost(op) - 1;
  return all;
}

int64_t mlir::st::getRecomputeCost(Value value, function_ref<bool(Value)> isAtHand,
                                   int64_t budget) {
  return getCost(value, isAtHand, budget).cost;
}

int64_t mlir::st::getTensorBytes(Type tensor) {
  auto type = cast<RankedTensorType>(tensor);
  int64_t width = llvm::divideCeil(type.getElementType().getIntOrFloatBitWidth(), 8);
  return type.getNumElements() * width;
}

bool mlir::st::isView(Operation *op) {
  return isa<stablehlo::ReshapeOp, stablehlo::BroadcastInDimOp, stablehlo::ConvertOp>(op) &&
         getTensorBytes(op->getOperand(0).getType()) <= getTensorBytes(op->getResult(0).getType());
}

bool mlir::st::looksUpMatrices(Operation *op) {
  auto gather = dyn_cast<stablehlo::GatherOp>(op);
  return gather && isa<BlockArgument>(gather.getOperand()) &&
         llvm::count_if(gather.getSliceSizes(), [](int64_t size) { return size > 1; }) >= 2;
}

bool mlir::st::readsElementwise(Operation *op) {
  return isElementwise(op) || isa<stablehlo::BroadcastInDimOp, stablehlo::ReduceOp>(op);
}
