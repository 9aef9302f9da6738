#include "passes/Partition/Reshard/ReshardEmitter.h"
#include "dialects/StableHLO/StableHLOOps.h"

using namespace mlir;
using namespace mlir::st;
using namespace mlir::stablehlo;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// `shape` with dimension `dim` multiplied by `times` and divided by `over`.
static SmallVector<int64_t> scaled(ArrayRef<int64_t> shape, int64_t dim, int64_t times,
                                   int64_t over) {
  SmallVector<int64_t> result(shape);
  result[dim] = result[dim] * times / over;
  return result;
}

Value ReshardEmitter::reshape(Location loc, Value value, ArrayRef<int64_t> shape) {
  if (typeOf(value).getShape() == shape)
    return value;
  return ReshapeOp::create(builder, loc, typeOf(value).clone(shape), value);
}

Value ReshardEmitter::splat(Location loc, RankedTensorType type, int64_t value) {
  Type element = type.getElementType();
  Attribute attribute = builder.getZeroAttr(element);
  if (auto complex = dyn_cast<ComplexType>(element)) {
    Attribute zero = builder.getZeroAttr(complex.getElementType());
    attribute = builder.getArrayAttr({zero, zero});
  } else if (value != 0) {
    // APInt and not getIntegerAttr: the element may be unsigned.
    attribute =
        IntegerAttr::get(element, APInt(element.getIntOrFloatBitWidth(), value, /*isSigned=*/true,
                                        /*implicitTrunc=*/true));
  }
  return ConstantOp::create(builder, loc, DenseElementsAttr::get(type, attribute));
}

Value ReshardEmitter::coordinate(Location loc, Axis axis, RankedTensorType like) {
  auto scalar = RankedTensorType::get({}, builder.getI32Type());
  Value index = AxisIndexOp::create(builder, loc, scalar, axes.name(axis), axes.meshName());
  if (like.getElementType() != scalar.getElementType())
    index = ConvertOp::create(builder, loc, scalar.clone(like.getElementType()), index);
  if (like.getRank() == 0)
    return index;
  return BroadcastInDimOp::create(builder, loc, like, index, ArrayRef<int64_t>{});
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

namespace {
/// The dimensions of a step in a tensor reshaped so that each split part is a separate dimension:
/// [outer, rest] instead of the dimension; [outer, between, rest] if an exchange stays within one.
struct Opened {
  SmallVector<int64_t> shape;
  int64_t dim = 0, fromDim = 0;

  /// Begins a dimension at `outer` within the remainder `size` of a dimension.
  int64_t begin(int64_t outer, int64_t &size, bool keepsUnit) {
    if (outer != 1 || keepsUnit)
      shape.push_back(outer);
    size /= outer;
    return shape.size();
  }
};
} // namespace

static Opened open(ArrayRef<int64_t> shape, const ReshardStep &step) {
  Opened opened;
  bool hasFrom = step.kind == ReshardStep::AllToAll;
  for (auto [i, extent] : llvm::enumerate(shape)) {
    int64_t dim = i, size = extent;
    bool isDim = dim == step.dim, isFrom = hasFrom && dim == step.fromDim;
    if (isDim && isFrom) {
      bool isFromFirst = step.fromOuter <= step.outer;
      int64_t first = std::min(step.fromOuter, step.outer);
      int64_t between = std::max(step.fromOuter, step.outer) / first;
      (isFromFirst ? opened.fromDim : opened.dim) = opened.begin(first, size, false);
      (isFromFirst ? opened.dim : opened.fromDim) = opened.begin(between, size, true);
    } else if (isDim) {
      opened.dim = opened.begin(step.outer, size, false);
    } else if (isFrom) {
      opened.fromDim = opened.begin(step.fromOuter, size, false);
    }
    opened.shape.push_back(size);
  }
  return opened;
}

/// The part of this micro-batch.
Value ReshardEmitter::microSlice(Location loc, Value value, const ReshardStep &step) {
  RankedTensorType type = typeOf(value);
  SmallVector<int64_t> sizes = scaled(type.getShape(), step.dim, 1, axes.size(kMicroAxis));
  auto scalar = RankedTensorType::get({}, builder.getI32Type());
  Value zero = splat(loc, scalar, 0);
  SmallVector<Value> starts(type.getRank(), zero);
  starts[step.dim] = MulOp::create(builder, loc, coordinate(loc, kMicroAxis, scalar),
                                   splat(loc, scalar, sizes[step.dim]));
  return DynamicSliceOp::create(builder, loc, type.clone(sizes), value, starts, sizes);
}

/// Zeroes the value except at the first position of the axes.
Value ReshardEmitter::mask(Location loc, Value value, const ReshardStep &step) {
  auto scalar = RankedTensorType::get({}, builder.getI32Type());
  Value isFirst;
  for (Axis axis : step.axes) {
    Value atZero = CompareOp::create(builder, loc, coordinate(loc, axis, scalar),
                                     splat(loc, scalar, 0), ComparisonDirection::EQ);
    isFirst = isFirst ? AndOp::create(builder, loc, isFirst, atZero) : atZero;
  }
  RankedTensorType type = typeOf(value);
  if (type.getRank() != 0)
    isFirst = BroadcastInDimOp::create(builder, loc, type.clone(builder.getI1Type()), isFirst,
                                       ArrayRef<int64_t>{});
  return SelectOp::create(builder, loc, type, isFirst, value, splat(loc, type, 0));
}

Value ReshardEmitter::emitStep(Location loc, Value value, const ReshardStep &step,
                               ReduceKind kind) {
  RankedTensorType type = typeOf(value);
  ArrayAttr names = axes.namesOf(step.axes);
  switch (step.kind) {
  case ReshardStep::Accumulate:
    return AccumulateOp::create(builder, loc, type, value, kind);
  case ReshardStep::AllReduce:
    return AllReduceOp::create(builder, loc, type, value, kind, names, axes.meshName())
        .getResult(0);
  case ReshardStep::CollectivePermute:
    return CollectivePermuteOp::create(builder, loc, value, step.pairs, names, axes.meshName());
  case ReshardStep::Mask:
    return step.keepsCopies ? value : mask(loc, value, step);
  default:
    break;
  }
  Opened opened = open(type.getShape(), step);
  SmallVector<int64_t> closed(type.getShape());
  int64_t parts = axes.size(step.axes);
  value = reshape(loc, value, opened.shape);
  auto resultType = [&](int64_t times, int64_t over) {
    closed = scaled(closed, step.dim, times, over);
    return type.clone(scaled(opened.shape, opened.dim, times, over));
  };
  switch (step.kind) {
  case ReshardStep::AllSlice:
    value = AllSliceOp::create(builder, loc, resultType(1, parts), value, opened.dim, names,
                               axes.meshName());
    break;
  case ReshardStep::MicroSlice: {
    ReshardStep inOpened = step;
    inOpened.dim = opened.dim;
    closed = scaled(closed, step.dim, 1, parts);
    value = microSlice(loc, value, inOpened);
    break;
  }
  case ReshardStep::ReduceScatter:
    value = ReduceScatterOp::create(builder, loc, resultType(1, parts), value, kind, opened.dim,
                                    names, axes.meshName())
                .getResult(0);
    break;
  case ReshardStep::AllGather:
    value = AllGatherOp::create(builder, loc, resultType(parts, 1), value, opened.dim, names,
                                axes.meshName())
                .getResult(0);
    break;
  case ReshardStep::AllToAll: {
    SmallVector<int64_t> moved = scaled(opened.shape, opened.dim, 1, parts);
    Type result = type.clone(scaled(moved, opened.fromDim, parts, 1));
    closed = scaled(scaled(closed, step.dim, 1, parts), step.fromDim, parts, 1);
    value = AllToAllOp::create(builder, loc, result, value, opened.dim, opened.fromDim, names,
                               axes.meshName());
    break;
  }
  default:
    llvm_unreachable("handled above");
  }
  return reshape(loc, value, closed);
}

Value ReshardEmitter::convert(Location loc, Value value, Type elementType) {
  RankedTensorType type = typeOf(value);
  if (type.getElementType() == elementType)
    return value;
  return ConvertOp::create(builder, loc, type.clone(elementType), value);
}

Value ReshardEmitter::emit(Location loc, Value value, ArrayRef<ReshardStep> steps, ReduceKind kind,
                           Type reduceType) {
  Type own = typeOf(value).getElementType();
  Type wide = needsWideSum(value.getType(), steps, kind) ? builder.getF32Type() : own;
  value = convert(loc, value, wide);
  for (const ReshardStep &step : steps) {
    bool isSum = step.kind == ReshardStep::AllReduce || step.kind == ReshardStep::ReduceScatter;
    if (isSum && reduceType)
      value = convert(loc, value, reduceType);
    if (step.kind == ReshardStep::Accumulate)
      value = convert(loc, value, wide);
    value = emitStep(loc, value, step, kind);
  }
  return convert(loc, value, own);
}

//===----------------------------------------------------------------------===//
// Neighbours
//===----------------------------------------------------------------------===//

/// Returns true if this device has the first part, or with `last` the last one.
Value ReshardEmitter::isAt(Location loc, ArrayRef<Split> splits, bool last) {
  auto scalar = RankedTensorType::get({}, builder.getI32Type());
  Value all;
  for (const Split &split : splits) {
    Value is =
        CompareOp::create(builder, loc, coordinate(loc, split.axis, scalar),
                          splat(loc, scalar, last ? split.size - 1 : 0), ComparisonDirection::EQ);
    all = all ? AndOp::create(builder, loc, all, is) : is;
  }
  return all;
}

Value ReshardEmitter::withNeighbours(Location loc, Value value, int64_t dim, ArrayRef<Split> splits,
                                     int64_t low, int64_t high, Value fill) {
  RankedTensorType type = typeOf(value);
  int64_t size = type.getDimSize(dim), parts = shardCount(splits);
  SmallVector<Axis> over;
  for (const Split &split : splits)
    over.push_back(split.axis);
  // The edge of the neighbouring part where this device's part begins, or ends.
  auto edge = [&](int64_t from, int64_t count, bool before) -> Value {
    SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape());
    SmallVector<int64_t> strides(type.getRank(), 1), shape(type.getShape()), pairs;
    starts[dim] = from;
    limits[dim] = from + count;
    shape[dim] = count;
    RankedTensorType edgeType = type.clone(shape);
    Value own = SliceOp::create(builder, loc, edgeType, value, starts, limits, strides);
    for (int64_t part = 0; part + 1 < parts; ++part)
      pairs.append(before ? std::initializer_list<int64_t>{part, part + 1}
                          : std::initializer_list<int64_t>{part + 1, part});
    Value received =
        CollectivePermuteOp::create(builder, loc, own, pairs, axes.namesOf(over), axes.meshName());
    if (!fill)
      return received;
    ArrayRef<int64_t> none;
    Value isOutside = BroadcastInDimOp::create(builder, loc, edgeType.clone(builder.getI1Type()),
                                               isAt(loc, splits, /*last=*/!before), none);
    Value outside = BroadcastInDimOp::create(builder, loc, edgeType, fill, none);
    return SelectOp::create(builder, loc, edgeType, isOutside, outside, received);
  };
  SmallVector<Value> pieces;
  if (low > 0)
    pieces.push_back(edge(size - low, low, /*before=*/true));
  pieces.push_back(value);
  if (high > 0)
    pieces.push_back(edge(0, high, /*before=*/false));
  if (pieces.size() == 1)
    return value;
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = low + size + high;
  return ConcatenateOp::create(builder, loc, type.clone(shape), pieces, dim);
}

Value ReshardEmitter::permuteParts(Location loc, Value value, ArrayRef<Split> splits,
                                   ArrayRef<int64_t> sources) {
  SmallVector<Axis> over;
  for (const Split &split : splits)
    over.push_back(split.axis);
  SmallVector<int64_t> pairs;
  for (auto [target, source] : llvm::enumerate(sources))
    pairs.append({source, static_cast<int64_t>(target)});
  return CollectivePermuteOp::create(builder, loc, value, pairs, axes.namesOf(over),
                                     axes.meshName());
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static bool isUnsplit(const Split &split) { return split.axis == kUnsplit; }

/// The splits, followed by the rest of the dimension as an unsplit part. There is at least one such
/// part.
static Splits withRest(ArrayRef<Split> splits, int64_t size) {
  Splits all(splits);
  for (const Split &split : splits)
    size /= split.size;
  if (size > 1 || llvm::none_of(splits, isUnsplit))
    all.push_back({kUnsplit, size});
  return all;
}

Value ReshardEmitter::toGlobal(Value positions, ArrayRef<Split> splits, int64_t size) {
  Location loc = positions.getLoc();
  RankedTensorType type = typeOf(positions);
  Splits all = withRest(splits, size);
  size_t firstUnsplit = 0;
  while (all[firstUnsplit].axis != kUnsplit)
    ++firstUnsplit;
  // Digits of the position in the mixed radix of the parts, minor first.
  Value sum, left = positions;
  int64_t stride = 1;
  for (size_t i = all.size(); i-- > 0;) {
    Value digit = left;
    if (all[i].axis != kUnsplit) {
      digit = coordinate(loc, all[i].axis, type);
    } else if (i != firstUnsplit) {
      Value radix = splat(loc, type, all[i].size);
      digit = RemOp::create(builder, loc, left, radix);
      left = DivOp::create(builder, loc, left, radix);
    }
    Value term = digit;
    if (stride != 1)
      term = MulOp::create(builder, loc, digit, splat(loc, type, stride));
    sum = sum ? Value(AddOp::create(builder, loc, sum, term)) : term;
    stride *= all[i].size;
  }
  return sum;
}

Value ReshardEmitter::toLocal(Value positions, ArrayRef<Split> splits, int64_t size) {
  Location loc = positions.getLoc();
  RankedTensorType type = typeOf(positions);
  Splits all = withRest(splits, size);
  if (isUnsplit(all.back()) && llvm::count_if(all, isUnsplit) == 1) {
    // Each device has a contiguous part.
    Value first = toGlobal(splat(loc, type, 0), splits, size);
    return SubtractOp::create(builder, loc, positions, first);
  }
  Value sum = splat(loc, type, 0), left = positions, isHere;
  int64_t stride = 1;
  for (const Split &split : llvm::reverse(all)) {
    // The most major digit is the quotient, so a position outside the dimension stays outside.
    Value digit = left;
    if (&split != &all.front()) {
      Value radix = splat(loc, type, split.size);
      digit = RemOp::create(builder, loc, left, radix);
      left = DivOp::create(builder, loc, left, radix);
    }
    if (split.axis == kUnsplit) {
      Value term = MulOp::create(builder, loc, digit, splat(loc, type, stride));
      sum = AddOp::create(builder, loc, sum, term);
      stride *= split.size;
      continue;
    }
    Value matches = CompareOp::create(builder, loc, digit, coordinate(loc, split.axis, type),
                                      ComparisonDirection::EQ);
    isHere = isHere ? Value(AndOp::create(builder, loc, isHere, matches)) : matches;
  }
  return SelectOp::create(builder, loc, type, isHere, sum, splat(loc, type, -1));
}
