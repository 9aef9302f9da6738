#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "passes/Precision/PassUtils.h"

namespace mlir::st {
#define GEN_PASS_DEF_WIDENSUMS
#include "passes/Precision/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;
using namespace mlir::stablehlo;

static bool is16Bit(Value value) {
  return isa<BFloat16Type, Float16Type>(getElementTypeOrSelf(value.getType()));
}

static RankedTensorType toF32(Type type) {
  return cast<RankedTensorType>(type).clone(Float32Type::get(type.getContext()));
}

namespace {
class SumWidener {
public:
  explicit SumWidener(func::FuncOp function) : function(function) {}

  /// Sums over dimensions and scatters.
  void widenReductions();
  /// Ops from which gradients are computed.
  void widenGradients();

  unsigned numWidened = 0;

private:
  void widen(Operation *op);
  /// Returns the value in f32. Removes its rounding if no other user depends on it.
  Value widened(Value value);
  Value toWide(OpBuilder &builder, Value value);

  func::FuncOp function;
  DenseSet<Value> seen;
};
} // namespace

/// Changes the op, its computation and its results to f32; users get the rounded results.
void SumWidener::widen(Operation *op) {
  OpBuilder builder(op);
  for (OpOperand &operand : op->getOpOperands())
    if (is16Bit(operand.get()))
      operand.set(toWide(builder, operand.get()));
  op->walk([&](Operation *inner) {
    for (Region &region : inner->getRegions())
      for (BlockArgument argument : region.getArguments())
        if (is16Bit(argument))
          argument.setType(toF32(argument.getType()));
    if (inner != op)
      for (Value result : inner->getResults())
        if (is16Bit(result))
          result.setType(toF32(result.getType()));
  });
  builder.setInsertionPointAfter(op);
  for (Value result : op->getResults()) {
    if (!is16Bit(result))
      continue;
    Type narrow = result.getType();
    result.setType(toF32(narrow));
    auto rounded = ConvertOp::create(builder, op->getLoc(), narrow, result);
    if (Attribute attr = op->getDiscardableAttr(kBlockAttr))
      rounded->setDiscardableAttr(kBlockAttr, attr);
    result.replaceAllUsesExcept(rounded, rounded);
  }
  ++numWidened;
}

Value SumWidener::toWide(OpBuilder &builder, Value value) {
  if (auto constant = value.getDefiningOp<ConstantOp>())
    return ConstantOp::create(builder, constant.getLoc(),
                              convertElements(constant.getValue(), builder.getF32Type()));
  return ConvertOp::create(builder, value.getLoc(), toF32(value.getType()), value);
}

void SumWidener::widenReductions() {
  for (Operation &op : llvm::make_early_inc_range(function.front()))
    if (isa<ReduceOp, ReduceWindowOp, ScatterOp, SelectAndScatterOp>(op) &&
        llvm::any_of(op.getResults(), is16Bit))
      widen(&op);
}

Value SumWidener::widened(Value value) {
  Operation *op = value.getDefiningOp();
  OpBuilder builder(value.getContext());
  if (auto convert = dyn_cast_or_null<ConvertOp>(op);
      convert && getElementTypeOrSelf(convert.getOperand().getType()).isF32())
    return convert.getOperand();
  if (op && op->hasOneUse() && isa<DotGeneralOp, ConvolutionOp>(op)) {
    value.setType(toF32(value.getType()));
    ++numWidened;
    return value;
  }
  if (op && op->hasOneUse() && isa<AddOp, ReshapeOp, TransposeOp>(op)) {
    for (OpOperand &operand : op->getOpOperands())
      operand.set(widened(operand.get()));
    value.setType(toF32(value.getType()));
    return value;
  }
  if (op)
    builder.setInsertionPointAfter(op);
  else
    builder.setInsertionPointToStart(&function.front());
  return toWide(builder, value);
}

void SumWidener::widenGradients() {
  SmallVector<Value> worklist;
  Operation *end = function.front().getTerminator();
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    auto role = function.getResultAttrOfType<StringAttr>(i, kRoleAttr);
    if (role && role.getValue() == "gradient")
      worklist.push_back(end->getOperand(i));
  }
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op || !seen.insert(value).second)
      continue;
    if (auto convert = dyn_cast<ConvertOp>(op); convert && is16Bit(convert.getOperand())) {
      // The producers of the value have no other user, or remain unchanged.
      Value wide = widened(convert.getOperand());
      convert.replaceAllUsesWith(wide);
      convert.erase();
    } else if (isa<AddOp, ReshapeOp, TransposeOp>(op)) {
      llvm::append_range(worklist, op->getOperands());
    }
  }
}

static constexpr FactContract kContract = {
    {Fact::Gradients}, FactSet({Fact::Optimizer}) | FactSet::from(Fact::Layout)};

namespace {
struct WidenSums : mlir::st::impl::WidenSumsBase<WidenSums> {
  void runOnOperation() override {
    func::FuncOp function = findStep(getOperation(), getArgument(), kContract);
    if (!function)
      return signalPassFailure();
    SumWidener widener(function);
    widener.widenReductions();
    widener.widenGradients();
    numWidened += widener.numWidened;
  }
};
} // namespace
