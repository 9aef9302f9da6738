#include "passes/Import/ShardMap/ShardBody.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

ShardBody::Axes ShardBody::unite(const Axes &a, const Axes &b) const {
  Axes all(a);
  all.append(b.begin(), b.end());
  llvm::sort(all);
  all.erase(llvm::unique(all), all.end());
  return all;
}

Lifted ShardBody::lookup(Value local) const {
  auto found = values.find(local);
  return found == values.end() ? Lifted{local, {}} : found->second;
}

ShardBody::Axes ShardBody::axesOf(ValueRange locals) const {
  Axes all;
  for (Value local : locals)
    all = unite(all, lookup(local).axes);
  return all;
}

SmallVector<int64_t> ShardBody::lead(const Axes &axes) const {
  SmallVector<int64_t> shape;
  for (unsigned axis : axes)
    shape.push_back(sizes[axis]);
  return shape;
}

RankedTensorType ShardBody::lifted(Type local, const Axes &axes) const {
  auto type = cast<RankedTensorType>(local);
  SmallVector<int64_t> shape = lead(axes);
  llvm::append_range(shape, type.getShape());
  return type.clone(shape);
}

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

Value ShardBody::reshape(Location loc, Value value, ArrayRef<int64_t> shape) {
  if (typeOf(value).getShape() == shape)
    return value;
  return hlo::ReshapeOp::create(builder, loc, typeOf(value).clone(shape), value);
}

Value ShardBody::transpose(Location loc, Value value, ArrayRef<int64_t> order) {
  if (llvm::equal(order, llvm::seq<int64_t>(0, order.size())))
    return value;
  SmallVector<int64_t> shape;
  for (int64_t dim : order)
    shape.push_back(typeOf(value).getDimSize(dim));
  return hlo::TransposeOp::create(builder, loc, typeOf(value).clone(shape), value, order);
}

/// The value with a leading dimension for each of `axes`, some of which it already has.
Value ShardBody::spread(Location loc, const Lifted &value, const Axes &axes) {
  if (value.axes == axes)
    return value.value;
  SmallVector<int64_t> dims;
  for (unsigned axis : value.axes)
    dims.push_back(llvm::find(axes, axis) - axes.begin());
  auto type = typeOf(value.value);
  auto own = static_cast<int64_t>(value.axes.size());
  auto missing = static_cast<int64_t>(axes.size()) - own;
  for (int64_t dim = own; dim < type.getRank(); ++dim)
    dims.push_back(dim + missing);
  SmallVector<int64_t> shape = lead(axes);
  llvm::append_range(shape, type.getShape().drop_front(own));
  return hlo::BroadcastInDimOp::create(builder, loc, type.clone(shape), value.value, dims);
}

/// Constrains the leading dimensions to be sharded by their axes, the others by `dims`.
void ShardBody::constrain(Location loc, Lifted &value, ArrayRef<SmallVector<unsigned>> dims) {
  if (names.empty())
    return;
  SmallVector<ArrayAttr> shardings;
  auto add = [&](ArrayRef<unsigned> axes) {
    SmallVector<Attribute> list;
    for (unsigned axis : axes)
      list.push_back(names[axis]);
    shardings.push_back(builder.getArrayAttr(list));
  };
  for (unsigned axis : value.axes)
    add(axis);
  for (int64_t dim = value.axes.size(); dim < typeOf(value.value).getRank(); ++dim) {
    size_t own = dim - value.axes.size();
    add(own < dims.size() ? ArrayRef<unsigned>(dims[own]) : ArrayRef<unsigned>());
  }
  auto sharding = ShardingAttr::get(
      builder.getContext(), FlatSymbolRefAttr::get(builder.getContext(), "mesh"), shardings);
  value.value = ConstrainOp::create(builder, loc, value.value.getType(), value.value, sharding);
}

//===----------------------------------------------------------------------===//
// Whole tensors and their parts
//===----------------------------------------------------------------------===//

/// The dimensions of the whole, each split into those of its axes and the rest; `places` are the
/// positions of the axes' dimensions, `rests` those of the rests.
static SmallVector<int64_t> splitShape(ArrayRef<int64_t> shape,
                                       ArrayRef<SmallVector<unsigned>> split,
                                       ArrayRef<int64_t> sizes, DenseMap<unsigned, int64_t> &places,
                                       SmallVectorImpl<int64_t> &rests) {
  SmallVector<int64_t> result;
  for (auto [size, axes] : llvm::zip_equal(shape, split)) {
    int64_t rest = size;
    for (unsigned axis : axes) {
      places[axis] = static_cast<int64_t>(result.size());
      result.push_back(sizes[axis]);
      rest /= sizes[axis];
    }
    rests.push_back(static_cast<int64_t>(result.size()));
    result.push_back(rest);
  }
  return result;
}

Lifted ShardBody::enter(Location loc, Value whole, ArrayRef<SmallVector<unsigned>> split,
                        ArrayRef<SmallVector<unsigned>> free) {
  DenseMap<unsigned, int64_t> places;
  SmallVector<int64_t> rests, order;
  SmallVector<int64_t> shape = splitShape(typeOf(whole).getShape(), split, sizes, places, rests);
  Lifted result;
  for (unsigned axis = 0; axis < sizes.size(); ++axis)
    if (auto place = places.find(axis); place != places.end()) {
      result.axes.push_back(axis);
      order.push_back(place->second);
    }
  llvm::append_range(order, rests);
  result.value = transpose(loc, reshape(loc, whole, shape), order);
  constrain(loc, result, free);
  return result;
}

Value ShardBody::leave(Location loc, const Lifted &parts, ArrayRef<SmallVector<unsigned>> split,
                       RankedTensorType type) {
  DenseMap<unsigned, int64_t> places;
  SmallVector<int64_t> rests;
  SmallVector<int64_t> shape = splitShape(type.getShape(), split, sizes, places, rests);
  Axes wanted;
  for (auto &[axis, place] : places)
    wanted.push_back(axis);
  llvm::sort(wanted);
  // Along an axis that splits nothing, all shards are equal: take the first.
  Axes all = unite(wanted, parts.axes);
  Value value = spread(loc, parts, all);
  auto current = typeOf(value);
  SmallVector<int64_t> starts(current.getRank(), 0), limits(current.getShape()), kept,
      strides(current.getRank(), 1);
  for (auto [i, axis] : llvm::enumerate(all))
    if (!places.contains(axis))
      limits[i] = 1;
  if (all != wanted) {
    value =
        hlo::SliceOp::create(builder, loc, current.clone(limits), value, starts, limits, strides);
    kept = lead(wanted);
    llvm::append_range(kept, current.getShape().drop_front(all.size()));
    value = reshape(loc, value, kept);
  }
  SmallVector<int64_t> order(shape.size());
  for (auto [i, axis] : llvm::enumerate(wanted))
    order[places[axis]] = static_cast<int64_t>(i);
  for (auto [i, place] : llvm::enumerate(rests))
    order[place] = static_cast<int64_t>(wanted.size() + i);
  return reshape(loc, transpose(loc, value, order), type.getShape());
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Regions of tensor ops are computations on scalars and capture nothing.
static bool capturesValues(Operation *op) {
  bool captures = false;
  for (Region &region : op->getRegions())
    region.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        captures |= !region.isAncestor(operand.getParentRegion());
    });
  return captures;
}

/// A constraint within the body concerns the axes that the body does not see.
LogicalResult ShardBody::liftConstraint(sdy::ShardingConstraintOp op) {
  Lifted value = lookup(op.getInput());
  SmallVector<SmallVector<unsigned>> dims;
  bool splits = false;
  for (ArrayAttr dim : op.getSharding().getDims()) {
    dims.emplace_back();
    for (auto axis : dim.getAsRange<StringAttr>()) {
      const auto *found = llvm::find(names, axis);
      auto number = static_cast<unsigned>(found - names.begin());
      if (found == names.end() || llvm::is_contained(manual, number))
        return op.emitOpError("in a computation on shards splits a tensor by axis ")
               << axis << ", which is none that the computation leaves";
      dims.back().push_back(number);
      splits = true;
    }
  }
  if (splits)
    constrain(op.getLoc(), value, dims);
  map(op.getResult(), value);
  return success();
}

LogicalResult ShardBody::lift(Operation *op) {
  if (isa<hlo::AllReduceOp, hlo::ReduceScatterOp, hlo::AllGatherOp, hlo::AllToAllOp,
          hlo::CollectivePermuteOp, hlo::CollectiveBroadcastOp, hlo::PartitionIdOp,
          hlo::ReplicaIdOp>(op))
    return liftCollective(op);
  if (isa<hlo::WhileOp>(op))
    return liftWhile(op);
  if (isa<hlo::IfOp, hlo::CaseOp>(op))
    return liftBranches(op);
  if (isa<func::CallOp>(op))
    return liftCall(op);
  if (auto nested = dyn_cast<sdy::ManualComputationOp>(op))
    return liftNested(nested);
  if (auto constraint = dyn_cast<sdy::ShardingConstraintOp>(op))
    return liftConstraint(constraint);
  if (liftAxisIndex(op))
    return success();
  if (capturesValues(op))
    return op->emitOpError("in a computation on shards uses values from outside of its regions");
  Axes axes = axesOf(op->getOperands());
  if (axes.empty())
    return rebuild(op, axes, op->getOperands(), {});
  if (isa<hlo::SelectOp, hlo::ClampOp>(op))
    return liftScalarOperands(op, axes);
  if (op->hasTrait<OpTrait::Elementwise>() ||
      isa<hlo::OptimizationBarrierOp, hlo::CholeskyOp, hlo::TriangularSolveOp, hlo::FftOp>(op) ||
      op->getName().getStringRef() == "chlo.top_k")
    return liftAlike(op, axes);
  if (isa<hlo::DotGeneralOp>(op))
    return liftDot(op, axes);
  if (isa<hlo::ReduceOp, hlo::SortOp, hlo::ReduceWindowOp>(op))
    return liftReduction(op, axes);
  if (isa<hlo::GatherOp, hlo::ScatterOp>(op))
    return liftIndexing(op, axes);
  if (isa<hlo::DynamicSliceOp>(op))
    return liftDynamicSlice(op, axes);
  if (isa<hlo::DynamicUpdateSliceOp>(op))
    return liftDynamicUpdate(op, axes);
  return liftShape(op, axes);
}

/// Builds an op like `op` on lifted operands, with some attributes changed.
LogicalResult ShardBody::rebuild(Operation *op, const Axes &axes, ValueRange operands,
                                 ArrayRef<NamedAttribute> changed) {
  SmallVector<Value> own;
  for (Value operand : operands)
    own.push_back(axes.empty() ? lookup(operand).value : operand);
  IRMapping none;
  Operation *copy = op->cloneWithoutRegions();
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), copy->getRegions()))
    from.cloneInto(&to, none);
  copy->setOperands(own);
  for (NamedAttribute attribute : changed)
    copy->setAttr(attribute.getName(), attribute.getValue());
  for (OpResult result : copy->getResults())
    result.setType(lifted(result.getType(), axes));
  builder.insert(copy);
  for (auto [from, to] : llvm::zip_equal(op->getResults(), copy->getResults()))
    map(from, {to, axes});
  return success();
}
