// Ops without communication: they get a leading dimension for each axis along which shards differ.
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/Emitter.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "passes/Import/ShardMap/ShardBody.h"

using namespace mlir;
using namespace mlir::st;
namespace hlo = mlir::stablehlo;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// 0, …, count - 1, followed by the given numbers.
static SmallVector<int64_t> behind(int64_t count, ArrayRef<int64_t> numbers) {
  SmallVector<int64_t> result = llvm::to_vector(llvm::seq<int64_t>(0, count));
  for (int64_t number : numbers)
    result.push_back(number + count);
  return result;
}

static SmallVector<int64_t> shifted(int64_t count, ArrayRef<int64_t> numbers) {
  return llvm::to_vector(llvm::map_range(numbers, [&](int64_t n) { return n + count; }));
}

/// Ops whose attributes do not depend on leading dimensions.
LogicalResult ShardBody::liftUniform(Operation *op, const Axes &axes) {
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(spread(op->getLoc(), lookup(operand), axes));
  return rebuild(op, axes, operands, {});
}

/// A predicate or a bound may be one number for all elements.
LogicalResult ShardBody::liftScalarOperands(Operation *op, const Axes &axes) {
  SmallVector<Value> operands;
  RankedTensorType type = lifted(op->getResult(0).getType(), axes);
  for (Value operand : op->getOperands()) {
    Value value = spread(op->getLoc(), lookup(operand), axes);
    if (typeOf(value).getRank() < type.getRank())
      value = hlo::BroadcastInDimOp::create(
          builder, op->getLoc(), typeOf(value).clone(type.getShape()), value,
          llvm::to_vector(llvm::seq<int64_t>(0, typeOf(value).getRank())));
    operands.push_back(value);
  }
  return rebuild(op, axes, operands, {});
}

LogicalResult ShardBody::liftShape(Operation *op, const Axes &axes) {
  auto count = static_cast<int64_t>(axes.size());
  SmallVector<int64_t> sizes = lead(axes);
  SmallVector<NamedAttribute> changed;
  auto array = [&](StringRef name, ArrayRef<int64_t> own, bool isSizes, int64_t fill) {
    SmallVector<int64_t> all = isSizes ? sizes : SmallVector<int64_t>(count, fill);
    llvm::append_range(all, own);
    changed.emplace_back(builder.getStringAttr(name), builder.getDenseI64ArrayAttr(all));
  };
  auto dims = [&](StringRef name, ArrayRef<int64_t> all) {
    changed.emplace_back(builder.getStringAttr(name), builder.getDenseI64ArrayAttr(all));
  };
  // The padding value is one number.
  if (auto pad = dyn_cast<hlo::PadOp>(op)) {
    if (!lookup(pad.getPaddingValue()).axes.empty())
      return liftEach(op, axes);
    array("edge_padding_low", pad.getEdgePaddingLow(), false, 0);
    array("edge_padding_high", pad.getEdgePaddingHigh(), false, 0);
    array("interior_padding", pad.getInteriorPadding(), false, 0);
    return rebuild(
        op, axes,
        {spread(op->getLoc(), lookup(pad.getOperand()), axes), lookup(pad.getPaddingValue()).value},
        changed);
  }
  if (auto broadcast = dyn_cast<hlo::BroadcastInDimOp>(op))
    dims("broadcast_dimensions", behind(count, broadcast.getBroadcastDimensions()));
  else if (auto transpose = dyn_cast<hlo::TransposeOp>(op))
    dims("permutation", behind(count, transpose.getPermutation()));
  else if (auto reverse = dyn_cast<hlo::ReverseOp>(op))
    dims("dimensions", shifted(count, reverse.getDimensions()));
  else if (auto concatenate = dyn_cast<hlo::ConcatenateOp>(op))
    changed.emplace_back(
        builder.getStringAttr("dimension"),
        builder.getI64IntegerAttr(static_cast<int64_t>(concatenate.getDimension()) + count));
  else if (auto slice = dyn_cast<hlo::SliceOp>(op)) {
    array("start_indices", slice.getStartIndices(), false, 0);
    array("limit_indices", slice.getLimitIndices(), true, 0);
    array("strides", slice.getStrides(), false, 1);
  } else if (!isa<hlo::ReshapeOp>(op)) {
    return liftEach(op, axes);
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(spread(op->getLoc(), lookup(operand), axes));
  return rebuild(op, axes, operands, changed);
}

/// reduce, sort, reduce_window, select_and_scatter.
LogicalResult ShardBody::liftReduction(Operation *op, const Axes &axes) {
  auto count = static_cast<int64_t>(axes.size());
  SmallVector<NamedAttribute> changed;
  auto add = [&](StringRef name, Attribute value) {
    changed.emplace_back(builder.getStringAttr(name), value);
  };
  size_t tensors = op->getNumOperands();
  if (auto reduce = dyn_cast<hlo::ReduceOp>(op)) {
    add("dimensions", builder.getDenseI64ArrayAttr(shifted(count, reduce.getDimensions())));
    tensors /= 2;
  } else if (auto sort = dyn_cast<hlo::SortOp>(op)) {
    auto dim = static_cast<int64_t>(sort.getDimension());
    add("dimension", builder.getI64IntegerAttr(dim < 0 ? dim : dim + count));
  } else {
    auto ones = [&](StringRef name, std::optional<ArrayRef<int64_t>> own) {
      if (!own)
        return;
      SmallVector<int64_t> all(count, 1);
      llvm::append_range(all, *own);
      add(name, builder.getDenseI64ArrayAttr(all));
    };
    std::optional<DenseIntElementsAttr> padding;
    if (auto window = dyn_cast<hlo::ReduceWindowOp>(op)) {
      tensors /= 2;
      ones("window_dimensions", window.getWindowDimensions());
      ones("window_strides", window.getWindowStrides());
      ones("base_dilations", window.getBaseDilations());
      ones("window_dilations", window.getWindowDilations());
      padding = window.getPadding();
    } else {
      auto pool = cast<hlo::SelectAndScatterOp>(op);
      tensors = 2;
      ones("window_dimensions", pool.getWindowDimensions());
      ones("window_strides", pool.getWindowStrides());
      padding = pool.getPadding();
    }
    if (padding) {
      SmallVector<int64_t> all(2 * count, 0);
      llvm::append_range(all, padding->getValues<int64_t>());
      auto type =
          RankedTensorType::get({static_cast<int64_t>(all.size()) / 2, 2}, builder.getI64Type());
      add("padding", DenseIntElementsAttr::get(type, ArrayRef<int64_t>(all)));
    }
  }
  SmallVector<Value> operands;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    Lifted own = lookup(operand);
    // An initial value is one number.
    if (i >= tensors && !own.axes.empty())
      return liftEach(op, axes);
    operands.push_back(i < tensors ? spread(op->getLoc(), own, axes) : own.value);
  }
  return rebuild(op, axes, operands, changed);
}

LogicalResult ShardBody::liftDot(Operation *op, const Axes &axes) {
  auto count = static_cast<int64_t>(axes.size());
  hlo::DotDimensionNumbersAttr dims = cast<hlo::DotGeneralOp>(op).getDotDimensionNumbers();
  auto numbers = hlo::DotDimensionNumbersAttr::get(
      op->getContext(), behind(count, dims.getLhsBatchingDimensions()),
      behind(count, dims.getRhsBatchingDimensions()),
      shifted(count, dims.getLhsContractingDimensions()),
      shifted(count, dims.getRhsContractingDimensions()));
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(spread(op->getLoc(), lookup(operand), axes));
  return rebuild(op, axes, operands,
                 NamedAttribute(builder.getStringAttr("dot_dimension_numbers"), numbers));
}

/// The dimensions of a value with `count` leading ones in front of dimension `dim` of the others.
static SmallVector<int64_t> leadingBefore(int64_t rank, int64_t count, int64_t dim) {
  SmallVector<int64_t> order;
  for (int64_t i = count; i < rank; ++i) {
    if (i - count == dim)
      llvm::append_range(order, llvm::seq<int64_t>(0, count));
    order.push_back(i);
  }
  return order;
}

/// A convolution of all shards. The leading dimensions become part of the batch if all shards have
/// the same kernel, and otherwise feature groups or batch groups.
LogicalResult ShardBody::liftConvolution(Operation *op, const Axes &axes) {
  auto convolution = cast<hlo::ConvolutionOp>(op);
  hlo::ConvDimensionNumbersAttr dims = convolution.getDimensionNumbers();
  Location loc = op->getLoc();
  auto count = static_cast<int64_t>(axes.size());
  int64_t parts = 1;
  for (int64_t size : lead(axes))
    parts *= size;
  bool isBatchGrouped = convolution.getBatchGroupCount() > 1;
  bool hasOneKernel = lookup(op->getOperand(1)).axes.empty() && !isBatchGrouped;
  auto merge = [&](Value value, int64_t dim) {
    auto type = typeOf(value);
    SmallVector<int64_t> shape(type.getShape().drop_front(count));
    shape[dim] *= parts;
    return reshape(loc, transpose(loc, value, leadingBefore(type.getRank(), count, dim)), shape);
  };
  int64_t inputDim = hasOneKernel || isBatchGrouped ? dims.getInputBatchDimension()
                                                    : dims.getInputFeatureDimension();
  int64_t outputDim =
      hasOneKernel ? dims.getOutputBatchDimension() : dims.getOutputFeatureDimension();
  Value input = merge(spread(loc, lookup(op->getOperand(0)), axes), inputDim);
  Value kernel = lookup(op->getOperand(1)).value;
  if (!hasOneKernel)
    kernel =
        merge(spread(loc, lookup(op->getOperand(1)), axes), dims.getKernelOutputFeatureDimension());
  Operation *copy = builder.clone(*op);
  copy->setOperands({input, kernel});
  if (!hasOneKernel) {
    StringRef groups = isBatchGrouped ? "batch_group_count" : "feature_group_count";
    int64_t own =
        isBatchGrouped ? convolution.getBatchGroupCount() : convolution.getFeatureGroupCount();
    copy->setAttr(groups, builder.getI64IntegerAttr(own * parts));
  }
  auto type = typeOf(op->getResult(0));
  SmallVector<int64_t> merged(type.getShape()), apart, back(count + type.getRank());
  merged[outputDim] *= parts;
  copy->getResult(0).setType(type.clone(merged));
  SmallVector<int64_t> order = leadingBefore(count + type.getRank(), count, outputDim);
  SmallVector<int64_t> shape = lead(axes);
  llvm::append_range(shape, type.getShape());
  for (auto [i, dim] : llvm::enumerate(order)) {
    apart.push_back(shape[dim]);
    back[dim] = static_cast<int64_t>(i);
  }
  map(op->getResult(0), {transpose(loc, reshape(loc, copy->getResult(0), apart), back), axes});
  return success();
}

/// Emits a call for the shards that take it. The results of the others are zeros.
SmallVector<Value> ShardBody::liftGuarded(Operation *op, ValueRange operands, Value isTaken) {
  Location loc = op->getLoc();
  OperationState state(loc, hlo::IfOp::getOperationName(), isTaken, op->getResultTypes());
  for (bool takes : {true, false}) {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(state.addRegion());
    SmallVector<Value> results;
    if (takes) {
      Operation *copy = builder.clone(*op);
      copy->setOperands(operands);
      llvm::append_range(results, copy->getResults());
    } else {
      Emitter emit(builder, block, loc);
      for (Type type : op->getResultTypes())
        results.push_back(emit.splat(cast<RankedTensorType>(type), 0));
    }
    builder.setInsertionPointToEnd(block);
    hlo::ReturnOp::create(builder, loc, results);
  }
  return llvm::to_vector_of<Value>(builder.create(state)->getResults());
}

/// Any other op, once for each shard.
LogicalResult ShardBody::liftEach(Operation *op, const Axes &axes) {
  constexpr int64_t maxShards = 64;
  Location loc = op->getLoc();
  SmallVector<int64_t> sizesOfAxes = lead(axes);
  int64_t shards = 1;
  for (int64_t size : sizesOfAxes)
    shards *= size;
  bool mayRepeat =
      isa<hlo::CustomCallOp>(op) || (isMemoryEffectFree(op) && op->getNumResults() > 0);
  if (!mayRepeat || shards > maxShards)
    return op->emitOpError("in a computation on shards cannot be imported");
  auto own = [](Value value, size_t leading) {
    return typeOf(value).getShape().drop_front(leading);
  };
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    Value value = spread(loc, lookup(operand), axes);
    SmallVector<int64_t> shape = {shards};
    llvm::append_range(shape, own(value, axes.size()));
    operands.push_back(reshape(loc, value, shape));
  }
  auto partOf = [&](Value all, int64_t shard) {
    auto type = typeOf(all);
    SmallVector<int64_t> starts(type.getRank(), 0), limits(type.getShape()),
        strides(type.getRank(), 1);
    starts[0] = shard;
    limits[0] = shard + 1;
    SmallVector<int64_t> shape(limits);
    shape[0] = 1;
    Value slice =
        hlo::SliceOp::create(builder, loc, type.clone(shape), all, starts, limits, strides);
    return reshape(loc, slice, own(all, 1));
  };
  auto call = dyn_cast<hlo::CustomCallOp>(op);
  Value taken = call && call.getHasSideEffect() ? takenBy(loc, axes) : Value();
  if (taken)
    taken = reshape(loc, taken, shards);
  SmallVector<SmallVector<Value>> results(op->getNumResults());
  for (int64_t shard = 0; shard < shards; ++shard) {
    SmallVector<Value> parts;
    for (Value operand : operands)
      parts.push_back(partOf(operand, shard));
    IRMapping mapping;
    mapping.map(op->getOperands(), parts);
    for (Region &region : op->getRegions()) {
      SetVector<Value> captured;
      getUsedValuesDefinedAbove(region, region, captured);
      for (Value value : captured)
        mapping.map(value, lookup(value).value);
    }
    SmallVector<Value> created;
    if (taken) {
      created = liftGuarded(op, parts, partOf(taken, shard));
    } else {
      Operation *copy = builder.clone(*op, mapping);
      copy->setOperands(parts);
      llvm::append_range(created, copy->getResults());
    }
    for (auto [result, list] : llvm::zip_equal(created, results)) {
      SmallVector<int64_t> shape = {1};
      llvm::append_range(shape, own(result, 0));
      list.push_back(reshape(loc, result, shape));
    }
  }
  for (auto [result, list] : llvm::zip_equal(op->getResults(), results)) {
    SmallVector<int64_t> shape = {shards};
    llvm::append_range(shape, own(result, 0));
    Value all = hlo::ConcatenateOp::create(builder, loc, typeOf(result).clone(shape), list, 0);
    map(result, {reshape(loc, all, lifted(result.getType(), axes).getShape()), axes});
  }
  return success();
}

/// gather and scatter: the leading dimensions become batching dimensions of both.
LogicalResult ShardBody::liftIndexing(Operation *op, const Axes &axes) {
  auto count = static_cast<int64_t>(axes.size());
  SmallVector<NamedAttribute> changed;
  auto add = [&](StringRef name, Attribute value) {
    changed.emplace_back(builder.getStringAttr(name), value);
  };
  if (auto gather = dyn_cast<hlo::GatherOp>(op)) {
    hlo::GatherDimensionNumbersAttr dims = gather.getDimensionNumbers();
    add("dimension_numbers",
        hlo::GatherDimensionNumbersAttr::get(op->getContext(), shifted(count, dims.getOffsetDims()),
                                             shifted(count, dims.getCollapsedSliceDims()),
                                             behind(count, dims.getOperandBatchingDims()),
                                             behind(count, dims.getStartIndicesBatchingDims()),
                                             shifted(count, dims.getStartIndexMap()),
                                             dims.getIndexVectorDim() + count));
    SmallVector<int64_t> slices(count, 1);
    llvm::append_range(slices, gather.getSliceSizes());
    add("slice_sizes", builder.getDenseI64ArrayAttr(slices));
  } else {
    hlo::ScatterDimensionNumbersAttr dims = cast<hlo::ScatterOp>(op).getScatterDimensionNumbers();
    add("scatter_dimension_numbers",
        hlo::ScatterDimensionNumbersAttr::get(
            op->getContext(), shifted(count, dims.getUpdateWindowDims()),
            shifted(count, dims.getInsertedWindowDims()),
            behind(count, dims.getInputBatchingDims()),
            behind(count, dims.getScatterIndicesBatchingDims()),
            shifted(count, dims.getScatterDimsToOperandDims()), dims.getIndexVectorDim() + count));
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(spread(op->getLoc(), lookup(operand), axes));
  // With batching, the order of all indices is unknown.
  add("indices_are_sorted", builder.getBoolAttr(false));
  return rebuild(op, axes, operands, changed);
}

/// The start indices of each shard in one dimension: [leading dimensions, number of indices].
static Value indexRows(OpBuilder &builder, Location loc, ArrayRef<Value> indices) {
  SmallVector<Value> rows;
  for (Value index : indices) {
    SmallVector<int64_t> shape(typeOf(index).getShape());
    shape.push_back(1);
    rows.push_back(hlo::ReshapeOp::create(builder, loc, typeOf(index).clone(shape), index));
  }
  SmallVector<int64_t> shape(typeOf(rows.front()).getShape());
  auto dim = static_cast<uint64_t>(shape.size() - 1);
  shape.back() = static_cast<int64_t>(rows.size());
  return hlo::ConcatenateOp::create(builder, loc, typeOf(rows.front()).clone(shape), rows, dim);
}

LogicalResult ShardBody::liftDynamicSlice(Operation *op, const Axes &axes) {
  auto slice = cast<hlo::DynamicSliceOp>(op);
  auto count = static_cast<int64_t>(axes.size());
  Location loc = op->getLoc();
  int64_t rank = typeOf(slice.getOperand()).getRank();
  SmallVector<Value> indices;
  for (Value index : slice.getStartIndices())
    indices.push_back(spread(loc, lookup(index), axes));
  SmallVector<int64_t> own = llvm::to_vector(llvm::seq<int64_t>(count, count + rank)),
                       leading = llvm::to_vector(llvm::seq<int64_t>(0, count)), sizes(count, 1);
  llvm::append_range(sizes, slice.getSliceSizes());
  Value operand = spread(loc, lookup(slice.getOperand()), axes);
  if (rank == 0) {
    map(op->getResult(0), {operand, axes});
    return success();
  }
  // Like a dynamic slice, a gather clamps a start so that the slice fits.
  OperationState state(loc, hlo::GatherOp::getOperationName(),
                       {operand, indexRows(builder, loc, indices)},
                       {lifted(op->getResult(0).getType(), axes)});
  state.addAttribute("dimension_numbers",
                     hlo::GatherDimensionNumbersAttr::get(op->getContext(), own, {}, leading,
                                                          leading, own, count));
  state.addAttribute("slice_sizes", builder.getDenseI64ArrayAttr(sizes));
  state.addAttribute("indices_are_sorted", builder.getBoolAttr(false));
  map(op->getResult(0), {builder.create(state)->getResult(0), axes});
  return success();
}

LogicalResult ShardBody::liftDynamicUpdate(Operation *op, const Axes &axes) {
  auto update = cast<hlo::DynamicUpdateSliceOp>(op);
  auto count = static_cast<int64_t>(axes.size());
  Location loc = op->getLoc();
  auto type = typeOf(update.getOperand()), part = typeOf(update.getUpdate());
  Value operand = spread(loc, lookup(update.getOperand()), axes);
  Value value = spread(loc, lookup(update.getUpdate()), axes);
  if (type.getRank() == 0) {
    map(op->getResult(0), {value, axes});
    return success();
  }
  // A scatter drops updates that do not fit; here the start is clamped.
  SmallVector<Value> indices;
  for (auto [dim, index] : llvm::enumerate(update.getStartIndices())) {
    Value own = spread(loc, lookup(index), axes);
    // The bound must fit the index type as well.
    if (auto type = typeOf(own); type.getElementTypeBitWidth() < 32)
      own = hlo::ConvertOp::create(builder, loc, type.clone(builder.getI32Type()), own);
    auto bound = [&](int64_t number) -> Value {
      auto scalar = RankedTensorType::get({}, typeOf(own).getElementType());
      Attribute element = IntegerAttr::get(scalar.getElementType(), number);
      return hlo::ConstantOp::create(builder, loc, scalar, DenseElementsAttr::get(scalar, element));
    };
    indices.push_back(hlo::ClampOp::create(builder, loc, own.getType(), bound(0), own,
                                           bound(type.getDimSize(static_cast<int64_t>(dim)) -
                                                 part.getDimSize(static_cast<int64_t>(dim)))));
  }
  SmallVector<int64_t> own = llvm::to_vector(llvm::seq<int64_t>(count, count + type.getRank())),
                       leading = llvm::to_vector(llvm::seq<int64_t>(0, count));
  OperationState state(loc, hlo::ScatterOp::getOperationName(),
                       {operand, indexRows(builder, loc, indices), value}, {operand.getType()});
  state.addAttribute("scatter_dimension_numbers",
                     hlo::ScatterDimensionNumbersAttr::get(op->getContext(), own, {}, leading,
                                                           leading, own, count));
  state.addAttribute("indices_are_sorted", builder.getBoolAttr(false));
  state.addAttribute("unique_indices", builder.getBoolAttr(true));
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Region *body = state.addRegion();
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(body, {}, {scalar, scalar}, {loc, loc});
    hlo::ReturnOp::create(builder, loc, block->getArgument(1));
  }
  map(op->getResult(0), {builder.create(state)->getResult(0), axes});
  return success();
}
