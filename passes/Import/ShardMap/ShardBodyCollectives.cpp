// Collectives of a computation on shards, as ops along the dimensions of mesh axes.
#include "dialects/Sdy/SdyDialect.h"
#include "dialects/StableHLO/Analysis/Permutation.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "dialects/StableHLO/Utils/Reducers.h"
#include "mlir/IR/IRMapping.h"
#include "passes/Import/ShardMap/ShardBody.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

//===----------------------------------------------------------------------===//
// Groups of devices
//===----------------------------------------------------------------------===//

static int64_t productOf(ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    product *= size;
  return product;
}

int64_t ShardBody::numDevices() const { return meshDevices.value_or(productOf(sizes)); }
int64_t ShardBody::strideOf(unsigned axis) const {
  return productOf(ArrayRef(sizes).drop_front(axis + 1));
}

LogicalResult ShardBody::checkDevice(Operation *op, int64_t device) const {
  if (device >= 0 && device < numDevices())
    return success();
  return op->emitOpError("in a computation on shards names device ")
         << device << " of " << numDevices();
}

/// The offset in device numbers of each position along `axes`; the first axis is major.
static SmallVector<int64_t> offsetsAlong(ArrayRef<unsigned> axes, ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> offsets = {0};
  for (unsigned axis : axes) {
    int64_t stride = productOf(sizes.drop_front(axis + 1));
    SmallVector<int64_t> next;
    for (int64_t offset : offsets)
      for (int64_t i = 0; i < sizes[axis]; ++i)
        next.push_back(offset + i * stride);
    offsets = std::move(next);
  }
  return offsets;
}

/// Returns true if each group has the devices that differ only along `axes`, in order.
static bool areGroupsAlong(ArrayRef<int64_t> numbers, ArrayRef<unsigned> axes,
                           ArrayRef<int64_t> sizes) {
  SmallVector<int64_t> offsets = offsetsAlong(axes, sizes);
  llvm::SmallDenseSet<int64_t> seen;
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != numbers[i - i % offsets.size()] + offsets[i % offsets.size()] ||
        !seen.insert(numbers[i]).second)
      return false;
  return true;
}

std::optional<ShardBody::Axes> ShardBody::findAxesOfGroups(DenseIntElementsAttr groups) const {
  if (groupAxis)
    return Axes{*groupAxis};
  int64_t devices = numDevices();
  auto numbers = llvm::to_vector(groups.getValues<int64_t>());
  if (numbers.empty())
    numbers = llvm::to_vector(llvm::seq<int64_t>(0, devices));
  int64_t width = groups.empty() ? devices : groups.getType().getDimSize(1);
  // Ordered selections of axes, starting with none.
  std::vector<Axes> candidates = {{}};
  for (size_t i = 0; i < candidates.size() && candidates.size() < 10'000; ++i) {
    Axes axes = candidates[i];
    int64_t size = 1;
    for (unsigned axis : axes)
      size *= sizes[axis];
    bool isWide = size == width && static_cast<int64_t>(numbers.size()) == devices;
    if (isWide && llvm::all_of(numbers, [&](int64_t n) { return n >= 0 && n < devices; }) &&
        areGroupsAlong(numbers, axes, sizes))
      return axes;
    for (unsigned axis : manual)
      if (!llvm::is_contained(axes, axis)) {
        candidates.push_back(axes);
        candidates.back().push_back(axis);
      }
  }
  return std::nullopt;
}

FailureOr<ShardBody::Axes> ShardBody::axesOfGroups(Operation *op,
                                                   DenseIntElementsAttr groups) const {
  if (std::optional<Axes> axes = findAxesOfGroups(groups))
    return *axes;
  return op->emitOpError(
      "in a computation on shards has groups that do not follow axes of the mesh");
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// The op that combines a reducer's two arguments into its result, ignoring sharding constraints;
/// null if the reducer does more.
static Operation *findShardCombiner(Region &reducer) {
  auto skipConstraints = [](Value value) {
    while (auto constraint = value.getDefiningOp<sdy::ShardingConstraintOp>())
      value = constraint.getInput();
    return value;
  };
  Block &block = reducer.front();
  Operation *end = block.getTerminator();
  if (block.getNumArguments() != 2 || end->getNumOperands() != 1)
    return nullptr;
  Operation *combiner = skipConstraints(end->getOperand(0)).getDefiningOp();
  if (!combiner || combiner->getNumOperands() != 2)
    return nullptr;
  Value first = skipConstraints(combiner->getOperand(0)),
        second = skipConstraints(combiner->getOperand(1));
  bool isOfBoth = (first == block.getArgument(0) && second == block.getArgument(1)) ||
                  (first == block.getArgument(1) && second == block.getArgument(0));
  return isOfBoth ? combiner : nullptr;
}

/// Reduces the leading dimensions of some axes.
FailureOr<Lifted> ShardBody::reduceOver(Operation *op, Region &reducer, const Lifted &value,
                                        const Axes &over) {
  Location loc = op->getLoc();
  Axes all = unite(value.axes, over);
  Value operand = spreadCopies(loc, value, all);
  auto type = typeOf(operand);
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Operation *combiner = findShardCombiner(reducer);
  Attribute neutral = combiner ? getNeutralElement(combiner, type.getElementType()) : Attribute();
  if (!neutral)
    return op->emitOpError(
        "in a computation on shards expects a reduction by add, max, min, multiply, and, or, xor");
  Lifted result;
  SmallVector<int64_t> dims, shape;
  for (auto [i, axis] : llvm::enumerate(all)) {
    if (llvm::is_contained(over, axis)) {
      dims.push_back(static_cast<int64_t>(i));
      continue;
    }
    result.axes.push_back(axis);
    shape.push_back(type.getDimSize(static_cast<int64_t>(i)));
  }
  llvm::append_range(shape, type.getShape().drop_front(all.size()));
  Value start =
      hlo::ConstantOp::create(builder, loc, scalar, DenseElementsAttr::get(scalar, neutral));
  OperationState state(loc, hlo::ReduceOp::getOperationName(), {operand, start},
                       {type.clone(shape)});
  state.addAttribute("dimensions", builder.getDenseI64ArrayAttr(dims));
  IRMapping none;
  Region *body = state.addRegion();
  reducer.cloneInto(body, none);
  for (auto constraint : llvm::make_early_inc_range(body->getOps<sdy::ShardingConstraintOp>())) {
    constraint.getResult().replaceAllUsesWith(constraint.getInput());
    constraint->erase();
  }
  result.value = builder.create(state)->getResult(0);
  return result;
}

/// all_reduce and reduce_scatter.
LogicalResult ShardBody::liftReducing(Operation *op) {
  auto groups = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
  FailureOr<Axes> over = axesOfGroups(op, groups);
  if (failed(over))
    return failure();
  for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
    FailureOr<Lifted> reduced = reduceOver(op, op->getRegion(0), lookup(operand), *over);
    if (failed(reduced))
      return failure();
    Lifted value = *reduced;
    if (auto scatter = dyn_cast<hlo::ReduceScatterOp>(op)) {
      // Each device owns one shard of the dimension.
      auto dim = static_cast<size_t>(scatter.getScatterDimension()) + value.axes.size();
      SmallVector<int64_t> shape(typeOf(value.value).getShape()), order;
      int64_t parts = 1;
      for (unsigned axis : *over)
        parts *= sizes[axis];
      shape[dim] /= parts;
      for (auto [i, axis] : llvm::enumerate(*over))
        shape.insert(shape.begin() + dim + i, sizes[axis]);
      Value split = reshape(op->getLoc(), value.value, shape);
      Axes all = unite(value.axes, *over);
      for (unsigned axis : all) {
        auto *found = llvm::find(*over, axis);
        order.push_back(found != over->end() ? static_cast<int64_t>(dim) + (found - over->begin())
                                             : llvm::find(value.axes, axis) - value.axes.begin());
      }
      for (size_t i = value.axes.size(); i < shape.size(); ++i)
        if (i < dim || i >= dim + over->size())
          order.push_back(static_cast<int64_t>(i));
      value = {transpose(op->getLoc(), split, order), all};
    }
    constrain(op->getLoc(), value);
    map(result, value);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Movement
//===----------------------------------------------------------------------===//

/// all_gather: the leading dimensions of the axes become part of the gathered one.
LogicalResult ShardBody::liftGather(Operation *op) {
  auto gather = cast<hlo::AllGatherOp>(op);
  FailureOr<Axes> over = axesOfGroups(op, gather.getReplicaGroups());
  if (failed(over))
    return failure();
  for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
    Lifted own = lookup(operand);
    Axes all = unite(own.axes, *over);
    Value value = spreadCopies(op->getLoc(), own, all);
    auto count = static_cast<int64_t>(all.size());
    Lifted gathered;
    SmallVector<int64_t> order;
    for (auto [i, axis] : llvm::enumerate(all))
      if (!llvm::is_contained(*over, axis)) {
        gathered.axes.push_back(axis);
        order.push_back(static_cast<int64_t>(i));
      }
    for (int64_t dim = 0; dim < typeOf(operand).getRank(); ++dim) {
      if (dim == static_cast<int64_t>(gather.getAllGatherDim()))
        for (unsigned axis : *over)
          order.push_back(llvm::find(all, axis) - all.begin());
      order.push_back(count + dim);
    }
    gathered.value = reshape(op->getLoc(), transpose(op->getLoc(), value, order),
                             lifted(result.getType(), gathered.axes).getShape());
    constrain(op->getLoc(), gathered);
    map(result, gathered);
  }
  return success();
}

/// all_to_all: exchanges the shards of one dimension between the devices.
LogicalResult ShardBody::liftExchange(Operation *op) {
  auto exchange = cast<hlo::AllToAllOp>(op);
  FailureOr<Axes> over = axesOfGroups(op, exchange.getReplicaGroups());
  if (failed(over))
    return failure();
  Location loc = op->getLoc();
  auto split = static_cast<int64_t>(exchange.getSplitDimension());
  auto concat = static_cast<int64_t>(exchange.getConcatDimension());
  for (auto [operand, result] : llvm::zip_equal(op->getOperands(), op->getResults())) {
    Lifted own = lookup(operand);
    Axes all = unite(own.axes, *over);
    auto count = static_cast<int64_t>(all.size()), parts = static_cast<int64_t>(over->size());
    Value value = spreadCopies(loc, own, all);
    SmallVector<int64_t> shape(typeOf(value).getShape()), order;
    shape[count + split] /= static_cast<int64_t>(exchange.getSplitCount());
    for (auto [i, axis] : llvm::enumerate(*over))
      shape.insert(shape.begin() + count + split + i, sizes[axis]);
    // Dimension d of the local value comes after the parts if it is not before them.
    auto place = [&](int64_t dim) { return count + dim + (dim >= split ? parts : 0); };
    for (auto [i, axis] : llvm::enumerate(all)) {
      auto *found = llvm::find(*over, axis);
      order.push_back(found == over->end() ? static_cast<int64_t>(i)
                                           : count + split + (found - over->begin()));
    }
    for (int64_t dim = 0; dim < typeOf(operand).getRank(); ++dim) {
      if (dim == concat)
        for (unsigned axis : *over)
          order.push_back(llvm::find(all, axis) - all.begin());
      order.push_back(place(dim));
    }
    Lifted exchanged = {reshape(loc, transpose(loc, reshape(loc, value, shape), order),
                                lifted(result.getType(), all).getShape()),
                        all};
    constrain(loc, exchanged);
    map(result, exchanged);
  }
  return success();
}

/// Returns true if moves keep the position along an axis and are equal at all its positions.
static bool isUnmovedAlong(ArrayRef<int64_t> sources, int64_t stride, int64_t size) {
  for (auto [device, source] : llvm::enumerate(sources)) {
    int64_t offset = static_cast<int64_t>(device) / stride % size * stride;
    int64_t first = sources[device - offset];
    bool startsAtFirst = first < 0 || first / stride % size == 0;
    if (!startsAtFirst || source != (first < 0 ? -1 : first + offset))
      return false;
  }
  return true;
}

/// The sources as a permutation: positions without a source get an unused source, their own if
/// possible. std::nullopt if a source occurs twice.
static std::optional<Permutation> completePermutation(int64_t dim, ArrayRef<int64_t> sources) {
  auto size = static_cast<int64_t>(sources.size());
  Permutation complete{dim, llvm::to_vector(sources)};
  SmallVector<bool> isTaken(size);
  for (int64_t source : sources)
    if (source >= 0 && std::exchange(isTaken[source], true))
      return std::nullopt;
  for (int64_t i = 0; i < size; ++i)
    if (sources[i] < 0 && !isTaken[i])
      isTaken[complete.sources[i] = i] = true;
  auto *next = isTaken.begin();
  for (int64_t &source : complete.sources)
    if (source < 0) {
      next = std::find(next, isTaken.end(), false);
      source = next - isTaken.begin();
      *next = true;
    }
  return complete;
}

/// Zeros where a position of a dimension has no source.
static Value clearWithoutSource(Emitter &emit, Value value, int64_t dim,
                                ArrayRef<int64_t> sources) {
  auto hasSource = llvm::map_to_vector(sources, [](int64_t source) { return source >= 0; });
  auto type = RankedTensorType::get(static_cast<int64_t>(sources.size()), emit.builder.getI1Type());
  Value mask = emit.constant(DenseElementsAttr::get(type, ArrayRef<bool>(hasSource)));
  return emit.select(emit.broadcast(mask, dim, typeOf(value).getShape()), value,
                     emit.zerosLike(value));
}

/// Gives the positions of a dimension the values at their sources; -1 means zeros. Devices
/// send each other the elements of a permutation. Otherwise positions that are adjacent before and
/// after are one slice.
static Value pickPositions(Emitter &emit, Value value, int64_t dim, ArrayRef<int64_t> sources) {
  auto type = typeOf(value);
  auto size = static_cast<int64_t>(sources.size());
  const bool isAnySent = llvm::any_of(sources, [](int64_t source) { return source >= 0; });
  std::optional<Permutation> permutation;
  if (isAnySent && size > 1 && size == type.getDimSize(dim))
    permutation = completePermutation(dim, sources);
  if (permutation) {
    Value moved = emitPermutation(emit.builder, emit.loc, value, *permutation);
    return llvm::is_contained(sources, -1) ? clearWithoutSource(emit, moved, dim, sources) : moved;
  }
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<Value> pieces;
  for (int64_t i = 0; i < size;) {
    int64_t next = i + 1;
    while (next < size &&
           (sources[i] < 0 ? sources[next] < 0 : sources[next] == sources[i] + next - i))
      ++next;
    shape[dim] = next - i;
    pieces.push_back(sources[i] < 0 ? emit.splat(type.clone(shape), 0)
                                    : emit.sliceDim(value, dim, sources[i], sources[i] + next - i));
    i = next;
  }
  return pieces.size() == 1 ? pieces[0] : emit.concatenate(pieces, dim);
}

/// Lifts an op that moves values. `sources` has the sender of each device, or -1 for zeros.
LogicalResult ShardBody::liftMoves(Operation *op, ArrayRef<int64_t> sources) {
  Axes over;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    if (isUnmovedAlong(sources, strideOf(axis), sizes[axis]))
      continue;
    if (!llvm::is_contained(manual, axis))
      return op->emitOpError("in a computation on shards moves values along an axis of the mesh "
                             "that is not manual");
    over.push_back(axis);
  }
  // The source of each position along these axes, the first axis major.
  SmallVector<int64_t> positions(sources.size(), -1), from;
  SmallVector<int64_t> offsets = offsetsAlong(over, sizes);
  for (auto [position, offset] : llvm::enumerate(offsets))
    positions[offset] = static_cast<int64_t>(position);
  for (int64_t offset : offsets)
    from.push_back(sources[offset] < 0 ? -1 : positions[sources[offset]]);

  Location loc = op->getLoc();
  Emitter emit(builder, builder.getInsertionBlock(), loc);
  Lifted own = lookup(op->getOperand(0));
  Axes all = unite(own.axes, over);
  Value value = spreadCopies(loc, own, all);
  bool isOne = llvm::all_equal(from);
  // Makes the dimensions of the axes adjacent and merges them.
  Axes order, others;
  for (unsigned axis : all)
    if (!llvm::is_contained(over, axis))
      order.push_back(axis), others.push_back(axis);
    else if (axis == over.front())
      order.append(over);
  int64_t dim = over.empty() ? 0 : llvm::find(order, over.front()) - order.begin();
  SmallVector<int64_t> there, back;
  for (unsigned axis : order)
    there.push_back(llvm::find(all, axis) - all.begin());
  for (unsigned axis : all)
    back.push_back(llvm::find(order, axis) - order.begin());
  for (int64_t i = order.size(); i < typeOf(value).getRank(); ++i)
    there.push_back(i), back.push_back(i);
  value = transpose(loc, value, there);
  SmallVector<int64_t> apart(typeOf(value).getShape()), merged(apart);
  merged.erase(merged.begin() + dim, merged.begin() + dim + over.size());
  merged.insert(merged.begin() + dim, offsets.size());
  value = reshape(loc, value, merged);
  // If all positions receive from the same one, the result is equal along the axes.
  value = pickPositions(emit, value, dim, isOne ? ArrayRef(from).take_front() : ArrayRef(from));
  Lifted moved = {value, isOne ? others : all};
  if (isOne) {
    merged.erase(merged.begin() + dim);
    moved.value = reshape(loc, value, merged);
  } else {
    moved.value = transpose(loc, reshape(loc, value, apart), back);
  }
  constrain(loc, moved);
  map(op->getResult(0), moved);
  return success();
}

/// collective_permute: each target gets its source's value; devices without a source get zeros.
LogicalResult ShardBody::liftPermute(Operation *op) {
  auto pairs = llvm::to_vector(
      cast<hlo::CollectivePermuteOp>(op).getSourceTargetPairs().getValues<int64_t>());
  SmallVector<int64_t> sources(numDevices(), -1);
  for (size_t i = 0; i < pairs.size(); i += 2) {
    if (failed(checkDevice(op, pairs[i])) || failed(checkDevice(op, pairs[i + 1])))
      return failure();
    sources[pairs[i + 1]] = pairs[i];
  }
  return liftMoves(op, sources);
}

/// collective_broadcast: all members of a group get the value of its first member, others zeros.
LogicalResult ShardBody::liftBroadcast(Operation *op) {
  DenseIntElementsAttr groups = cast<hlo::CollectiveBroadcastOp>(op).getReplicaGroups();
  // An empty list of groups means one group of all devices.
  SmallVector<int64_t> sources(numDevices(), groups.empty() ? 0 : -1);
  int64_t width = groups.empty() ? 1 : groups.getType().getDimSize(1), root = -1;
  for (auto [i, member] : llvm::enumerate(groups.getValues<int64_t>())) {
    if (static_cast<int64_t>(i) % width == 0)
      root = -1;
    // Padding of a smaller group.
    if (member < 0)
      continue;
    if (failed(checkDevice(op, member)))
      return failure();
    root = root < 0 ? member : root;
    sources[member] = root;
  }
  return liftMoves(op, sources);
}

//===----------------------------------------------------------------------===//
// Groups that are not along axes
//===----------------------------------------------------------------------===//

/// Returns true if each device is in one group.
static bool isPartition(ArrayRef<int64_t> members, int64_t devices) {
  llvm::SmallDenseSet<int64_t> seen;
  for (int64_t member : members)
    if (member < 0 || member >= devices || !seen.insert(member).second)
      return false;
  return static_cast<int64_t>(members.size()) == devices;
}

/// Returns the value with two leading dimensions for the devices: groups and their members.
Value ShardBody::regroup(Location loc, Value value, ArrayRef<int64_t> members,
                         ArrayRef<int64_t> before, ArrayRef<int64_t> after) {
  ArrayRef<int64_t> own = typeOf(value).getShape().drop_front(before.size());
  SmallVector<int64_t> merged = {numDevices()}, shape(after);
  llvm::append_range(merged, own);
  llvm::append_range(shape, own);
  Emitter emit(builder, builder.getInsertionBlock(), loc);
  return reshape(loc, pickPositions(emit, reshape(loc, value, merged), 0, members), shape);
}

/// Lifts a collective whose groups are not along axes. Moves the shards so that the groups are
/// along an axis, and moves the results back.
LogicalResult ShardBody::liftRegrouped(Operation *op, DenseIntElementsAttr groups) {
  SmallVector<int64_t> members = llvm::to_vector(groups.getValues<int64_t>());
  if (manual.size() != sizes.size() || !isPartition(members, numDevices()))
    return axesOfGroups(op, groups); // always fails here
  Location loc = op->getLoc();
  SmallVector<int64_t> back(members.size()), inGroups(groups.getType().getShape());
  for (auto [place, member] : llvm::enumerate(members))
    back[member] = static_cast<int64_t>(place);
  Axes all = llvm::to_vector<2>(llvm::seq<unsigned>(0, sizes.size()));
  SmallVector<int64_t> onMesh = lead(all);
  SmallVector<Lifted> operands;
  auto group = static_cast<unsigned>(sizes.size());
  for (Value operand : op->getOperands()) {
    operands.push_back(lookup(operand));
    Value value = spread(loc, operands.back(), all);
    map(operand, {regroup(loc, value, members, onMesh, inGroups), {group, group + 1}});
  }
  const SmallVector<int64_t> kept = sizes;
  meshDevices = numDevices();
  llvm::append_range(sizes, inGroups);
  groupAxis = group + 1;
  LogicalResult status = liftCollective(op);
  for (auto [operand, own] : llvm::zip_equal(op->getOperands(), operands))
    map(operand, own);
  if (succeeded(status))
    for (Value result : op->getResults()) {
      Value value = spread(loc, lookup(result), {group, group + 1});
      Lifted moved = {regroup(loc, value, back, inGroups, onMesh), all};
      map(result, moved);
    }
  groupAxis.reset();
  meshDevices.reset();
  sizes = kept;
  return status;
}

//===----------------------------------------------------------------------===//
// Numbers of devices
//===----------------------------------------------------------------------===//

LogicalResult ShardBody::liftPartitionId(Operation *op) {
  if (manual.size() != sizes.size())
    return op->emitOpError("in a computation on shards is used where not all axes are manual");
  auto type = typeOf(op->getResult(0));
  int64_t devices = numDevices();
  Axes all = llvm::to_vector<2>(llvm::seq<unsigned>(0, sizes.size()));
  Value iota = hlo::IotaOp::create(builder, op->getLoc(), type.clone({devices}), 0);
  map(op->getResult(0), {reshape(op->getLoc(), iota, lead(all)), all});
  return success();
}

/// partition_id / stride % size: the position along one axis, as JAX writes it.
bool ShardBody::liftAxisIndex(Operation *op) {
  auto numberOf = [](Value value) -> std::optional<int64_t> {
    auto constant = value.getDefiningOp<hlo::ConstantOp>();
    auto elements = constant ? dyn_cast<DenseIntElementsAttr>(constant.getValue()) : nullptr;
    if (!elements || !elements.isSplat())
      return std::nullopt;
    return elements.getSplatValue<APInt>().getZExtValue();
  };
  auto remainder = dyn_cast<hlo::RemOp>(op);
  auto divide = remainder ? remainder.getLhs().getDefiningOp<hlo::DivOp>() : nullptr;
  if (!divide || !divide.getLhs().getDefiningOp<hlo::PartitionIdOp>())
    return false;
  std::optional<int64_t> by = numberOf(divide.getRhs()), size = numberOf(remainder.getRhs());
  for (unsigned axis : manual) {
    if (by != strideOf(axis) || size != sizes[axis])
      continue;
    auto type = typeOf(op->getResult(0)).clone({sizes[axis]});
    Lifted index = {hlo::IotaOp::create(builder, op->getLoc(), type, 0), {axis}};
    map(op->getResult(0), index);
    return true;
  }
  return false;
}

LogicalResult ShardBody::liftCollective(Operation *op) {
  if (isa<hlo::AllReduceOp, hlo::ReduceScatterOp, hlo::AllGatherOp, hlo::AllToAllOp>(op))
    if (auto groups = op->getAttrOfType<DenseIntElementsAttr>("replica_groups");
        groups && !groups.empty() && !findAxesOfGroups(groups))
      return liftRegrouped(op, groups);
  if (isa<hlo::AllReduceOp, hlo::ReduceScatterOp>(op))
    return liftReducing(op);
  if (isa<hlo::AllGatherOp>(op))
    return liftGather(op);
  if (isa<hlo::AllToAllOp>(op))
    return liftExchange(op);
  if (isa<hlo::CollectivePermuteOp>(op))
    return liftPermute(op);
  if (isa<hlo::CollectiveBroadcastOp>(op))
    return liftBroadcast(op);
  if (isa<hlo::PartitionIdOp>(op))
    return liftPartitionId(op);
  return op->emitOpError("in a computation on shards cannot be imported");
}
