#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Precision/PassUtils.h"

namespace mlir::st {
#define GEN_PASS_DEF_NARROWRESIDUALS
#include "passes/Precision/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;
using namespace mlir::stablehlo;

/// What all results but gradients depend on.
static DenseSet<Operation *> findForward(func::FuncOp function) {
  SmallVector<Value> worklist;
  for (auto [i, value] : llvm::enumerate(function.front().getTerminator()->getOperands())) {
    auto role = function.getResultAttrOfType<StringAttr>(i, kRoleAttr);
    if (!role || role.getValue() != "gradient")
      worklist.push_back(value);
  }
  DenseSet<Operation *> forward;
  while (!worklist.empty())
    if (Operation *op = worklist.pop_back_val().getDefiningOp(); op && forward.insert(op).second)
      llvm::append_range(worklist, op->getOperands());
  return forward;
}

/// Whether a value is one minus the greatest of its row, as softmax has it: its exponential is at
/// most one.
static bool isBelowMaximum(Value value) {
  auto difference = value.getDefiningOp<SubtractOp>();
  if (!difference)
    return false;
  Operation *op = difference.getRhs().getDefiningOp();
  while (isa_and_nonnull<BroadcastInDimOp, ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto maximum = dyn_cast_or_null<ReduceOp>(op);
  return maximum && maximum.getInputs().size() == 1 &&
         maximum.getInputs()[0] == difference.getLhs() &&
         isa<MaxOp>(maximum.getBody().front().front());
}

/// Functions whose values 16 bits hold.
static bool isBounded(Operation *op, ComputeType type) {
  if (isa<TanhOp, LogisticOp, SineOp, CosineOp, chlo::ErfOp, chlo::ErfcOp>(op))
    return true;
  return isa<ExpOp>(op) && (type == ComputeType::BF16 || isBelowMaximum(op->getOperand(0)));
}

static constexpr FactContract kContract = {
    {Fact::Gradients}, FactSet({Fact::Optimizer}) | FactSet::from(Fact::Layout)};

namespace {
struct NarrowResiduals : mlir::st::impl::NarrowResidualsBase<NarrowResiduals> {
  using NarrowResidualsBase::NarrowResidualsBase;

  void runOnOperation() override {
    func::FuncOp function = findStep(getOperation(), getArgument(), kContract);
    if (!function)
      return signalPassFailure();
    DenseSet<Operation *> forward = findForward(function);
    for (Operation &op : llvm::make_early_inc_range(function.front()))
      if (forward.contains(&op) && isBounded(&op, compute) &&
          getElementTypeOrSelf(op.getResult(0).getType()).isF32())
        narrow(op.getResult(0), forward);
  }

  void narrow(Value value, const DenseSet<Operation *> &forward) {
    auto isBackward = [&](OpOperand &use) {
      Operation *user = ownerInBlock(use);
      return !forward.contains(user) && !user->hasTrait<OpTrait::IsTerminator>();
    };
    if (llvm::none_of(value.getUses(), isBackward))
      return;
    Operation *op = value.getDefiningOp();
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(op);
    auto type = cast<RankedTensorType>(value.getType());
    auto rounded = ConvertOp::create(builder, op->getLoc(),
                                     type.clone(getFloatType(compute, op->getContext())), value);
    auto widened = ConvertOp::create(builder, op->getLoc(), type, rounded);
    if (Attribute attr = op->getDiscardableAttr(kBlockAttr)) {
      rounded->setDiscardableAttr(kBlockAttr, attr);
      widened->setDiscardableAttr(kBlockAttr, attr);
    }
    value.replaceUsesWithIf(
        widened, [&](OpOperand &use) { return use.getOwner() != rounded && isBackward(use); });
    ++numNarrowed;
  }

private:
  /// The op of @main's block that a use is in.
  Operation *ownerInBlock(OpOperand &use) {
    Block *block = use.get().getParentBlock();
    return block->findAncestorOpInBlock(*use.getOwner());
  }
};
} // namespace
