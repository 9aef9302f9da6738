#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Utils/Roles.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Matchers.h"
#include "passes/Precision/OpPrecision.h"
#include "passes/Precision/PassUtils.h"
#include "passes/Precision/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_ASSIGNPRECISION
#include "passes/Precision/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;

namespace {
/// The type of a value that is f32 in the original program.
enum class Kind {
  Weak,   ///< computed only from parameters and constants: its users decide
  Narrow, ///< 16 bits
  Wide,   ///< f32
};

/// The decision for one op.
struct Decision {
  bool isNarrow = false;    ///< computed in 16 bits
  Kind result = Kind::Wide; ///< of its f32 results
  bool isRounded = false;   ///< computed in f32, its result rounded for all users
};

/// The types of one @main.
class PrecisionAssignment {
public:
  PrecisionAssignment(func::FuncOp function, FloatType narrow)
      : function(function), block(function.front()), narrow(narrow) {}

  void decide();
  void rewrite();

  unsigned numNarrow = 0, numRounded = 0;

private:
  Kind kindOf(Value value) const;
  Kind kindOfConstant(stablehlo::ConstantOp op) const;
  bool isOfParametersAlone(Operation *op);
  bool feedsProduct(Value value);
  bool isStoredNarrow(BlockArgument argument);
  Decision decide(Operation *op);
  bool isWide(Operation *op) const;

  void rewrite(Operation *op);
  Value asNarrow(Value value, Operation *user);
  Value asWide(Value value, Operation *user);
  static Value convertAt(OpBuilder &builder, Value value, Type elementType, Operation *place);

  func::FuncOp function;
  Block &block;
  FloatType narrow;
  DenseMap<Value, Kind> kinds;
  DenseMap<Operation *, Decision> decisions;
  DenseMap<Value, bool> feeds;
  /// Values that do not depend on the batch, only on parameters and constants.
  DenseSet<Value> ofParametersAlone;
  /// The rounded copy of a value of f32.
  DenseMap<Value, Value> rounded;
  /// The f32 copies of 16-bit values, one per block of the model: values that one block passes to
  /// the next have 16 bits.
  DenseMap<std::pair<Value, Attribute>, Value> widened;
};
} // namespace

static bool isF32(Value value) { return getElementTypeOrSelf(value.getType()).isF32(); }

static bool isFloatTensor(Value value) {
  return isa<RankedTensorType>(value.getType()) && isF32(value);
}

//===----------------------------------------------------------------------===//
// Decisions
//===----------------------------------------------------------------------===//

Kind PrecisionAssignment::kindOf(Value value) const {
  auto it = kinds.find(value);
  return it == kinds.end() ? Kind::Wide : it->second;
}

/// A number that is finite in f32 must also be finite in 16 bits.
Kind PrecisionAssignment::kindOfConstant(stablehlo::ConstantOp op) const {
  auto values = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!values)
    return Kind::Wide;
  auto fits = [&](APFloat number) {
    bool wasFinite = number.isFinite(), losesInfo;
    number.convert(narrow.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
    return number.isFinite() == wasFinite;
  };
  if (values.isSplat())
    return fits(values.getSplatValue<APFloat>()) ? Kind::Weak : Kind::Wide;
  return llvm::all_of(values.getValues<APFloat>(), fits) ? Kind::Weak : Kind::Wide;
}

bool PrecisionAssignment::isOfParametersAlone(Operation *op) {
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::all_of(op->getOperands(),
                      [&](Value value) { return ofParametersAlone.contains(value); });
}

bool PrecisionAssignment::feedsProduct(Value value) {
  auto [it, isNew] = feeds.try_emplace(value, false);
  if (!isNew)
    return it->second;
  bool found = llvm::any_of(value.getUsers(), [&](Operation *user) {
    OpPrecision precision = getOpPrecision(user);
    return precision == OpPrecision::Narrow ||
           (precision == OpPrecision::Moves && feedsProduct(user->getResult(0)));
  });
  return feeds[value] = found;
}

Decision PrecisionAssignment::decide(Operation *op) {
  Decision decision;
  OpPrecision precision = getOpPrecision(op);
  if (precision == OpPrecision::Narrow) {
    bool isOfF32 = llvm::all_of(op->getOperands(), isFloatTensor) && isF32(op->getResult(0));
    decision.isNarrow = isOfF32;
    decision.result = isOfF32 ? Kind::Narrow : Kind::Wide;
    return decision;
  }
  bool hasNarrow = false, hasWide = false, hasWeak = false;
  for (Value operand : op->getOperands())
    if (isFloatTensor(operand)) {
      hasNarrow |= kindOf(operand) == Kind::Narrow;
      hasWide |= kindOf(operand) == Kind::Wide;
      hasWeak |= kindOf(operand) == Kind::Weak;
    }
  if (precision != OpPrecision::Wide) {
    if (hasNarrow && !hasWide) {
      decision.isNarrow = true;
      decision.result = Kind::Narrow;
      return decision;
    }
    if (hasWeak && !hasWide && isOfParametersAlone(op)) {
      decision.result = Kind::Weak;
      return decision;
    }
    // Rows of parameters that the batch selects.
    decision.isRounded = hasWeak && !hasWide;
  }
  decision.isRounded |= llvm::any_of(op->getResults(), [&](Value result) {
    return isFloatTensor(result) && feedsProduct(result);
  });
  // The type of a comparison's operands is not that of its result.
  decision.isRounded &= llvm::any_of(op->getResults(), isFloatTensor);
  decision.result = decision.isRounded ? Kind::Narrow : Kind::Wide;
  return decision;
}

/// A frozen matrix is never updated, so it is stored in the type in which products read it. A
/// matrix of one row counts as a vector.
bool PrecisionAssignment::isStoredNarrow(BlockArgument argument) {
  auto isLong = [](int64_t size) { return size > 1; };
  return isFloatTensor(argument) &&
         llvm::count_if(cast<RankedTensorType>(argument.getType()).getShape(), isLong) > 1 &&
         function.getArgAttrOfType<UnitAttr>(argument.getArgNumber(), kFrozenAttr);
}

/// Returns true if an op computes in f32. Moves of untyped values do not count.
bool PrecisionAssignment::isWide(Operation *op) const {
  auto it = decisions.find(op);
  return it != decisions.end() && !it->second.isNarrow && it->second.result != Kind::Weak;
}

void PrecisionAssignment::decide() {
  for (BlockArgument argument : block.getArguments()) {
    bool isParameter = getRole(argument) == "parameter";
    if (isParameter)
      ofParametersAlone.insert(argument);
    if (isStoredNarrow(argument))
      kinds[argument] = Kind::Narrow;
    else if (isFloatTensor(argument))
      kinds[argument] = isParameter ? Kind::Weak : Kind::Wide;
  }
  for (Operation &op : block.without_terminator()) {
    if (isOfParametersAlone(&op))
      ofParametersAlone.insert(op.result_begin(), op.result_end());
    if (auto constant = dyn_cast<stablehlo::ConstantOp>(op)) {
      if (isFloatTensor(constant))
        kinds[constant] = kindOfConstant(constant);
      continue;
    }
    Decision decision = decide(&op);
    decisions[&op] = decision;
    for (Value result : op.getResults())
      if (isFloatTensor(result))
        kinds[result] = decision.result;
  }
  // A value whose only user reads it in f32 is not rounded.
  for (Operation &op : llvm::reverse(block.without_terminator())) {
    auto it = decisions.find(&op);
    if (it == decisions.end() || !it->second.isNarrow ||
        getOpPrecision(&op) != OpPrecision::Follows || !isFloatTensor(op.getResult(0)) ||
        !op.getResult(0).hasOneUse() || !isWide(*op.getResult(0).user_begin()))
      continue;
    it->second = {};
    kinds[op.getResult(0)] = Kind::Wide;
  }
}

//===----------------------------------------------------------------------===//
// Rewriting
//===----------------------------------------------------------------------===//

Value PrecisionAssignment::convertAt(OpBuilder &builder, Value value, Type elementType,
                                     Operation *place) {
  auto type = cast<RankedTensorType>(value.getType()).clone(elementType);
  auto conversion = stablehlo::ConvertOp::create(builder, place->getLoc(), type, value);
  if (Attribute attr = place->getDiscardableAttr(kBlockAttr))
    conversion->setDiscardableAttr(kBlockAttr, attr);
  return conversion;
}

/// Rounds a value where it is computed, and an argument before its first user.
Value PrecisionAssignment::asNarrow(Value value, Operation *user) {
  if (getElementTypeOrSelf(value.getType()) == narrow)
    return value;
  Value &copy = rounded[value];
  if (copy)
    return copy;
  OpBuilder builder(user);
  Operation *op = value.getDefiningOp();
  if (op)
    builder.setInsertionPointAfter(op);
  if (auto constant = dyn_cast_or_null<stablehlo::ConstantOp>(op))
    copy = stablehlo::ConstantOp::create(builder, op->getLoc(),
                                         convertElements(constant.getValue(), narrow));
  else
    copy = convertAt(builder, value, narrow, op ? op : user);
  return copy;
}

Value PrecisionAssignment::asWide(Value value, Operation *user) {
  Value read = value;
  // Users of a rounded value read the rounded copy.
  if (isF32(value) && kindOf(value) == Kind::Narrow)
    read = asNarrow(value, user);
  if (getElementTypeOrSelf(read.getType()) != narrow)
    return read;
  Value &copy = widened[{read, user->getDiscardableAttr(kBlockAttr)}];
  if (!copy) {
    OpBuilder builder(user);
    copy = convertAt(builder, read, Float32Type::get(value.getContext()), user);
  }
  return copy;
}

void PrecisionAssignment::rewrite(Operation *op) {
  const Decision decision = decisions.lookup(op);
  auto isOurs = [&](Value value) {
    return value.getParentBlock() == &block && kinds.contains(value);
  };
  auto convertOperands = [&](Operation *user) {
    for (OpOperand &operand : user->getOpOperands())
      if (isOurs(operand.get()))
        operand.set(decision.isNarrow ? asNarrow(operand.get(), op) : asWide(operand.get(), op));
  };
  // Regions may use values from outside.
  op->walk(convertOperands);
  for (Value result : op->getResults()) {
    if (!isFloatTensor(result))
      continue;
    if (decision.isNarrow)
      result.setType(cast<RankedTensorType>(result.getType()).clone(narrow));
    numRounded += decision.isRounded;
  }
  numNarrow += decision.isNarrow;
}

void PrecisionAssignment::rewrite() {
  for (BlockArgument argument : block.getArguments())
    if (isStoredNarrow(argument))
      argument.setType(cast<RankedTensorType>(argument.getType()).clone(narrow));
  function.setType(FunctionType::get(function.getContext(), block.getArgumentTypes(),
                                     function.getResultTypes()));
  for (Operation &op : llvm::make_early_inc_range(block))
    if (decisions.contains(&op) || op.hasTrait<OpTrait::IsTerminator>())
      rewrite(&op);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

/// The module may have a mesh, from the annotations of the imported program.
static constexpr FactContract kContract = {
    {Fact::Roles},
    FactSet({Fact::Gradients, Fact::Update, Fact::Optimizer}) | FactSet::from(Fact::Layout)};

namespace {
struct AssignPrecision : mlir::st::impl::AssignPrecisionBase<AssignPrecision> {
  using AssignPrecisionBase::AssignPrecisionBase;

  void runOnOperation() override {
    func::FuncOp function = findStep(getOperation(), getArgument(), kContract);
    if (!function)
      return signalPassFailure();
    if (getOperation()->hasAttr(kPrecisionAttr)) {
      getOperation().emitError("already has a precision: found ")
          << kPrecisionAttr << ", which assign-precision sets";
      return signalPassFailure();
    }
    PrecisionAssignment assignment(function, getFloatType(compute, &getContext()));
    assignment.decide();
    assignment.rewrite();
    numNarrow += assignment.numNarrow;
    numRounded += assignment.numRounded;
    Builder builder(&getContext());
    getOperation()->setAttr(
        kPrecisionAttr,
        builder.getDictionaryAttr(builder.getNamedAttr(
            "compute", builder.getStringAttr(compute == ComputeType::BF16 ? "bf16" : "f16"))));
  }
};
} // namespace
