#include "passes/Import/ShardMap/ShardBody.h"

#include "dialects/St/IR/ShardingUtils.h"
#include "dialects/St/Interfaces/Notes.h"
#include "dialects/St/Interfaces/ShardingRule.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Import/UnreducedValues.h"

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

SmallVector<StringAttr> ShardBody::namesOf(const Axes &axes) const {
  return llvm::map_to_vector(axes, [&](unsigned axis) { return names[axis]; });
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

/// Adds the leading dimensions of `axes` that the value lacks.
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

/// Constrains the leading dimensions to be sharded by their axes, the others by `dims`. Axes that
/// the body does not see may shard dimensions that are open or not listed in `dims`.
void ShardBody::constrain(Location loc, Lifted &value, ArrayRef<SmallVector<unsigned>> dims,
                          ArrayRef<int64_t> open) {
  if (names.empty() || groupAxis)
    return;
  SmallVector<ArrayAttr> shardings;
  SmallVector<int64_t> openDims;
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
    if (manual.size() < names.size() && (own >= dims.size() || llvm::is_contained(open, own)))
      openDims.push_back(dim);
  }
  auto sharding =
      ShardingAttr::get(builder.getContext(), FlatSymbolRefAttr::get(builder.getContext(), "mesh"),
                        shardings, ReduceKind::Sum, {}, openDims, {}, {});
  value.value = ConstrainOp::create(builder, loc, value.value.getType(), value.value, sharding);
}

Value ShardBody::spreadCopies(Location loc, const Lifted &value, const Axes &axes) {
  Lifted copies = {spread(loc, value, axes), axes};
  Operation *producer = value.value.getDefiningOp();
  if (value.axes != axes && !(producer && producer->getNumOperands() == 0))
    constrain(loc, copies);
  return copies.value;
}

//===----------------------------------------------------------------------===//
// Global tensors and their shards
//===----------------------------------------------------------------------===//

/// Splits each dimension of the global tensor into one per axis and the rest. Sets `places` to the
/// positions of the axes' dimensions, and `rests` to the positions of the rests.
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

Lifted ShardBody::enter(Location loc, const Lifted &global, ArrayRef<SmallVector<unsigned>> split,
                        ArrayRef<SmallVector<unsigned>> free, ArrayRef<int64_t> open) {
  DenseMap<unsigned, int64_t> places;
  SmallVector<int64_t> rests, order, shape = lead(global.axes);
  auto count = static_cast<int64_t>(global.axes.size());
  llvm::append_range(shape, splitShape(typeOf(global.value).getShape().drop_front(count), split,
                                       sizes, places, rests));
  Axes own;
  for (auto &[axis, place] : places)
    own.push_back(axis);
  Lifted result = {global.value, unite(global.axes, own)};
  for (unsigned axis : result.axes) {
    auto place = places.find(axis);
    order.push_back(place == places.end() ? llvm::find(global.axes, axis) - global.axes.begin()
                                          : count + place->second);
  }
  for (int64_t rest : rests)
    order.push_back(count + rest);
  result.value = transpose(loc, reshape(loc, global.value, shape), order);
  constrain(loc, result, free, open);
  return result;
}

Lifted ShardBody::leave(Location loc, const Lifted &parts, ArrayRef<SmallVector<unsigned>> split,
                        RankedTensorType type, ArrayRef<unsigned> inner) {
  DenseMap<unsigned, int64_t> places;
  SmallVector<int64_t> rests;
  SmallVector<int64_t> shape = splitShape(type.getShape(), split, sizes, places, rests);
  Axes wanted, outer;
  for (auto &[axis, place] : places)
    wanted.push_back(axis);
  Axes all = unite(wanted, parts.axes);
  for (unsigned axis : all)
    if (!llvm::is_contained(inner, axis))
      outer.push_back(axis);
  Axes kept = unite(outer, wanted);
  // Along an axis that shards no dimension, the program declares all shards equal. They may differ
  // (JAX's check_vma=False): each device has a separate value, and users of one tensor read the
  // first.
  Lifted own = {spread(loc, parts, all), all};
  // Propagation alone would not shard what is equal on all shards, or is computed on all devices.
  if (all != parts.axes || all != kept)
    constrain(loc, own);
  Value value = own.value;
  auto current = typeOf(value);
  SmallVector<int64_t> starts(current.getRank(), 0), limits(current.getShape()),
      strides(current.getRank(), 1), rest = lead(kept);
  SmallVector<int64_t> copies;
  for (auto [i, axis] : llvm::enumerate(all))
    if (!llvm::is_contained(kept, axis)) {
      limits[i] = 1;
      copies.push_back(static_cast<int64_t>(i));
    }
  if (all != kept) {
    auto slice =
        hlo::SliceOp::create(builder, loc, current.clone(limits), value, starts, limits, strides);
    slice->setAttr(kCopiesAttr, builder.getDenseI64ArrayAttr(copies));
    value = slice;
    llvm::append_range(rest, current.getShape().drop_front(all.size()));
    value = reshape(loc, value, rest);
  }
  size_t count = outer.size();
  SmallVector<int64_t> order(count + shape.size()), result = lead(outer);
  for (auto [i, axis] : llvm::enumerate(kept)) {
    auto place = places.find(axis);
    order[place == places.end() ? llvm::find(outer, axis) - outer.begin() : count + place->second] =
        static_cast<int64_t>(i);
  }
  for (auto [i, place] : llvm::enumerate(rests))
    order[count + place] = static_cast<int64_t>(kept.size() + i);
  llvm::append_range(result, type.getShape());
  return {reshape(loc, transpose(loc, value, order), result), outer};
}

FailureOr<Lifted> ShardBody::enter(Location loc, const Lifted &global, const DimensionAxes &axes) {
  const Axes others(axes.unreduced.begin(), axes.unreduced.end());
  if (terms && !others.empty() && global.axes.empty())
    if (Value known = terms->find(global.value, namesOf(others)))
      return enter(loc, Lifted{known, others}, axes.split, axes.free, axes.open);
  Lifted parts = enter(loc, global, axes.split, axes.free, axes.open);
  if (axes.unreduced.empty())
    return parts;
  Axes all = unite(parts.axes, others);
  Value padded = emitTerms(builder, builder.getInsertionBlock(), loc, parts.value, lead(others));
  if (!padded)
    return emitError(loc,
                     "a complex value is unreduced in a computation on shards, which cannot be "
                     "imported");
  // The terms' dimensions come first.
  SmallVector<int64_t> order;
  for (unsigned axis : all) {
    const auto *term = llvm::find(others, axis);
    order.push_back(term != others.end() ? term - others.begin()
                                         : static_cast<int64_t>(others.size()) +
                                               (llvm::find(parts.axes, axis) - parts.axes.begin()));
  }
  for (auto dim = static_cast<int64_t>(all.size()); dim < typeOf(padded).getRank(); ++dim)
    order.push_back(dim);
  Lifted result = {transpose(loc, padded, order), all};
  constrain(loc, result, axes.free, axes.open);
  return result;
}

Lifted ShardBody::leave(Location loc, const Lifted &parts, const DimensionAxes &axes,
                        RankedTensorType type, ArrayRef<unsigned> inner) {
  if (axes.unreduced.empty())
    return leave(loc, parts, axes.split, type, inner);
  // Along the unreduced axes, the parts are terms.
  const Axes others(axes.unreduced.begin(), axes.unreduced.end());
  Axes all = unite(parts.axes, others);
  SmallVector<unsigned> rest;
  for (unsigned axis : inner)
    if (!llvm::is_contained(others, axis))
      rest.push_back(axis);
  Lifted summands = leave(loc, {spread(loc, parts, all), all}, axes.split, type, rest), sum;
  SmallVector<int64_t> dims;
  for (auto [i, axis] : llvm::enumerate(summands.axes))
    if (llvm::is_contained(others, axis))
      dims.push_back(static_cast<int64_t>(i));
    else
      sum.axes.push_back(axis);
  Emitter emit(builder, builder.getInsertionBlock(), loc);
  sum.value = emit.reduceAdd(summands.value, dims);
  if (terms && sum.axes.empty())
    terms->add(sum.value, summands.value, namesOf(others));
  return sum;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// The values from above that the regions of a tensor op use.
static SetVector<Value> findCaptured(Operation *op) {
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  return captured;
}

/// A sharding constraint within the body applies to the axes that the body does not see.
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
               << axis << ", which is not a free axis of the computation";
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
  if (isa<func::CallOp, hlo::CompositeOp>(op))
    return liftCall(op);
  if (auto nested = dyn_cast<sdy::ManualComputationOp>(op))
    return liftNested(nested);
  if (auto constraint = dyn_cast<sdy::ShardingConstraintOp>(op))
    return liftConstraint(constraint);
  if (liftAxisIndex(op))
    return success();
  // A custom call with a side effect is called once per shard.
  if (auto call = dyn_cast<hlo::CustomCallOp>(op); call && call.getHasSideEffect())
    return liftEach(op, manual);
  for (Value captured : findCaptured(op))
    if (!lookup(captured).axes.empty())
      return withNote(op->emitOpError("in a computation on shards has a region that uses a value "
                                      "that differs between shards, which cannot be imported"),
                      captured, "the value is defined here");
  Axes axes = axesOf(op->getOperands());
  if (axes.empty())
    return rebuild(op, axes, op->getOperands(), {});
  if (isa<hlo::SelectOp, hlo::ClampOp>(op))
    return liftScalarOperands(op, axes);
  if (op->hasTrait<OpTrait::Elementwise>() ||
      isa<hlo::BitcastConvertOp, hlo::OptimizationBarrierOp, hlo::CholeskyOp,
          hlo::TriangularSolveOp, hlo::FftOp>(op) ||
      op->getName().getStringRef() == "chlo.top_k")
    return liftUniform(op, axes);
  if (isa<hlo::DotGeneralOp>(op))
    return liftDot(op, axes);
  if (isa<hlo::ReduceOp, hlo::SortOp, hlo::ReduceWindowOp, hlo::SelectAndScatterOp>(op))
    return liftReduction(op, axes);
  if (isa<hlo::ConvolutionOp>(op))
    return liftConvolution(op, axes);
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
  IRMapping mapping;
  for (Value captured : findCaptured(op))
    mapping.map(captured, lookup(captured).value);
  Operation *copy = op->cloneWithoutRegions();
  for (auto [from, to] : llvm::zip_equal(op->getRegions(), copy->getRegions()))
    from.cloneInto(&to, mapping);
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
