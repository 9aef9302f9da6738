#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/StableHLO/Analysis/DotAlgorithm.h"
#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/ApplyToElements.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/Import/IndexlessOps.h"
#include "passes/Import/Passes.h"
#include "passes/Import/PatchConvolution.h"
#include <map>

namespace mlir::st {
#define GEN_PASS_DEF_EXPANDOPS
#include "passes/Import/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

/// Creates the chlo op that a composite wraps, or returns null. JAX's serialiser writes chlo ops as
/// composites with a decomposition.
static Operation *createChloOp(stablehlo::CompositeOp op) {
  constexpr int32_t kVersion = 1;
  auto info = RegisteredOperationName::lookup(op.getName(), op.getContext());
  if (!info || !op.getName().starts_with("chlo.") || op.getVersion() != kVersion)
    return nullptr;
  NamedAttrList attributes(op.getCompositeAttributes());
  auto isQuiet = [&] { return InFlightDiagnostic(); };
  if (failed(info->verifyInherentAttrs(attributes, isQuiet)))
    return nullptr;
  OperationState state(op.getLoc(), *info);
  state.addOperands(op.getInputs());
  state.addTypes(op.getResultTypes());
  state.addAttributes(attributes);
  OpBuilder builder(op);
  return builder.create(state);
}

static LogicalResult expandComposite(stablehlo::CompositeOp op) {
  if (Operation *function = createChloOp(op)) {
    op->replaceAllUsesWith(function);
    op->erase();
    return success();
  }
  auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(op, op.getDecompositionAttr());
  if (!callee || callee.isExternal())
    return op.emitOpError("has no decomposition @") << op.getDecomposition() << " with a body";
  OpBuilder builder(op);
  auto call = func::CallOp::create(builder, op.getLoc(), callee, op.getInputs());
  op->replaceAllUsesWith(call.getResults());
  op->erase();
  return success();
}

namespace {
/// A constant position in one dimension. None if the update is as large as the operand.
struct Place {
  std::optional<int64_t> dim;
  int64_t start = 0, size = 0;
};
} // namespace

/// Returns std::nullopt for an update at a computed position, or one that is smaller in several
/// dimensions.
static std::optional<Place> findPlace(stablehlo::DynamicUpdateSliceOp op) {
  ArrayRef<int64_t> shape = Emitter::shapeOf(op.getOperand()),
                    part = Emitter::shapeOf(op.getUpdate());
  Place place;
  for (auto [i, index] : llvm::enumerate(op.getStartIndices())) {
    if (shape[i] == part[i])
      continue;
    DenseIntElementsAttr elements;
    if (place.dim || isa<ComplexType>(Emitter::typeOf(op.getResult()).getElementType()) ||
        !matchPattern(index, m_Constant(&elements)) || elements.getNumElements() != 1)
      return std::nullopt;
    bool isSigned = !getElementTypeOrSelf(index.getType()).isUnsignedInteger();
    APInt value = *elements.begin();
    int64_t start =
        isSigned ? value.getSExtValue() : static_cast<int64_t>(value.getLimitedValue(INT64_MAX));
    place = {static_cast<int64_t>(i), std::clamp<int64_t>(start, 0, shape[i] - part[i]), part[i]};
  }
  return place;
}

/// Concatenates updates that fill a dimension one after the other, as an unrolled scan stacks its
/// results. Null if `last` does not end such a sequence.
static Value joinUpdates(Emitter &emit, stablehlo::DynamicUpdateSliceOp last) {
  std::optional<int64_t> dim;
  std::map<int64_t, std::pair<int64_t, Value>> pieces; // by start: size and value
  for (auto link = last; link;) {
    std::optional<Place> place = findPlace(link);
    if (!place || !place->dim || (dim && *dim != *place->dim))
      break;
    dim = place->dim;
    pieces.try_emplace(place->start, place->size, link.getUpdate());
    Value operand = link.getOperand();
    link = operand.hasOneUse() ? operand.getDefiningOp<stablehlo::DynamicUpdateSliceOp>() : nullptr;
  }
  SmallVector<Value> values;
  int64_t end = 0;
  for (auto &[start, piece] : pieces) {
    if (start != end)
      return nullptr;
    end += piece.first;
    values.push_back(piece.second);
  }
  if (values.size() < 2 || end != Emitter::shapeOf(last.getResult())[*dim])
    return nullptr;
  return emit.concatenate(values, *dim);
}

/// An update at a constant position: padded to the operand's shape and selected at that position.
/// Null for any other.
static Value expandUpdate(Emitter &emit, stablehlo::DynamicUpdateSliceOp op) {
  std::optional<Place> place = findPlace(op);
  if (!place)
    return nullptr;
  if (!place->dim)
    return op.getUpdate();
  if (Value joined = joinUpdates(emit, op))
    return joined;
  ArrayRef<int64_t> shape = Emitter::shapeOf(op.getOperand());
  int64_t dim = *place->dim, start = place->start, end = start + place->size;
  SmallVector<int64_t> low(shape.size()), high(shape.size()), interior(shape.size());
  low[dim] = start;
  high[dim] = shape[dim] - end;
  auto scalar = RankedTensorType::get({}, emit.typeOf(op.getResult()).getElementType());
  Value padded = emit.pad(op.getUpdate(), emit.splat(scalar, 0.0), low, high, interior);
  Type i32 = IntegerType::get(op.getContext(), 32);
  Value position = emit.iota(shape, i32, dim);
  using Direction = stablehlo::ComparisonDirection;
  Value after =
      emit.compare(Direction::GE, position, emit.splatLike(position, static_cast<double>(start)));
  Value before =
      emit.compare(Direction::LT, position, emit.splatLike(position, static_cast<double>(end)));
  return emit.select(emit.bitAnd(after, before), padded, op.getOperand());
}

/// A product whose operands have the type in which it is computed: the type to which its algorithm
/// rounds them or, of two float types, the wider one. Null if they already have it.
static Value convertOperands(Emitter &emit, stablehlo::DotGeneralOp op) {
  Value operands[] = {emit.convert(op.getLhs(), getRoundedType(op, 0)),
                      emit.convert(op.getRhs(), getRoundedType(op, 1))};
  const bool isRounded = operands[0] != op.getLhs() || operands[1] != op.getRhs();
  Type lhs = getElementTypeOrSelf(operands[0]), rhs = getElementTypeOrSelf(operands[1]);
  if (lhs != rhs) {
    Type wide = lhs.getIntOrFloatBitWidth() < rhs.getIntOrFloatBitWidth() ? rhs : lhs;
    operands[0] = emit.convert(operands[0], wide);
    operands[1] = emit.convert(operands[1], wide);
  } else if (!isRounded) {
    return nullptr;
  }
  auto converted = cast<stablehlo::DotGeneralOp>(emit.builder.clone(*op));
  converted->setOperands(operands);
  if (isRounded)
    converted.removeAlgorithmAttr();
  return converted;
}

/// Returns the replacement of an op by other ops, or null if the op stays.
static Value expand(Emitter &emit, Operation *op) {
  if (auto convolution = dyn_cast<stablehlo::ConvolutionOp>(op))
    return emitPatchConvolution(emit, convolution);
  if (auto update = dyn_cast<stablehlo::DynamicUpdateSliceOp>(op))
    return expandUpdate(emit, update);
  if (auto product = dyn_cast<stablehlo::DotGeneralOp>(op))
    return convertOperands(emit, product);
  if (auto gather = dyn_cast<stablehlo::GatherOp>(op))
    return expandIndexless(emit, gather);
  if (auto scatter = dyn_cast<stablehlo::ScatterOp>(op))
    return expandIndexless(emit, scatter);
  if (auto map = dyn_cast<stablehlo::MapOp>(op)) {
    auto created = applyToElements(emit, map.getComputation(), map.getInputs());
    return created ? created->front() : Value();
  }
  if (isa<chlo::SquareOp>(op))
    return emit.mul(op->getOperand(0), op->getOperand(0));
  return nullptr;
}

namespace {
struct ExpandOps : mlir::st::impl::ExpandOpsBase<ExpandOps> {
  using ExpandOpsBase::ExpandOpsBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kBeforeLayout)))
      return signalPassFailure();
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<stablehlo::CompositeOp, stablehlo::ConvolutionOp, stablehlo::DotGeneralOp,
              stablehlo::DynamicUpdateSliceOp, stablehlo::GatherOp, stablehlo::MapOp,
              stablehlo::ScatterOp, chlo::SquareOp>(op))
        ops.push_back(op);
    });
    // Users first, so that complete sequences of updates are joined.
    for (Operation *op : llvm::reverse(ops)) {
      if (isa<stablehlo::DynamicUpdateSliceOp>(op) && op->use_empty()) {
        op->erase();
        continue;
      }
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
