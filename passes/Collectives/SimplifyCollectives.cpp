#include "dialects/St/IR/ModuleFacts.h"
#include "dialects/St/IR/StDialect.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Reducers.h"
#include "passes/Collectives/Passes.h"

namespace mlir::st {
#define GEN_PASS_DEF_SIMPLIFYCOLLECTIVES
#include "passes/Collectives/Passes.h.inc"
} // namespace mlir::st

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

/// The single-tensor op that defines the operand of `op`, if its result has no other use.
template <typename Op> static Op onlyBefore(Operation *op) {
  auto before = op->getOperand(0).getDefiningOp<Op>();
  return before && before->getNumResults() == 1 && before->hasOneUse() ? before : Op();
}

template <typename A, typename B> static bool isAlongSame(A a, B b) {
  return a.getDim() == b.getDim() && a.getAxes() == b.getAxes() && a.getMesh() == b.getMesh();
}

/// The replacement for a slice or gather together with the collective before it.
static Value simplify(OpBuilder &builder, Operation *op) {
  auto created = [&](Operation *one) {
    one->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    return one->getResult(0);
  };
  if (auto slice = dyn_cast<AllSliceOp>(op)) {
    if (auto sum = onlyBefore<AllReduceOp>(op);
        sum && sum.getAxes() == slice.getAxes() && sum.getMesh() == slice.getMesh())
      return created(ReduceScatterOp::create(builder, sum.getLoc(), slice.getType(),
                                             sum.getInputs().front(), sum.getKind(), slice.getDim(),
                                             slice.getAxes(), slice.getMesh()));
    if (auto gathered = onlyBefore<AllGatherOp>(op); gathered && isAlongSame(gathered, slice))
      return gathered.getInputs().front();
    return nullptr;
  }
  auto gather = dyn_cast<AllGatherOp>(op);
  if (!gather || gather.getNumResults() != 1)
    return nullptr;
  if (auto parts = onlyBefore<ReduceScatterOp>(op); parts && isAlongSame(parts, gather))
    return created(AllReduceOp::create(builder, parts.getLoc(), gather->getResultTypes(),
                                       parts.getInputs(), parts.getKind(), parts.getAxes(),
                                       parts.getMesh()));
  return nullptr;
}

namespace {
/// A collective sum, and the sum over further dimensions that alone uses its result.
struct LocalSum {
  Operation *collective;
  hlo::ReduceOp reduce;
  /// A conversion of the reduced value back to the collective's element type; null if none.
  hlo::ConvertOp narrow;
};
} // namespace

static int64_t countBytes(RankedTensorType type) {
  return type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// Returns the only user of a value, if it is an op of this kind in the value's block.
template <typename Op> static Op onlyUser(Value value) {
  if (!value.hasOneUse())
    return {};
  auto user = dyn_cast<Op>(*value.user_begin());
  return user && user->getBlock() == value.getParentBlock() ? user : Op();
}

/// Matches a collective whose result is reshaped, widened and then added up.
static std::optional<LocalSum> matchLocalSum(Operation *op) {
  auto all = dyn_cast<AllReduceOp>(op);
  auto parts = dyn_cast<ReduceScatterOp>(op);
  if ((!all && !parts) || op->getNumResults() != 1 ||
      (all ? all.getKind() : parts.getKind()) != ReduceKind::Sum)
    return std::nullopt;
  Value value = op->getResult(0);
  const Type element = getElementTypeOrSelf(value);
  while (true) {
    if (auto reshape = onlyUser<hlo::ReshapeOp>(value)) {
      value = reshape;
      continue;
    }
    auto convert = onlyUser<hlo::ConvertOp>(value);
    auto from = dyn_cast<FloatType>(getElementTypeOrSelf(value));
    auto to = convert ? dyn_cast<FloatType>(getElementTypeOrSelf(convert.getType())) : FloatType();
    if (!from || !to || to.getWidth() <= from.getWidth())
      break;
    value = convert;
  }
  auto reduce = onlyUser<hlo::ReduceOp>(value);
  if (!reduce || reduce.getInputs().size() != 1 || reduce.getInputs()[0] != value ||
      !combinesWith<hlo::AddOp>(reduce.getBody()) ||
      !isNeutral(reduce.getBody(), reduce.getInitValues()[0]))
    return std::nullopt;
  auto narrow = onlyUser<hlo::ConvertOp>(reduce.getResult(0));
  if (narrow && getElementTypeOrSelf(narrow.getType()) != element)
    narrow = {};
  return LocalSum{op, reduce, narrow};
}

/// Returns where a dimension of the devices belongs in `shape`, a shape with the elements of a
/// collective's result: before the first dimension that the scattered one is part of. The
/// dimensions before it have the elements of those before the scattered one. Fails if one has both.
static FailureOr<int64_t> findDeviceDim(ReduceScatterOp parts, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(parts->getResult(0).getType());
  const int64_t before = ShapedType::getNumElements(type.getShape().take_front(parts.getDim()));
  int64_t dim = 0, count = 1;
  while (count < before && dim < static_cast<int64_t>(shape.size()))
    count *= shape[dim++];
  if (count != before)
    return failure();
  return dim;
}

/// Adds up each device's own elements before the collective. Returns false if that does not make
/// the collective's operand smaller.
static bool addBeforeSending(LocalSum sum) {
  Operation *op = sum.collective;
  hlo::ReduceOp reduce = sum.reduce;
  auto operand = cast<RankedTensorType>(op->getOperand(0).getType());
  auto addends = cast<RankedTensorType>(reduce.getInputs()[0].getType());
  auto result = cast<RankedTensorType>(reduce.getResult(0).getType());
  Operation *last = sum.narrow ? sum.narrow.getOperation() : reduce.getOperation();
  auto final = cast<RankedTensorType>(last->getResult(0).getType());

  SmallVector<int64_t> shape(addends.getShape()), dims(reduce.getDimensions());
  SmallVector<int64_t> sent(result.getShape()), received(sent);
  int64_t deviceDim = 0;
  auto parts = dyn_cast<ReduceScatterOp>(op);
  if (parts) {
    FailureOr<int64_t> dim = findDeviceDim(parts, shape);
    if (failed(dim))
      return false;
    const int64_t devices = operand.getNumElements() / addends.getNumElements();
    shape.insert(shape.begin() + *dim, devices);
    deviceDim = *dim - llvm::count_if(dims, [&](int64_t reduced) { return reduced < *dim; });
    for (int64_t &reduced : dims)
      reduced += reduced >= *dim;
    sent.insert(sent.begin() + deviceDim, devices);
    received.insert(received.begin() + deviceDim, 1);
  }
  auto sentType = RankedTensorType::get(sent, final.getElementType());
  if (countBytes(sentType) >= countBytes(operand))
    return false;

  OpBuilder builder(last);
  // Each new op belongs to the stage of the op that it replaces.
  auto created = [](Operation *one, Operation *from) {
    one->setDiscardableAttrs(from->getDiscardableAttrDictionary());
    return one->getResult(0);
  };
  const Location loc = reduce.getLoc();
  Value value = op->getOperand(0);
  if (operand.getShape() != ArrayRef(shape))
    value = created(hlo::ReshapeOp::create(builder, loc, operand.clone(shape), value), reduce);
  if (operand.getElementType() != addends.getElementType())
    value = created(hlo::ConvertOp::create(builder, loc, addends.clone(shape), value), reduce);
  auto local = cast<hlo::ReduceOp>(builder.clone(*reduce));
  local.getInputsMutable().assign(value);
  local.setDimensions(dims);
  value = local.getResult(0);
  value.setType(result.clone(sent));
  if (sum.narrow)
    value =
        created(hlo::ConvertOp::create(builder, sum.narrow.getLoc(), sentType, value), sum.narrow);
  Operation *moved = builder.clone(*op);
  moved->setOperand(0, value);
  moved->getResult(0).setType(sentType.clone(received));
  if (parts)
    cast<ReduceScatterOp>(moved).setDim(deviceDim);
  value = moved->getResult(0);
  if (value.getType() != final)
    value = created(hlo::ReshapeOp::create(builder, loc, final, value), last);
  last->getResult(0).replaceAllUsesWith(value);
  // The ops from the last one back to the collective have no other users.
  while (last != op) {
    Operation *before = last->getOperand(0).getDefiningOp();
    last->erase();
    last = before;
  }
  op->erase();
  return true;
}

static constexpr FactContract kContract = {{Fact::Mesh, Fact::LocalTypes},
                                           FactSet::from(Fact::Programs)};

namespace {
struct SimplifyCollectives : mlir::st::impl::SimplifyCollectivesBase<SimplifyCollectives> {
  void runOnOperation() override {
    if (failed(checkFacts(getOperation(), getArgument(), kContract)))
      return signalPassFailure();
    getOperation().walk([&](Operation *op) {
      OpBuilder builder(op);
      Value value = simplify(builder, op);
      if (!value)
        return;
      Operation *before = op->getOperand(0).getDefiningOp();
      op->getResult(0).replaceAllUsesWith(value);
      op->erase();
      before->erase();
      ++simplified;
    });
    // Exact sums have a fixed order.
    if (getOperation()->hasAttr(kExactSumsAttr))
      return;
    SmallVector<LocalSum> sums;
    getOperation().walk([&](Operation *op) {
      if (std::optional<LocalSum> sum = matchLocalSum(op))
        sums.push_back(*sum);
    });
    for (const LocalSum &sum : sums)
      moved += addBeforeSending(sum);
  }
};
} // namespace
