#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Reducers.h"
#include "passes/Precision/OpPrecision.h"
#include "passes/Precision/PassUtils.h"

namespace mlir::st {
#define GEN_PASS_DEF_NARROWRESIDUALS
#include "passes/Precision/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;
using namespace mlir::stablehlo;

/// Returns the values on which results other than gradients depend.
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

/// Returns true if a value is x - max(x) of a row, as in softmax. Its exponential is at most one.
static bool isBelowMaximum(Value value) {
  auto difference = value.getDefiningOp<SubtractOp>();
  if (!difference)
    return false;
  Operation *op = difference.getRhs().getDefiningOp();
  while (isa_and_nonnull<BroadcastInDimOp, ReshapeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto maximum = dyn_cast_or_null<ReduceOp>(op);
  return maximum && maximum.getInputs().size() == 1 &&
         maximum.getInputs()[0] == difference.getLhs() && combinesWith<MaxOp>(maximum.getBody());
}

/// Returns true for functions whose results fit 16 bits.
static bool isBounded(Operation *op, ComputeType type) {
  if (isa<TanhOp, LogisticOp, SineOp, CosineOp, chlo::ErfOp, chlo::ErfcOp>(op))
    return true;
  return isa<ExpOp>(op) && (type == ComputeType::BF16 || isBelowMaximum(op->getOperand(0)));
}

namespace {
/// The rounded values that the backward pass of one @main reads.
class ResidualNarrower {
public:
  ResidualNarrower(func::FuncOp function, ComputeType type)
      : function(function), type(type), forward(findForward(function)) {}

  void run();

  unsigned numNarrowed = 0;

private:
  bool isBackward(OpOperand &use);
  /// Returns the value that the backward pass reads instead of a value of the forward pass, or null
  /// if it reads the same value.
  Value readingOf(Value value);
  Value roundAndWiden(Value value);
  Value cloneWithReadings(Operation *op);

  func::FuncOp function;
  ComputeType type;
  DenseSet<Operation *> forward;
  DenseMap<Value, Value> readings;
};
} // namespace

bool ResidualNarrower::isBackward(OpOperand &use) {
  Operation *user = function.front().findAncestorOpInBlock(*use.getOwner());
  return !forward.contains(user) && !user->hasTrait<OpTrait::IsTerminator>();
}

Value ResidualNarrower::roundAndWiden(Value value) {
  Operation *op = value.getDefiningOp();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto wide = cast<RankedTensorType>(value.getType());
  Type narrow = wide.clone(getFloatType(type, op->getContext()));
  auto rounded = ConvertOp::create(builder, op->getLoc(), narrow, value);
  auto widened = ConvertOp::create(builder, op->getLoc(), wide, rounded);
  if (Attribute attr = op->getDiscardableAttr(kBlockAttr))
    for (Operation *conversion : {rounded.getOperation(), widened.getOperation()})
      conversion->setDiscardableAttr(kBlockAttr, attr);
  ++numNarrowed;
  return widened;
}

/// The backward pass recomputes arithmetic whose operands are rounded values, 16-bit values or
/// constants, such as 1 + erf(x) in GELU.
Value ResidualNarrower::cloneWithReadings(Operation *op) {
  SmallVector<Value> operands;
  bool hasReading = false;
  for (Value operand : op->getOperands()) {
    Value reading = readingOf(operand);
    hasReading |= reading != nullptr;
    operands.push_back(reading ? reading : operand);
    Operation *producer = operand.getDefiningOp();
    if (!reading && !isa_and_nonnull<ConvertOp, ConstantOp>(producer))
      return nullptr;
  }
  if (!hasReading)
    return nullptr;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Operation *clone = builder.clone(*op);
  clone->setOperands(operands);
  return clone->getResult(0);
}

Value ResidualNarrower::readingOf(Value value) {
  auto [it, isNew] = readings.try_emplace(value);
  if (!isNew)
    return it->second;
  Operation *op = value.getDefiningOp();
  Value reading;
  if (op && forward.contains(op) && op->getNumResults() == 1 &&
      getElementTypeOrSelf(value.getType()).isF32()) {
    if (isBounded(op, type))
      reading = roundAndWiden(value);
    else if (getOpPrecision(op) == OpPrecision::Follows)
      reading = cloneWithReadings(op);
  }
  return readings[value] = reading;
}

void ResidualNarrower::run() {
  SmallVector<Value> values;
  for (Operation &op : function.front())
    if (forward.contains(&op))
      llvm::append_range(values, op.getResults());
  for (Value value : values) {
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : value.getUses())
      if (isBackward(use))
        uses.push_back(&use);
    Value reading = uses.empty() ? nullptr : readingOf(value);
    for (OpOperand *use : uses)
      if (reading)
        use->set(reading);
  }
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
    ResidualNarrower narrower(function, compute);
    narrower.run();
    numNarrowed += narrower.numNarrowed;
  }
};
} // namespace
