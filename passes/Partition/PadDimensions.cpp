#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/IR/Signature.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/St/Sharding/ChooseSharding.h"
#include "dialects/St/Utils/AttributeListener.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Partition/DimensionClasses.h"
#include "passes/Partition/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_PADDIMENSIONS
#include "passes/Partition/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

namespace {
/// Gives every value of a function the type that its dimensions' classes require.
class Padder {
public:
  Padder(func::FuncOp function, const DimensionClasses &classes)
      : function(function), classes(classes), builder(function.getContext(), &listener) {}

  void run();
  int64_t masks() const { return maskCount; }

private:
  void remember(Block &block);
  void padBlock(Block &block);
  void padOp(Operation &op);
  void padLoop(hlo::WhileOp loop);
  void padSignature();
  void cleanState();
  void shareMasked();
  void noteClean(Operation &op);
  llvm::SmallBitVector paddedDims(Value value) const;
  void clampIndices(hlo::GatherOp gather);
  void unpadCaptured(Operation &op);
  Value operandFor(OpOperand &operand, const ShardingRule &rule);
  Value withShape(Value value, ArrayRef<int64_t> shape);
  Value masked(Value value, const llvm::SmallBitVector &dims, ReductionKind kind);
  Value identity(Location loc, RankedTensorType type, ReductionKind kind);
  void setAfter(Value value);

  RankedTensorType typeBefore(Value value) const { return before.lookup(value); }

  func::FuncOp function;
  const DimensionClasses &classes;
  AttributeListener listener{kBlockAttr};
  OpBuilder builder;
  Operation *current = nullptr; ///< The op whose operands get another form.
  DenseMap<Value, RankedTensorType> before;
  /// Other forms of a value: sliced to a shape, or with its padding set to a reduction's identity.
  DenseMap<Value, SmallVector<Value, 2>> cut;
  struct Masked {
    llvm::SmallBitVector dims;
    ReductionKind kind;
    Value value;
  };
  llvm::MapVector<Value, SmallVector<Masked, 1>> maskedForms;
  DenseMap<std::pair<Value, int64_t>, Value> clamped; ///< indices clamped to the last row that they
                                                      ///< may name
  DenseSet<Value> clean;                              ///< values whose padding is zero
  int64_t maskCount = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Forms of a value
//===----------------------------------------------------------------------===//

/// Forms are placed directly after the value, so that every user can use them. Those of an argument
/// are before the first op that needs them. At the beginning of the program, they would make the
/// layer of that op the first one of the model.
void Padder::setAfter(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return builder.setInsertionPoint(argument.getOwner()->findAncestorOpInBlock(*current));
  builder.setInsertionPointAfterValue(value);
  if (Operation *op = value.getDefiningOp())
    if (Attribute block = op->getDiscardableAttr(kBlockAttr))
      listener.value = block;
}

/// Slices a value to the first elements of each dimension.
Value Padder::withShape(Value value, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() == shape)
    return value;
  for (Value other : cut[value])
    if (cast<RankedTensorType>(other.getType()).getShape() == shape)
      return other;
  setAfter(value);
  SmallVector<int64_t> starts(shape.size(), 0), strides(shape.size(), 1);
  Value slice = hlo::SliceOp::create(builder, value.getLoc(), type.clone(shape), value, starts,
                                     shape, strides);
  cut[value].push_back(slice);
  return slice;
}

/// The identity of a reduction.
Value Padder::identity(Location loc, RankedTensorType type, ReductionKind kind) {
  Type element = type.getElementType();
  Attribute value = builder.getZeroAttr(element);
  if (auto complex = dyn_cast<ComplexType>(element)) {
    Attribute zero = builder.getZeroAttr(complex.getElementType());
    value = builder.getArrayAttr({zero, zero});
  }
  bool isMax = kind == ReductionKind::Max;
  auto integer = dyn_cast<IntegerType>(element);
  if (kind == ReductionKind::And) {
    value = builder.getIntegerAttr(element, APInt::getAllOnes(integer.getWidth()));
  } else if (isMax || kind == ReductionKind::Min) {
    if (auto real = dyn_cast<FloatType>(element)) {
      value = builder.getFloatAttr(element, APFloat::getInf(real.getFloatSemantics(), isMax));
    } else {
      unsigned width = integer.getWidth();
      bool isUnsigned = integer.isUnsigned() || width == 1;
      APInt minimum = isUnsigned ? APInt::getMinValue(width) : APInt::getSignedMinValue(width);
      APInt largest = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
      value = builder.getIntegerAttr(element, isMax ? minimum : largest);
    }
  }
  return hlo::ConstantOp::create(builder, loc, SplatElementsAttr::get(type, value));
}

/// The value with its padding along `dims` set to the reduction's identity.
Value Padder::masked(Value value, const llvm::SmallBitVector &dims, ReductionKind kind) {
  for (const Masked &known : maskedForms[value])
    if (known.dims == dims && known.kind == kind)
      return known.value;
  setAfter(value);
  Location loc = value.getLoc();
  auto type = cast<RankedTensorType>(value.getType());
  RankedTensorType positions = type.clone(builder.getI32Type());
  Value isElement;
  for (int dim : dims.set_bits()) {
    Value position = hlo::IotaOp::create(builder, loc, positions, dim);
    Attribute size = builder.getI32IntegerAttr(typeBefore(value).getDimSize(dim));
    Value limit = hlo::ConstantOp::create(builder, loc, SplatElementsAttr::get(positions, size));
    Value isWithin =
        hlo::CompareOp::create(builder, loc, position, limit, hlo::ComparisonDirection::LT);
    isElement = isElement ? Value(hlo::AndOp::create(builder, loc, isElement, isWithin)) : isWithin;
  }
  Value result =
      hlo::SelectOp::create(builder, loc, type, isElement, value, identity(loc, type, kind));
  maskedForms[value].push_back({dims, kind, result});
  before[result] = typeBefore(value);
  if (kind == ReductionKind::Sum && dims == paddedDims(value))
    clean.insert(result);
  ++maskCount;
  return result;
}

/// Records results whose padding is zero. The padding of state is zero before a step, and the step
/// keeps it so.
void Padder::noteClean(Operation &op) {
  auto isClean = [&](Value value) {
    return clean.contains(value) || value.getType() == typeBefore(value) || isZeroConstant(value);
  };
  if (isa<hlo::TransposeOp, hlo::ReshapeOp, hlo::ConvertOp, hlo::NegOp, hlo::AddOp, hlo::SubtractOp,
          ConstrainOp>(op) &&
      llvm::all_of(op.getOperands(), isClean))
    clean.insert(op.getResult(0));
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Returns the form of the operand that the op needs: without padding that the op does not support,
/// and with padding that it would reduce masked.
Value Padder::operandFor(OpOperand &operand, const ShardingRule &rule) {
  Value value = operand.get();
  RankedTensorType real = typeBefore(value);
  if (!real || real == value.getType())
    return value;
  static const TensorFactors none;
  unsigned i = operand.getOperandNumber();
  const TensorFactors &factors = i < rule.operands.size() ? rule.operands[i] : none;
  SmallVector<int64_t> shape(cast<RankedTensorType>(value.getType()).getShape());
  llvm::SmallBitVector reduced(shape.size());
  ReductionKind kind = ReductionKind::Sum;
  for (auto [dim, size] : llvm::enumerate(shape)) {
    if (size == real.getDimSize(dim))
      continue;
    if (!classes.takesPadding(operand.getOwner(), factors, dim)) {
      size = real.getDimSize(dim);
      continue;
    }
    const Factor &factor = rule.factors[factors[dim].front()];
    // A lookup sums over the rows of all devices, and padding contributes none.
    bool ignoresZeros = factor.kind == FactorKind::Reduction &&
                        factor.reduction == ReductionKind::Sum && clean.contains(value);
    if (factor.kind == FactorKind::Reduction && !ignoresZeros &&
        !isa<hlo::GatherOp>(operand.getOwner())) {
      reduced.set(dim);
      kind = factor.reduction;
    }
  }
  if (reduced.any())
    value = masked(value, reduced, kind);
  return withShape(value, shape);
}

/// Out-of-bounds indices must name the last row, not padding after it.
void Padder::clampIndices(hlo::GatherOp gather) {
  ArrayRef<int64_t> map = gather.getDimensionNumbers().getStartIndexMap();
  RankedTensorType real = typeBefore(gather.getOperand());
  auto padded = cast<RankedTensorType>(gather.getOperand().getType());
  if (map.size() != 1 || !real || real.getDimSize(map[0]) == padded.getDimSize(map[0]))
    return;
  Value indices = gather.getStartIndices();
  auto type = cast<RankedTensorType>(indices.getType());
  auto element = cast<IntegerType>(type.getElementType());
  unsigned width = element.getWidth();
  int64_t last = real.getDimSize(map[0]) - 1;
  int64_t largest = width - !element.isUnsigned() >= 63
                        ? std::numeric_limits<int64_t>::max()
                        : (int64_t{1} << (width - !element.isUnsigned())) - 1;
  Value &known = clamped[{indices, last}];
  if (known) {
    gather.getStartIndicesMutable().assign(known);
    return;
  }
  setAfter(indices);
  auto splat = [&](int64_t value) {
    return hlo::ConstantOp::create(
        builder, gather.getLoc(),
        SplatElementsAttr::get(type, builder.getIntegerAttr(element, APInt(width, value))));
  };
  Value first = splat(0), end = splat(std::min(last, largest));
  known = hlo::ClampOp::create(builder, gather.getLoc(), type, first, indices, end);
  gather.getStartIndicesMutable().assign(known);
}

/// Values that regions capture keep their original shape.
void Padder::unpadCaptured(Operation &op) {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op.getRegions(), captured);
  for (Value value : captured)
    if (RankedTensorType real = typeBefore(value); real && real != value.getType()) {
      Value unpadded = withShape(value, real.getShape());
      value.replaceUsesWithIf(unpadded,
                              [&](OpOperand &use) { return op.isProperAncestor(use.getOwner()); });
    }
}

void Padder::padLoop(hlo::WhileOp loop) {
  for (auto [i, result] : llvm::enumerate(loop.getResults()))
    for (Value same : {Value(result), Value(loop.getCond().getArgument(i)),
                       Value(loop.getBody().getArgument(i))})
      same.setType(classes.paddedType(same));
  padBlock(loop.getCond().front());
  padBlock(loop.getBody().front());
}

void Padder::padOp(Operation &op) {
  if (auto loop = dyn_cast<hlo::WhileOp>(op))
    return padLoop(loop);
  if (op.hasTrait<OpTrait::IsTerminator>())
    return;
  const ShardingRule &rule = classes.ruleOf(&op);
  current = &op;
  listener.value = op.getDiscardableAttr(kBlockAttr);
  unpadCaptured(op);
  for (OpOperand &operand : op.getOpOperands()) {
    operand.set(operandFor(operand, rule));
    listener.value = op.getDiscardableAttr(kBlockAttr);
  }
  if (auto gather = dyn_cast<hlo::GatherOp>(op))
    clampIndices(gather);

  SmallVector<Type> wanted, created;
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    wanted.push_back(classes.paddedType(result));
    created.push_back(wanted.back());
    auto type = dyn_cast<RankedTensorType>(result.getType());
    if (!type || type == wanted.back())
      continue;
    SmallVector<int64_t> shape(cast<RankedTensorType>(wanted.back()).getShape());
    static const TensorFactors none;
    const TensorFactors &factors = i < rule.results.size() ? rule.results[i] : none;
    for (auto [dim, size] : llvm::enumerate(shape))
      if (!classes.takesPadding(&op, factors, dim))
        size = type.getDimSize(dim);
    created.back() = type.clone(shape);
  }
  if (TypeRange(created) == op.getResultTypes() && wanted == created)
    return;
  listener.value = op.getDiscardableAttr(kBlockAttr);
  SmallVector<Value> results(op.getResults());
  builder.setInsertionPoint(&op);
  LocalizeContext context{rule, builder, created, {}, {}, {}, {}, {}};
  context.factorShards.assign(rule.factors.size(), 1);
  context.toGlobal = context.toLocal = [](int64_t, Value positions) { return positions; };
  auto interface = dyn_cast<ShardingRuleOpInterface>(op);
  (void)(interface ? interface.localize(context) : localizeByTypes(&op, context));
  noteClean(op);
  for (auto [result, type] : llvm::zip_equal(results, wanted)) {
    if (result.getType() == type)
      continue;
    // The op does not pad a dimension that is padded in other values of its class.
    auto from = cast<RankedTensorType>(result.getType());
    auto to = cast<RankedTensorType>(type);
    builder.setInsertionPointAfterValue(result);
    SmallVector<int64_t> none(from.getRank(), 0), high;
    for (auto [small, large] : llvm::zip_equal(from.getShape(), to.getShape()))
      high.push_back(large - small);
    Value zero = identity(result.getLoc(), from.clone(ArrayRef<int64_t>()), ReductionKind::Sum);
    auto pad = hlo::PadOp::create(builder, result.getLoc(), to, result, zero, none, high, none);
    before[pad] = typeBefore(result);
    if (from == typeBefore(result))
      clean.insert(pad);
    result.replaceAllUsesExcept(pad, pad);
    cut[pad].push_back(result);
  }
}

void Padder::padBlock(Block &block) {
  // Ops that padding adds need no padding themselves.
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : ops)
    padOp(*op);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void Padder::remember(Block &block) {
  auto add = [&](Value value) {
    if (auto type = dyn_cast<RankedTensorType>(value.getType()))
      before[value] = type;
  };
  llvm::for_each(block.getArguments(), add);
  for (Operation &op : block) {
    llvm::for_each(op.getResults(), add);
    if (isa<hlo::WhileOp>(op))
      for (Region &region : op.getRegions())
        remember(region.front());
  }
}

/// The padded dimensions of a value.
llvm::SmallBitVector Padder::paddedDims(Value value) const {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(value.getType()).getShape();
  llvm::SmallBitVector dims(shape.size());
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size != typeBefore(value).getDimSize(dim))
      dims.set(dim);
  return dims;
}

/// New state must have zero padding, like the state it replaces.
void Padder::cleanState() {
  listener.value = {};
  Operation *end = function.front().getTerminator();
  current = end;
  for (BlockArgument argument : function.getArguments()) {
    auto alias =
        function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), "tf.aliasing_output");
    if (!alias || alias.getInt() >= end->getNumOperands())
      continue;
    OpOperand &next = end->getOpOperand(alias.getInt());
    if (typeBefore(next.get()) != next.get().getType() && !clean.contains(next.get()))
      next.set(masked(next.get(), paddedDims(next.get()), ReductionKind::Sum));
  }
}

/// If a product reads the masked form, only this form is stored, and other users read it
/// too.
void Padder::shareMasked() {
  for (auto &[value, forms] : maskedForms) {
    if (!value.getDefiningOp())
      continue;
    for (const Masked &form : forms)
      if (llvm::any_of(form.value.getUsers(), [](Operation *user) {
            return isa<hlo::DotGeneralOp, hlo::ConvolutionOp>(user);
          })) {
        // Other forms of the value may come before this one.
        Operation *mask = form.value.getDefiningOp();
        value.replaceUsesWithIf(form.value, [&](OpOperand &use) {
          Operation *user = mask->getBlock()->findAncestorOpInBlock(*use.getOwner());
          return user && mask->isBeforeInBlock(user);
        });
        break;
      }
  }
}

void Padder::padSignature() {
  Signature signature(function);
  for (BlockArgument argument : function.getArguments())
    if (RankedTensorType real = typeBefore(argument); real && real != argument.getType())
      signature.setArgumentAttr(argument.getArgNumber(), kUnpaddedTypeAttr, TypeAttr::get(real));
  Operation *end = function.front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands()))
    if (RankedTensorType real = typeBefore(value); real && real != value.getType()) {
      signature.setResultAttr(i, kUnpaddedTypeAttr, TypeAttr::get(real));
      signature.setResultType(i, value.getType());
    }
  signature.write();
}

void Padder::run() {
  remember(function.front());
  for (BlockArgument argument : function.getArguments()) {
    argument.setType(classes.paddedType(argument));
    if (function.getArgAttr(argument.getArgNumber(), "tf.aliasing_output"))
      clean.insert(argument);
  }
  padBlock(function.front());
  cleanState();
  shareMasked();
  padSignature();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static constexpr FactContract kContract = {{Fact::Mesh}, FactSet::from(Fact::Shardings)};

namespace {
struct PadDimensions : mlir::st::impl::PadDimensionsBase<PadDimensions> {
  using PadDimensionsBase::PadDimensionsBase;

  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kContract)))
      return signalPassFailure();
    MeshAxes axes(getMesh(getOperation()));
    RowAlignment alignment = {rowAlignment, rowBytes, maxPercent};
    if (auto target = getOperation()->getAttrOfType<TargetAttr>("st.target")) {
      alignment.least = target.getMatrixAlignment();
      alignment.best = target.getMatrixRowBytes();
    }
    alignment.best =
        llvm::alignTo(std::max<int64_t>(alignment.best, 1), std::max<int64_t>(alignment.least, 1));
    for (auto function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      if (!function.getBody().hasOneBlock()) {
        function.emitOpError("expects a body of one block");
        return signalPassFailure();
      }
      DimensionClasses classes(function, axes, alignment);
      if (!classes.anyPadding())
        continue;
      Padder padder(function, classes);
      padder.run();
      insertedMasks += padder.masks();
    }
  }
};
} // namespace
