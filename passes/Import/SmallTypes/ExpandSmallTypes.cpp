#include "dialects/St/IR/StDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Import/Passes.h"
#include "passes/Import/SmallTypes/SmallFloats.h"

namespace mlir::st {
#define GEN_PASS_DEF_EXPANDSMALLTYPES
#include "passes/Import/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

static IntegerType smallInteger(Type element) {
  auto type = dyn_cast<IntegerType>(element);
  return type && type.getWidth() > 1 && type.getWidth() < 8 ? type : IntegerType();
}

static FloatType smallFloat(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() <= 8 ? type : FloatType();
}

static Type elementOf(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? tensor.getElementType() : Type();
}

static bool isSmall(Type type) {
  Type element = elementOf(type);
  return element && (smallInteger(element) || smallFloat(element));
}

/// The element type that computes with numbers of a small type.
static Type widened(Type element) {
  if (IntegerType integer = smallInteger(element))
    return IntegerType::get(integer.getContext(), 8, integer.getSignedness());
  return Float32Type::get(element.getContext());
}

static Type widenedTensor(Type type) {
  return isSmall(type) ? cast<RankedTensorType>(type).clone(widened(elementOf(type))) : type;
}

static IntegerType byteType(MLIRContext *context) {
  return IntegerType::get(context, 8, IntegerType::Unsigned);
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

/// Keeps the low bits of each number of 8 bits.
static Value maskBits(Emitter &emit, Value x, unsigned width) {
  return emit.bitAnd(x, emit.splatLike(x, (1 << width) - 1));
}

/// The number of a small type that a result of wide arithmetic represents.
static Value normalize(Emitter &emit, Value x, Type element) {
  if (FloatType type = smallFloat(element))
    return roundToFloat(emit, x, type);
  IntegerType type = smallInteger(element);
  if (type.isUnsigned())
    return maskBits(emit, x, type.getWidth());
  Value count = emit.splatLike(x, 8 - static_cast<int>(type.getWidth()));
  return hlo::ShiftRightArithmeticOp::create(emit.builder, emit.loc, x.getType(),
                                             emit.shiftLeft(x, count), count);
}

/// The numbers with these bits, of type ui8.
static Value decode(Emitter &emit, Value bits, Type element) {
  if (FloatType type = smallFloat(element))
    return decodeFloat(emit, bits, type);
  return normalize(emit, emit.convert(bits, widened(element)), element);
}

/// The bits of numbers, as ui8.
static Value encode(Emitter &emit, Value x, Type element) {
  if (FloatType type = smallFloat(element))
    return encodeFloat(emit, x, type);
  return maskBits(emit, emit.convert(x, byteType(element.getContext())),
                  smallInteger(element).getWidth());
}

static DenseElementsAttr widenElements(DenseElementsAttr given) {
  auto type = cast<RankedTensorType>(widenedTensor(given.getType()));
  if (FloatType small = smallFloat(given.getElementType()))
    return given.mapValues(type.getElementType(), [](const APFloat &value) {
      if (value.isNaN())
        return APFloat::getNaN(APFloat::IEEEsingle()).bitcastToAPInt();
      APFloat wide = value;
      bool losesInfo = false;
      wide.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &losesInfo);
      return wide.bitcastToAPInt();
    });
  bool isUnsigned = smallInteger(given.getElementType()).isUnsigned();
  return given.mapValues(type.getElementType(), [&](const APInt &value) {
    return isUnsigned ? value.zext(8) : value.sext(8);
  });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Splits each element into several of fewer bits, along a new last dimension.
static Value splitBits(Emitter &emit, Value bits, unsigned width, int64_t count) {
  SmallVector<Value> parts;
  SmallVector<int64_t> shape(Emitter::shapeOf(bits));
  shape.push_back(1);
  for (int64_t i = 0; i < count; ++i) {
    Value part = emit.shiftRightLogical(bits, emit.splatLike(bits, static_cast<double>(width * i)));
    part = emit.convert(maskBits(emit, part, width), byteType(emit.builder.getContext()));
    parts.push_back(emit.reshape(part, shape));
  }
  return emit.concatenate(parts, static_cast<int64_t>(shape.size()) - 1);
}

/// Joins the elements of the last dimension to one of `width` bits in total.
static Value joinBits(Emitter &emit, Value bits, unsigned width, IntegerType joined) {
  SmallVector<int64_t> shape(Emitter::shapeOf(bits).drop_back());
  int64_t last = static_cast<int64_t>(shape.size()), count = Emitter::shapeOf(bits).back();
  Value all;
  for (int64_t i = 0; i < count; ++i) {
    Value part = emit.convert(emit.reshape(emit.sliceDim(bits, last, i, i + 1), shape), joined);
    part = emit.shiftLeft(part, emit.splatLike(part, static_cast<double>(width * i)));
    all = all ? emit.bitOr(all, part) : part;
  }
  return all;
}

/// The bits of a value's elements, as unsigned numbers of at least 8 bits.
static Value bitsOf(Emitter &emit, Value x, Type element) {
  if (smallInteger(element) || smallFloat(element))
    return encode(emit, x, element);
  auto type =
      IntegerType::get(x.getContext(), element.getIntOrFloatBitWidth(), IntegerType::Unsigned);
  return hlo::BitcastConvertOp::create(emit.builder, emit.loc, Emitter::typeOf(x).clone(type), x);
}

static Value expandBitcast(Emitter &emit, Value x, Type from, RankedTensorType result) {
  Type to = result.getElementType();
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  Value bits = bitsOf(emit, x, from);
  if (fromWidth > toWidth)
    bits = splitBits(emit, bits, toWidth, fromWidth / toWidth);
  else if (fromWidth < toWidth)
    bits = joinBits(emit, bits, fromWidth,
                    IntegerType::get(x.getContext(), std::max(toWidth, 8u), IntegerType::Unsigned));
  if (smallInteger(to) || smallFloat(to))
    return decode(emit, bits, to);
  return hlo::BitcastConvertOp::create(emit.builder, emit.loc, result, bits);
}

/// Limits the operand of a conversion from floats to the range of small integers, as conversions to
/// larger integers do.
static void saturate(Emitter &emit, hlo::ConvertOp op, IntegerType to) {
  Value x = op.getOperand();
  if (!isa<FloatType>(elementOf(x.getType())))
    return;
  const unsigned width = to.getWidth();
  const bool isSigned = !to.isUnsigned();
  const double minimum = isSigned ? -static_cast<double>(1 << (width - 1)) : 0;
  const double maximum = static_cast<double>((1 << (isSigned ? width - 1 : width)) - 1);
  op.setOperand(emit.clamp(emit.splatLike(x, minimum), x, emit.splatLike(x, maximum)));
}

/// Returns true if every element of a result is an element of an operand, so that no rounding is
/// needed.
static bool isExact(Operation *op) {
  return isa<hlo::ReshapeOp, hlo::TransposeOp, hlo::BroadcastInDimOp, hlo::SliceOp,
             hlo::DynamicSliceOp, hlo::DynamicUpdateSliceOp, hlo::GatherOp, hlo::ConcatenateOp,
             hlo::PadOp, hlo::ReverseOp, hlo::SelectOp, hlo::SortOp, hlo::WhileOp, hlo::IfOp,
             hlo::CaseOp, hlo::OptimizationBarrierOp, hlo::MaxOp, hlo::MinOp, hlo::ClampOp,
             hlo::CustomCallOp, ConstrainOp>(op);
}

/// Returns true for an op of a computation that combines two numbers: the result of the
/// combination is rounded, not each step.
static bool isInCombination(Operation *op) {
  return isa<hlo::ReduceOp, hlo::ReduceWindowOp, hlo::ScatterOp, hlo::SelectAndScatterOp,
             hlo::SortOp>(op->getParentOp());
}

/// Replaces the uses that a value has so far.
static void replaceUses(Value value, function_ref<Value()> make) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    uses.push_back(&use);
  Value replacement = make();
  for (OpOperand *use : uses)
    use->set(replacement);
}

namespace {
struct ExpandSmallTypes : mlir::st::impl::ExpandSmallTypesBase<ExpandSmallTypes> {
  using ExpandSmallTypesBase::ExpandSmallTypesBase;
  void runOnOperation() override;
  void expandFunction(func::FuncOp function);
  void expandOp(Operation *op, ArrayRef<Type> operands);
  void expandBits(Operation *op, Type operand);
};
} // namespace

/// Expands ops on single bits. The unused upper bits are zero; to count leading zeros, the number
/// moves to the top.
void ExpandSmallTypes::expandBits(Operation *op, Type operand) {
  OpBuilder builder(op);
  Emitter emit(builder, op->getBlock(), op->getLoc());
  unsigned width = smallInteger(operand).getWidth();
  Value bits = maskBits(emit, op->getOperand(0), width);
  if (isa<hlo::ClzOp>(op)) {
    bits = emit.shiftLeft(bits, emit.splatLike(bits, 8 - static_cast<int>(width)));
    bits = emit.bitOr(bits, emit.splatLike(bits, 1 << (7 - width)));
  }
  op->setOperand(0, bits);
}

/// `operands`: the elements of the operands before.
void ExpandSmallTypes::expandOp(Operation *op, ArrayRef<Type> operands) {
  OpBuilder builder(op);
  Emitter emit(builder, op->getBlock(), op->getLoc());
  if (auto constant = dyn_cast<hlo::ConstantOp>(op)) {
    auto value = widenElements(cast<DenseElementsAttr>(constant.getValue()));
    constant.setValueAttr(value);
    constant.getResult().setType(cast<RankedTensorType>(value.getType()));
    return;
  }
  if (isa<hlo::BitcastConvertOp>(op)) {
    Value value = expandBitcast(emit, op->getOperand(0), operands[0],
                                cast<RankedTensorType>(op->getResult(0).getType()));
    op->getResult(0).replaceAllUsesWith(value);
    op->erase();
    return;
  }
  SmallVector<Type> elements;
  for (OpResult result : op->getResults()) {
    elements.push_back(elementOf(result.getType()));
    result.setType(widenedTensor(result.getType()));
  }
  if (auto convert = dyn_cast<hlo::ConvertOp>(op))
    if (IntegerType to = smallInteger(elements.front()))
      saturate(emit, convert, to);
  if (isa<hlo::ShiftRightLogicalOp, hlo::ClzOp, hlo::PopulationCountOp>(op) &&
      smallInteger(operands[0]))
    expandBits(op, operands[0]);
  if (isExact(op) || isInCombination(op))
    return;
  builder.setInsertionPointAfter(op);
  for (auto [result, element] : llvm::zip_equal(op->getResults(), elements)) {
    if (!element || (!smallInteger(element) && !smallFloat(element)))
      continue;
    replaceUses(result, [&] { return normalize(emit, result, element); });
  }
}

/// Arguments and results of @main have the bits of their numbers.
static void expandSignature(func::FuncOp function, ArrayRef<Type> arguments,
                            ArrayRef<Type> results) {
  Block &body = function.getBody().front();
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  Emitter emit(builder, &body, function.getLoc());
  for (auto [argument, given] : llvm::zip_equal(body.getArguments(), arguments)) {
    if (!isSmall(given))
      continue;
    replaceUses(argument, [&] {
      argument.setType(cast<RankedTensorType>(given).clone(byteType(given.getContext())));
      return decode(emit, argument, elementOf(given));
    });
  }
  Operation *end = body.getTerminator();
  builder.setInsertionPoint(end);
  for (auto [operand, given] : llvm::zip_equal(end->getOpOperands(), results))
    if (isSmall(given))
      operand.set(encode(emit, operand.get(), elementOf(given)));
}

void ExpandSmallTypes::expandFunction(func::FuncOp function) {
  const SmallVector<Type> arguments(function.getArgumentTypes()),
      results(function.getResultTypes());
  /// The ops that have small types, with the elements of their operands.
  SmallVector<std::pair<Operation *, SmallVector<Type>>> ops;
  function.walk([&](Operation *op) {
    SmallVector<Type> operands;
    for (Type type : op->getOperandTypes())
      operands.push_back(elementOf(type));
    if (op != function && (llvm::any_of(op->getOperandTypes(), isSmall) ||
                           llvm::any_of(op->getResultTypes(), isSmall)))
      ops.emplace_back(op, std::move(operands));
  });
  function.walk([](Block *block) {
    for (BlockArgument argument : block->getArguments())
      argument.setType(widenedTensor(argument.getType()));
  });
  for (auto &[op, operands] : ops)
    expandOp(op, operands);
  expanded += static_cast<int64_t>(ops.size());
  if (function.getSymName() == "main")
    expandSignature(function, arguments, results);
  Block &body = function.getBody().front();
  function.setFunctionType(FunctionType::get(function.getContext(), body.getArgumentTypes(),
                                             body.getTerminator()->getOperandTypes()));
}

void ExpandSmallTypes::runOnOperation() {
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (function.isExternal() || !function.getBody().hasOneBlock())
      continue;
    bool hasSmall = llvm::any_of(function.getArgumentTypes(), isSmall);
    function.walk([&](Operation *op) { hasSmall |= llvm::any_of(op->getResultTypes(), isSmall); });
    if (hasSmall)
      expandFunction(function);
  }
}
