//===- Residuals.cpp - Values saved for backward regions ------------------===//

#include "passes/Autodiff/Residuals.h"

#include "mlir/IR/TypeUtilities.h"

#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::stablehlo;
using namespace mlir::st;

/// Returns true if recomputing an op costs no more than reading its result: it moves data, or
/// counts.
static bool isCheap(Operation *op) {
  if (op->getNumRegions() != 0 || op->getNumResults() != 1)
    return false;
  if (isa<ConstantOp, IotaOp, SliceOp, DynamicSliceOp, ReshapeOp, TransposeOp, BroadcastInDimOp,
          ConvertOp>(op))
    return true;
  bool isElementwise = op->hasTrait<OpTrait::Elementwise>() || isa<SelectOp, ClampOp>(op);
  return isElementwise && isa<IntegerType>(getElementTypeOrSelf(op->getResult(0).getType()));
}

/// Returns true if an op's operand is no larger than its result and contains all of its data.
static bool isView(Operation *op) { return isa<ReshapeOp, TransposeOp, BroadcastInDimOp>(op); }

/// Returns true if `backward` can recompute the value without saving it.
bool Residuals::isFree(Value value) {
  if (mapping.contains(value) || value.getParentBlock() != &forward)
    return true;
  auto [place, isNew] = free.try_emplace(value, false);
  if (!isNew)
    return place->second;
  Operation *op = value.getDefiningOp();
  bool result =
      op && isCheap(op) && llvm::all_of(op->getOperands(), [&](Value x) { return isFree(x); });
  return free[value] = result;
}

void Residuals::need(Value value) {
  if (isFree(value))
    return;
  Operation *op = value.getDefiningOp();
  if (op && isView(op))
    need(op->getOperand(0));
  else
    toSave.insert(value);
}

Residuals::Residuals(Block &forward, Block &backward, const IRMapping &known)
    : forward(forward), backward(backward), mapping(known) {
  backward.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (operand.getParentBlock() == &forward)
        taken.insert(operand);
  });
  for (Value value : taken)
    need(value);
}

Value Residuals::reproduce(OpBuilder &builder, Value value) {
  if (Value found = mapping.lookupOrNull(value))
    return found;
  if (value.getParentBlock() != &forward)
    return value;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    mapping.map(operand, reproduce(builder, operand));
  builder.clone(*op, mapping);
  return mapping.lookup(value);
}

void Residuals::replace(OpBuilder &builder, ArrayRef<Value> loaded) {
  for (auto [value, found] : llvm::zip_equal(toSave, loaded))
    mapping.map(value, found);
  for (Value value : taken) {
    Value found = reproduce(builder, value);
    value.replaceUsesWithIf(found, [&](OpOperand &use) {
      return backward.getParent()->isAncestor(use.getOwner()->getParentRegion());
    });
  }
}
