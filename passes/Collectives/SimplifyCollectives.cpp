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

/// The numbers that a device adds up: dimensions `dims` of `value` in the shape `shape`. The
/// permutation of the sums' dimensions then gives the order that the collective needs; empty if it
/// is the same.
struct Addends {
  Value value;
  SmallVector<int64_t> shape, dims, permutation;
};

/// Returns sizes, in row-major order, whose products are the dimensions of both shapes; nullopt if
/// dimensions of the two overlap in part.
static std::optional<SmallVector<int64_t>> refine(ArrayRef<int64_t> one, ArrayRef<int64_t> other) {
  SmallVector<int64_t> sizes;
  int64_t left = 1, right = 1;
  while (true) {
    for (; left == 1 && !one.empty(); one = one.drop_front())
      left = one.front();
    for (; right == 1 && !other.empty(); other = other.drop_front())
      right = other.front();
    const int64_t size = std::min(left, right);
    if (left == 1 && right == 1)
      return sizes;
    if (size <= 1 || left % size != 0 || right % size != 0)
      return std::nullopt;
    sizes.push_back(size);
    left /= size;
    right /= size;
  }
}

/// Returns the dimension of `shape` that each of the sizes is a part of.
static SmallVector<int64_t> findOwners(ArrayRef<int64_t> sizes, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> owners;
  for (auto [dim, size] : llvm::enumerate(shape))
    for (int64_t rest = size; rest != 1; rest /= sizes[owners.size() - 1])
      owners.push_back(static_cast<int64_t>(dim));
  return owners;
}

/// Adds up the operand of a transposition instead of its result: fewer elements then move, and
/// those that are added up are often further apart.
static void addBeforeTransposing(Addends &addends) {
  Value source = addends.value;
  while (auto reshape = source.hasOneUse() ? source.getDefiningOp<hlo::ReshapeOp>() : nullptr)
    source = reshape.getOperand();
  auto transpose = source.hasOneUse() ? source.getDefiningOp<hlo::TransposeOp>() : nullptr;
  if (!transpose)
    return;
  ArrayRef<int64_t> transposed = transpose.getType().getShape();
  std::optional<SmallVector<int64_t>> sizes = refine(transposed, addends.shape);
  if (!sizes)
    return;
  const SmallVector<int64_t> from = findOwners(*sizes, transposed),
                             to = findOwners(*sizes, addends.shape);
  // The order of the parts in the operand of the transposition, and of those that remain.
  SmallVector<int64_t> order, shape, dims, rest;
  for (int64_t dim = 0; dim < static_cast<int64_t>(transposed.size()); ++dim)
    for (auto [part, owner] : llvm::enumerate(from))
      if (transpose.getPermutation()[owner] == dim)
        order.push_back(static_cast<int64_t>(part));
  for (auto [position, part] : llvm::enumerate(order)) {
    shape.push_back((*sizes)[part]);
    if (llvm::is_contained(addends.dims, to[part]))
      dims.push_back(static_cast<int64_t>(position));
    else
      rest.push_back(part);
  }
  SmallVector<int64_t> permutation = llvm::to_vector(llvm::seq<int64_t>(0, rest.size()));
  llvm::sort(permutation, [&](int64_t a, int64_t b) { return rest[a] < rest[b]; });
  addends = {transpose.getOperand(), std::move(shape), std::move(dims), {}};
  if (!llvm::is_sorted(permutation))
    addends.permutation = std::move(permutation);
}

/// Emits the sums, with the element type of the collective.
static Value emitSums(OpBuilder &builder, const Addends &addends, LocalSum sum) {
  // Each new op belongs to the stage of the op that it replaces.
  auto created = [](Operation *one, Operation *from) {
    one->setDiscardableAttrs(from->getDiscardableAttrDictionary());
    return one->getResult(0);
  };
  hlo::ReduceOp reduce = sum.reduce;
  const Location loc = reduce.getLoc();
  Value value = addends.value;
  auto type = cast<RankedTensorType>(value.getType()).clone(addends.shape);
  if (value.getType() != type)
    value = created(hlo::ReshapeOp::create(builder, loc, type, value), reduce);
  const Type wide = getElementTypeOrSelf(reduce.getResult(0).getType());
  if (type.getElementType() != wide)
    value = created(hlo::ConvertOp::create(builder, loc, type.clone(wide), value), reduce);
  auto local = cast<hlo::ReduceOp>(builder.clone(*reduce));
  local.getInputsMutable().assign(value);
  local.setDimensions(addends.dims);
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(addends.shape))
    if (!llvm::is_contained(addends.dims, static_cast<int64_t>(dim)))
      shape.push_back(size);
  value = local.getResult(0);
  value.setType(RankedTensorType::get(shape, wide));
  if (sum.narrow)
    value = created(hlo::ConvertOp::create(builder, sum.narrow.getLoc(), type.clone(shape), value),
                    sum.narrow);
  if (!addends.permutation.empty()) {
    auto from = cast<RankedTensorType>(value.getType());
    auto permuted =
        llvm::map_to_vector(addends.permutation, [&](int64_t dim) { return shape[dim]; });
    value = created(hlo::TransposeOp::create(builder, loc, from.clone(permuted), value,
                                             builder.getDenseI64ArrayAttr(addends.permutation)),
                    reduce);
  }
  return value;
}

/// Erases the ops from `last` back to `first`, which have no other users. Also erases the reshapes
/// and transposes before them that have become unused.
static void eraseChain(Operation *last, Operation *first) {
  while (last) {
    Operation *before = last->getOperand(0).getDefiningOp();
    const bool isFirst = last == first;
    last->erase();
    if (isFirst)
      first = nullptr;
    last = first || (before && before->use_empty() && isa<hlo::ReshapeOp, hlo::TransposeOp>(before))
               ? before
               : nullptr;
  }
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
  if (addends.getNumElements() == 0)
    return false;

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

  Addends own{op->getOperand(0), std::move(shape), std::move(dims), {}};
  addBeforeTransposing(own);
  OpBuilder builder(last);
  auto reshape = [&](Value value, RankedTensorType type, Operation *from) -> Value {
    if (value.getType() == type)
      return value;
    auto reshaped = hlo::ReshapeOp::create(builder, from->getLoc(), type, value);
    reshaped->setDiscardableAttrs(from->getDiscardableAttrDictionary());
    return reshaped;
  };
  Value value = reshape(emitSums(builder, own, sum), sentType, reduce);
  Operation *moved = builder.clone(*op);
  moved->setOperand(0, value);
  moved->getResult(0).setType(sentType.clone(received));
  if (parts)
    cast<ReduceScatterOp>(moved).setDim(deviceDim);
  last->getResult(0).replaceAllUsesWith(reshape(moved->getResult(0), final, last));
  eraseChain(last, op);
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
