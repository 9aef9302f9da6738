#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/Import/Passes.h"
#include "passes/Import/PatchConvolution.h"

namespace mlir::st {
#define GEN_PASS_DEF_EXPANDOPS
#include "passes/Import/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

static LogicalResult expandComposite(stablehlo::CompositeOp op) {
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getDecompositionAttr());
  if (!callee || callee.isExternal())
    return op.emitOpError("has no decomposition @") << op.getDecomposition() << " with a body";
  OpBuilder builder(op);
  auto call = func::CallOp::create(builder, op.getLoc(), callee, op.getInputs());
  op->replaceAllUsesWith(call.getResults());
  op->erase();
  return success();
}

/// An update at a constant place that differs from the whole in one dimension: padded to
/// the whole and selected where it lies. Null for any other.
static Value expandUpdate(Emitter &emit, stablehlo::DynamicUpdateSliceOp op) {
  ArrayRef<int64_t> shape = emit.shapeOf(op.getOperand()), part = emit.shapeOf(op.getUpdate());
  std::optional<int64_t> dim;
  int64_t start = 0;
  for (auto [i, index] : llvm::enumerate(op.getStartIndices())) {
    if (shape[i] == part[i])
      continue;
    DenseIntElementsAttr elements;
    if (dim || isa<ComplexType>(emit.typeOf(op.getResult()).getElementType()) ||
        !matchPattern(index, m_Constant(&elements)) || elements.getNumElements() != 1)
      return nullptr;
    dim = i;
    bool isSigned = !getElementTypeOrSelf(index.getType()).isUnsignedInteger();
    APInt value = *elements.begin();
    start =
        isSigned ? value.getSExtValue() : static_cast<int64_t>(value.getLimitedValue(INT64_MAX));
    start = std::clamp<int64_t>(start, 0, shape[i] - part[i]);
  }
  if (!dim)
    return op.getUpdate();
  SmallVector<int64_t> low(shape.size()), high(shape.size()), interior(shape.size());
  low[*dim] = start;
  high[*dim] = shape[*dim] - part[*dim] - start;
  auto scalar = RankedTensorType::get({}, emit.typeOf(op.getResult()).getElementType());
  Value padded = emit.pad(op.getUpdate(), emit.splat(scalar, 0.0), low, high, interior);
  Type i32 = IntegerType::get(op.getContext(), 32);
  Value place = emit.iota(shape, i32, *dim);
  using Direction = stablehlo::ComparisonDirection;
  Value after =
      emit.compare(Direction::GE, place, emit.splatLike(place, static_cast<double>(start)));
  Value before = emit.compare(Direction::LT, place,
                              emit.splatLike(place, static_cast<double>(start + part[*dim])));
  return emit.select(emit.bitAnd(after, before), padded, op.getOperand());
}

/// A product of floats of two types, in the wider one; null for others.
static Value widenProduct(Emitter &emit, stablehlo::DotGeneralOp op) {
  Type lhs = op.getLhs().getType().getElementType(), rhs = op.getRhs().getType().getElementType();
  if (lhs == rhs)
    return nullptr;
  Type wide = lhs.getIntOrFloatBitWidth() < rhs.getIntOrFloatBitWidth() ? rhs : lhs;
  Value operands[] = {emit.convert(op.getLhs(), wide), emit.convert(op.getRhs(), wide)};
  auto widened = cast<stablehlo::DotGeneralOp>(emit.builder.clone(*op));
  widened->setOperands(operands);
  return widened;
}

/// The op in terms of others; null where it stays.
static Value expand(Emitter &emit, Operation *op) {
  if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op))
    return emitPatchConvolution(emit, convolution);
  if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op))
    return expandUpdate(emit, update);
  if (auto product = dyn_cast<stablehlo::DotGeneralOp>(op))
    return widenProduct(emit, product);
  if (isa<chlo::SquareOp>(op))
    return emit.mul(op->getOperand(0), op->getOperand(0));
  return nullptr;
}

namespace {
struct ExpandOps : st::impl::ExpandOpsBase<ExpandOps> {
  using ExpandOpsBase::ExpandOpsBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kBeforeLayout)))
      return signalPassFailure();
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<stablehlo::CompositeOp, stablehlo::ConvolutionOp, stablehlo::DotGeneralOp,
              stablehlo::DynamicUpdateSliceOp, chlo::SquareOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto composite = dyn_cast<stablehlo::CompositeOp>(op)) {
        if (failed(expandComposite(composite)))
          return signalPassFailure();
        ++expanded;
        continue;
      }
      OpBuilder builder(op);
      Emitter emit(builder, op->getBlock(), op->getLoc());
      Value replacement = expand(emit, op);
      if (!replacement)
        continue;
      op->replaceAllUsesWith(ValueRange{replacement});
      op->erase();
      ++expanded;
    }
  }
};
} // namespace
