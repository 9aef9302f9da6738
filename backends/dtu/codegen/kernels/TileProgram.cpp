#include "backends/dtu/codegen/kernels/TileProgram.h"

#include "backends/dtu/isa/Names.h"
#include "dialects/StableHLO/ChloOps.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace mlir::dtu;
namespace hlo = mlir::stablehlo;

namespace {
class Translator {
public:
  Translator(TileProgram &program, const IterationSpace &space, ValueRange accumulators)
      : program(program), space(space), accumulators(accumulators.begin(), accumulators.end()) {}

  LogicalResult run(Block &body);

private:
  TileProgram &program;
  const IterationSpace &space;
  DenseSet<Value> accumulators;
  /// Use lookup(), which returns a copy, because assigning to one entry may move others.
  DenseMap<Value, TileRef> refs;
  DenseSet<Value> needed;

  static Type elementType(Value value) { return getElementTypeOrSelf(value.getType()); }
  static hw::DType dtype(Value value) {
    return getDType(elementType(value)).value_or(hw::DType::F32);
  }

  void markNeeded(Block &body);
  SmallVector<Value> operandsOf(Operation *op);
  LogicalResult translate(Operation *op);
  LogicalResult translateReduce(hlo::ReduceOp op);
  void translateAccumulator(Value value);

  TileRef addInput(Value argument, Value seenAs, int64_t offset);
  TileRef addConstant(uint64_t bits, hw::DType type);
  TileRef addOp(TileOp op, GroupSet groups);
  TileRef compute(hw::VectorOp op, ArrayRef<TileRef> sources, hw::DType type);
};
} // namespace

// ---- fusions ------------------------------------------------------------------------

static std::optional<uint64_t> constantOperand(Value value) {
  while (auto broadcast = value.getDefiningOp<hlo::BroadcastInDimOp>())
    value = broadcast.getOperand();
  auto constant = value.getDefiningOp<hlo::ConstantOp>();
  return constant ? getSplatBits(constant.getValue()) : std::nullopt;
}

/// Matches (x << a) | (x >> b), where a + b is the bit width; returns x and the constant a.
static std::optional<std::pair<Value, Value>> matchRotate(Operation *op) {
  if (!isa<hlo::OrOp>(op))
    return std::nullopt;
  auto left = op->getOperand(0).getDefiningOp<hlo::ShiftLeftOp>();
  auto right = op->getOperand(1).getDefiningOp<hlo::ShiftRightLogicalOp>();
  if (!left || !right) {
    left = op->getOperand(1).getDefiningOp<hlo::ShiftLeftOp>();
    right = op->getOperand(0).getDefiningOp<hlo::ShiftRightLogicalOp>();
  }
  if (!left || !right || left.getLhs() != right.getLhs())
    return std::nullopt;
  std::optional<uint64_t> a = constantOperand(left.getRhs()), b = constantOperand(right.getRhs());
  uint64_t width = getElementTypeOrSelf(left.getType()).getIntOrFloatBitWidth();
  if (!a || !b || *a + *b != width || *a == 0 || *b == 0)
    return std::nullopt;
  return std::pair(left.getLhs(), left.getRhs());
}

namespace {
/// One half of the product of two unsigned integers. One of the two may be a constant.
struct ProductHalf {
  hw::VectorOp op;
  Value left, right; ///< `right` is null for a constant
  uint64_t constant = 0;
};
} // namespace

/// Matches convert((convert(x) * y) >> width) or convert(convert(x) * y), where the product has
/// twice the width and y is converted as well or a constant of `width` bits.
static std::optional<ProductHalf> matchProductHalf(Operation *op) {
  if (!isa<hlo::ConvertOp>(op))
    return std::nullopt;
  Type narrow = getElementTypeOrSelf(op->getResult(0).getType());
  auto shift = op->getOperand(0).getDefiningOp<hlo::ShiftRightLogicalOp>();
  auto mul = (shift ? shift.getLhs() : op->getOperand(0)).getDefiningOp<hlo::MulOp>();
  const unsigned width = narrow.isUnsignedInteger() ? narrow.getIntOrFloatBitWidth() : 0;
  if (!mul || width == 0 || !getElementTypeOrSelf(mul.getType()).isUnsignedInteger(2 * width) ||
      (shift && constantOperand(shift.getRhs()) != std::optional<uint64_t>(width)))
    return std::nullopt;
  auto widened = [&](Value value) -> Value {
    auto convert = value.getDefiningOp<hlo::ConvertOp>();
    return convert && getElementTypeOrSelf(convert.getOperand().getType()) == narrow
               ? convert.getOperand()
               : nullptr;
  };
  ProductHalf half;
  half.op = shift ? hw::VectorOp::MulHigh : hw::VectorOp::Mul;
  half.left = widened(mul.getLhs());
  half.right = widened(mul.getRhs());
  if (half.left && half.right)
    return half;
  std::optional<uint64_t> constant = constantOperand(half.left ? mul.getRhs() : mul.getLhs());
  if ((!half.left && !half.right) || !constant || *constant >> width != 0)
    return std::nullopt;
  half.constant = *constant;
  if (!half.left)
    std::swap(half.left, half.right);
  return half;
}

/// Matches a * b + c if the product has no other use, and returns a, b, c. Only where each op
/// rounds separately anyway.
static std::optional<SmallVector<Value>> matchMulAdd(Operation *op) {
  if (!isa<hlo::AddOp>(op) ||
      !isa<Float32Type, Float64Type>(getElementTypeOrSelf(op->getResult(0).getType())))
    return std::nullopt;
  for (unsigned i : {0, 1}) {
    auto mul = op->getOperand(i).getDefiningOp<hlo::MulOp>();
    if (mul && mul->hasOneUse())
      return SmallVector<Value>{mul.getLhs(), mul.getRhs(), op->getOperand(1 - i)};
  }
  return std::nullopt;
}

/// The operands of an op after fusion with its producers.
SmallVector<Value> Translator::operandsOf(Operation *op) {
  if (auto rotate = matchRotate(op))
    return {rotate->first, rotate->second};
  if (auto product = matchProductHalf(op))
    return product->right ? SmallVector<Value>{product->left, product->right}
                          : SmallVector<Value>{product->left};
  if (auto mulAdd = matchMulAdd(op))
    return *mulAdd;
  return op->getOperands();
}

void Translator::markNeeded(Block &body) {
  for (Value result : body.getTerminator()->getOperands())
    needed.insert(result);
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (op.getNumResults() == 1 && needed.contains(op.getResult(0)) &&
        !accumulators.contains(op.getResult(0)))
      for (Value operand : operandsOf(&op))
        needed.insert(operand);
}

// ---- values ---------------------------------------------------------------------------

TileRef Translator::addInput(Value argument, Value seenAs, int64_t offset) {
  TileValue value;
  value.kind = TileValue::Kind::Input;
  value.groups = space.getGroups(seenAs);
  value.type = dtype(seenAs);
  value.argument = cast<BlockArgument>(argument).getArgNumber();
  value.offset = offset;
  value.strides = space.getStrides(seenAs);
  program.values.push_back(std::move(value));
  return {static_cast<int>(program.values.size()) - 1, dtype(seenAs)};
}

TileRef Translator::addConstant(uint64_t bits, hw::DType type) {
  for (auto [index, value] : llvm::enumerate(program.values))
    if (value.kind == TileValue::Kind::Constant && value.bits == bits && value.type == type)
      return {static_cast<int>(index), type};
  TileValue value;
  value.kind = TileValue::Kind::Constant;
  value.type = type;
  value.bits = bits;
  program.values.push_back(std::move(value));
  return {static_cast<int>(program.values.size()) - 1, type};
}

TileRef Translator::addOp(TileOp op, GroupSet groups) {
  TileValue value;
  value.groups = groups;
  value.type = op.dstType;
  for (const TileRef &source : op.sources)
    value.level = std::max(value.level, program.values[source.value].level);
  if (op.reduction)
    ++value.level;
  op.dst = program.values.size();
  program.values.push_back(std::move(value));
  program.ops.push_back(std::move(op));
  return {program.ops.back().dst, program.ops.back().dstType};
}

TileRef Translator::compute(hw::VectorOp vectorOp, ArrayRef<TileRef> sources, hw::DType type) {
  TileOp op;
  op.op = vectorOp;
  op.dstType = type;
  op.sources.assign(sources.begin(), sources.end());
  for (const TileRef &source : sources)
    op.groups |= program.values[source.value].groups;
  return addOp(op, op.groups);
}

/// The f32 tile of the matrix engine, rounded if the product's type is narrower.
void Translator::translateAccumulator(Value result) {
  TileValue value;
  value.kind = TileValue::Kind::Accumulator;
  value.groups = space.getGroups(result);
  program.values.push_back(value);
  TileRef ref{static_cast<int>(program.values.size()) - 1, hw::DType::F32};
  refs[result] =
      dtype(result) == hw::DType::F32 ? ref : compute(hw::VectorOp::Copy, {ref}, dtype(result));
}

// ---- ops ------------------------------------------------------------------------------

LogicalResult Translator::translateReduce(hlo::ReduceOp op) {
  Value input = op.getInputs()[0];
  hw::DType type = dtype(input);
  std::optional<Reduction> reduction = getReduction(op, type == hw::DType::I1);
  if (!reduction)
    return op.emitOpError("with this body is not supported by the DTU backend");
  TileRef result;
  GroupSet kept = space.getGroups(op.getResult(0));
  if (kept == space.getGroups(input)) {
    result = refs.lookup(input); // only unit dimensions are reduced
  } else {
    TileOp tileOp;
    tileOp.dstType = type;
    tileOp.sources = {refs.lookup(input)};
    tileOp.groups = space.getGroups(input);
    tileOp.reduction = reduction;
    result = addOp(tileOp, kept);
  }
  Attribute init;
  bool isIdentity = matchPattern(op.getInitValues()[0], m_Constant(&init)) &&
                    (getSplatBits(init) == getIdentity(*reduction, type) ||
                     (*reduction == Reduction::Sum && matchPattern(init, m_AnyZeroFloat())));
  refs[op.getResult(0)] = isIdentity ? result
                                     : compute(getCombineOp(*reduction),
                                               {refs.lookup(op.getInitValues()[0]), result}, type);
  return success();
}

LogicalResult Translator::translate(Operation *op) {
  Value result = op->getResult(0);
  if (!getDType(elementType(result)))
    return op->emitOpError("computes ")
           << elementType(result) << ", a type that the DTU does not support";
  if (auto constant = dyn_cast<hlo::ConstantOp>(op)) {
    std::optional<uint64_t> bits = getSplatBits(constant.getValue());
    if (!bits)
      return op->emitOpError(
          "that is not a splat is not supported by the DTU backend inside a loop");
    refs[result] = addConstant(*bits, dtype(result));
    return success();
  }
  if (isArgumentSlice(op)) {
    auto slice = cast<hlo::SliceOp>(op);
    auto argumentType = cast<RankedTensorType>(slice.getOperand().getType());
    int64_t offset = 0;
    for (auto [start, stride] :
         llvm::zip_equal(slice.getStartIndices(), denseStrides(argumentType.getShape())))
      offset += start * stride;
    refs[result] = addInput(slice.getOperand(), result, offset);
    return success();
  }
  if (isa<hlo::BroadcastInDimOp, hlo::ReshapeOp>(op)) {
    refs[result] = refs.lookup(op->getOperand(0));
    return success();
  }
  if (isa<hlo::BitcastConvertOp>(op)) {
    refs[result] = {refs.lookup(op->getOperand(0)).value, dtype(result)};
    return success();
  }
  if (isa<hlo::IotaOp>(op)) {
    TileOp iota;
    // The generator counts in integers; other types are converted from i32.
    bool isFloat = isa<FloatType>(elementType(result));
    iota.op = hw::VectorOp::Iota;
    iota.dstType = isFloat ? hw::DType::I32 : dtype(result);
    std::optional<unsigned> group = space.getIotaGroup(op);
    iota.iotaGroup = group ? static_cast<int>(*group) : -1;
    iota.groups = group ? GroupSet(1) << *group : 0;
    TileRef ref = addOp(iota, iota.groups);
    refs[result] = isFloat ? compute(hw::VectorOp::Copy, {ref}, dtype(result)) : ref;
    return success();
  }
  if (auto reduce = dyn_cast<hlo::ReduceOp>(op))
    return translateReduce(reduce);

  std::optional<hw::VectorOp> vectorOp = getVectorOp(op);
  if (!vectorOp)
    return op->emitOpError("is not supported by the DTU backend");
  if (matchRotate(op))
    vectorOp = hw::VectorOp::RotateLeft;
  else if (matchMulAdd(op))
    vectorOp = hw::VectorOp::MulAdd;
  SmallVector<TileRef> sources =
      llvm::map_to_vector(operandsOf(op), [&](Value v) { return refs.lookup(v); });
  if (auto product = matchProductHalf(op)) {
    vectorOp = product->op;
    if (!product->right)
      sources.push_back(addConstant(product->constant, dtype(result)));
  }
  refs[result] = compute(*vectorOp, sources, dtype(result));
  return success();
}

LogicalResult Translator::run(Block &body) {
  markNeeded(body);
  for (BlockArgument argument : body.getArguments()) {
    if (!needed.contains(argument) || llvm::all_of(argument.getUsers(), isArgumentSlice))
      continue;
    if (!getDType(elementType(argument)))
      return body.getParentOp()->emitOpError("reads ")
             << elementType(argument) << ", a type that the DTU does not support";
    refs[argument] = addInput(argument, argument, 0);
  }
  for (Operation &op : body.without_terminator()) {
    if (op.getNumResults() == 1 && accumulators.contains(op.getResult(0)))
      translateAccumulator(op.getResult(0));
    else if (op.getNumResults() == 1 && needed.contains(op.getResult(0)) && failed(translate(&op)))
      return failure();
  }
  for (auto [index, result] : llvm::enumerate(body.getTerminator()->getOperands()))
    program.outputs.push_back({refs.lookup(result), static_cast<unsigned>(index),
                               space.getGroups(result), space.getStrides(result)});
  return success();
}

FailureOr<TileProgram> TileProgram::build(Block &body, const IterationSpace &space,
                                          ValueRange accumulators) {
  TileProgram program;
  if (failed(Translator(program, space, accumulators).run(body)))
    return failure();
  return program;
}

// ---- queries ------------------------------------------------------------------------

void TileProgram::setRates(GroupSet stepGroups, GroupSet itemGroups) {
  for (TileValue &value : values)
    value.rate = value.groups & stepGroups   ? Rate::Step
                 : value.groups & itemGroups ? Rate::Item
                                             : Rate::Invariant;
}

int TileProgram::getNumLevels() const {
  int levels = 0;
  for (const TileValue &value : values)
    levels = std::max(levels, value.level);
  return levels;
}

std::optional<GroupSet> TileProgram::getReducedGroups() const {
  std::optional<GroupSet> reduced;
  for (const TileOp &op : ops) {
    if (!op.reduction)
      continue;
    GroupSet mine = op.groups & ~values[op.dst].groups;
    if (reduced && *reduced != mine)
      return std::nullopt;
    reduced = mine;
  }
  return reduced.value_or(0);
}
