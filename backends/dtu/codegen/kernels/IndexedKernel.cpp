// Kernels of kind "gather" and "scatter".
//
// Both treat the large tensor as a table of rows that start every `unit` elements, where unit is
// the distance of neighbours along the innermost indexed dimension. The index components of a slice
// then form one row number. With one component, the engine reads the tensor of indices directly;
// otherwise the cores compute row numbers first. The elements of a slice are split into runs that
// are contiguous on both sides.
#include "backends/dtu/codegen/emission/CopyJob.h"
#include "backends/dtu/codegen/kernels/KernelContext.h"

#include "dialects/StableHLO/StableHLOOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dtu;
namespace hlo = mlir::stablehlo;

/// Row numbers that a core computes at a time.
static constexpr int64_t kSlicesAtOnce = 512;
/// Minimum number of elements of a run per worker, unless the run is shorter.
static constexpr int64_t kMinShare = 16;

namespace {
/// Dimension numbers of gather and scatter under one set of names.
struct IndexedAccess {
  Operation *op = nullptr;
  RankedTensorType table, indices, slices; // slices: gather's result, scatter's updates
  ArrayRef<int64_t> windowDims;            // of slices: dimensions that range over a window
  ArrayRef<int64_t> droppedDims;           // of table: dimensions of window size 1 that slices do
                                           // not have
  ArrayRef<int64_t> tableBatchDims, indexBatchDims;
  ArrayRef<int64_t> indexedDims; // of table: the dimension of each index component
  int64_t componentDim = 0;      // of indices
  SmallVector<int64_t> window;   // sizes along the table's dimensions
};

/// One index component's contribution to the row number.
struct Component {
  int64_t offset = 0; // byte offset of its first value in the tensor of indices; -1: it counts
                      // slices
  int64_t divide = 1, modulo = 1; // for a batching dimension: coordinate = slice / divide % modulo
  int64_t limit = 0;              // largest valid value
  int64_t rows = 0;               // row numbers between neighbours
};

class IndexedKernel {
public:
  IndexedKernel(ProgramBuilder &builder, IndexedAccess access)
      : builder(builder), access(std::move(access)) {}

  LogicalResult analyze();
  LogicalResult emitGather(const Placement &table, const Placement &indices,
                           const Placement &result);
  LogicalResult emitScatter(const Placement &table, const Placement &indices,
                            const Placement &updates, hw::Reduce combine);

private:
  ProgramBuilder &builder;
  IndexedAccess access;

  hw::DType type = hw::DType::F32, indexType = hw::DType::I32;
  int64_t width = 4, indexWidth = 4;
  int64_t numSlices = 1, sliceStride = 0; // bytes in the slices tensor
  int64_t indexStride = 0;                // bytes between slices in the tensor of indices
  int64_t unit = 1, rows = 0, run = 1;    // elements; row numbers; elements
  struct Outer {
    int64_t size, tableStride, sliceStride; // bytes
  };
  SmallVector<Outer> outer; // window dimensions outside a run
  SmallVector<Component> components;

  bool isDirect() const {
    return components.size() == 1 && components[0].offset == 0 && indexStride == indexWidth;
  }
  LogicalResult findSlices();
  void findComponents();
  void findRuns();
  int64_t shareRun();
  void forRuns(size_t dim, const Expr &table, const Expr &slices,
               llvm::function_ref<void(Expr, Expr)> body);
  /// A range of slices, as expressions of both streams.
  struct Slices {
    Expr dteFirst, coreFirst;
    hw::Extent dteCount, coreCount;
  };
  int64_t computeRows(const Expr &indexBase, const Slices &slices, bool clamp);
  void computeComponent(const Component &component, const hw::Extent &count, const Expr &first,
                        bool clamp, bool isFirst);
};
} // namespace

// ---- analysis -----------------------------------------------------------------------------------

/// Finds the dimensions of the slices tensor that range over slices, and the corresponding
/// dimensions of the indices.
LogicalResult IndexedKernel::findSlices() {
  SmallVector<int64_t> strides = denseStrides(access.slices.getShape());
  SmallVector<std::pair<int64_t, int64_t>> dims; // size, stride in elements
  for (int64_t dim = 0, rank = access.slices.getRank(); dim < rank; ++dim)
    if (!llvm::is_contained(access.windowDims, dim) && access.slices.getDimSize(dim) != 1)
      dims.push_back({access.slices.getDimSize(dim), strides[dim]});
  numSlices = 1;
  sliceStride = dims.empty() ? width : dims.back().second * width;
  int64_t expected = dims.empty() ? 0 : dims.back().second;
  for (auto [size, stride] : llvm::reverse(dims)) {
    if (stride != expected)
      return access.op->emitOpError(
          "whose slices are not evenly spaced is not supported by the DTU backend");
    numSlices *= size;
    expected = stride * size;
  }
  // The component dimension may be anywhere only if it has one element.
  int64_t rank = access.indices.getRank();
  int64_t count = access.componentDim < rank ? access.indices.getDimSize(access.componentDim) : 1;
  if (count != 1 && access.componentDim != rank - 1)
    return access.op->emitOpError(
        "whose index_vector_dim is not the last dimension is not supported by the DTU backend");
  indexStride = count * indexWidth;
  return success();
}

void IndexedKernel::findComponents() {
  SmallVector<int64_t> strides = denseStrides(access.table.getShape());
  int64_t innermost = -1;
  for (int64_t dim : access.indexedDims)
    innermost = std::max(innermost, dim);
  for (int64_t dim : access.tableBatchDims)
    innermost = std::max(innermost, dim);
  unit = innermost < 0 ? 1 : strides[innermost];
  for (auto [number, dim] : llvm::enumerate(access.indexedDims)) {
    Component component;
    component.offset = static_cast<int64_t>(number) * indexWidth;
    component.limit = access.table.getDimSize(dim) - access.window[dim];
    component.rows = strides[dim] / unit;
    components.push_back(component);
  }
  // The dimensions of indices without the component dimension are those of slices, in order.
  SmallVector<int64_t> batchSizes;
  for (int64_t dim = 0; dim < access.indices.getRank(); ++dim)
    if (dim != access.componentDim)
      batchSizes.push_back(access.indices.getDimSize(dim));
  SmallVector<int64_t> batchDivisors = denseStrides(batchSizes);
  for (auto [tableDim, indexDim] : llvm::zip_equal(access.tableBatchDims, access.indexBatchDims)) {
    int64_t position = indexDim - (indexDim > access.componentDim ? 1 : 0);
    Component component;
    component.offset = -1;
    component.divide = batchDivisors[position];
    component.modulo = batchSizes[position];
    component.rows = strides[tableDim] / unit;
    components.push_back(component);
  }
  // One more than the largest valid row: a run that began later would end outside the table.
  rows = 1;
  for (const Component &component : components)
    rows += (component.offset < 0 ? component.modulo - 1 : component.limit) * component.rows;
}

/// Finds the longest run of a window that is contiguous in both the table and slices.
void IndexedKernel::findRuns() {
  SmallVector<int64_t> tableStrides = denseStrides(access.table.getShape());
  SmallVector<int64_t> sliceStrides = denseStrides(access.slices.getShape());
  SmallVector<Outer> dims;
  unsigned nextWindowDim = 0;
  for (int64_t dim = 0, rank = access.table.getRank(); dim < rank; ++dim) {
    if (llvm::is_contained(access.droppedDims, dim) ||
        llvm::is_contained(access.tableBatchDims, dim))
      continue;
    int64_t stride = sliceStrides[access.windowDims[nextWindowDim++]];
    if (access.window[dim] != 1)
      dims.push_back({access.window[dim], tableStrides[dim] * width, stride * width});
  }
  run = 1;
  while (!dims.empty() && dims.back().tableStride == run * width &&
         dims.back().sliceStride == run * width)
    run *= dims.pop_back_val().size;
  outer = dims;
}

LogicalResult IndexedKernel::analyze() {
  auto elementType = getDType(access.table.getElementType()),
       indexElement = getDType(access.indices.getElementType());
  if (!elementType || !indexElement)
    return access.op->emitOpError("of these types is not supported by the DTU backend");
  type = *elementType;
  indexType = *indexElement;
  width = hw::byteWidth(type);
  indexWidth = hw::byteWidth(indexType);
  if (!llvm::is_contained({hw::DType::I32, hw::DType::U32, hw::DType::I64}, indexType))
    return access.op->emitOpError("with indices of ")
           << access.indices.getElementType() << " is not supported by the DTU backend";
  if (failed(findSlices()))
    return failure();
  findComponents();
  findRuns();
  return success();
}

/// Calls `body` with the addresses of each run of a window.
void IndexedKernel::forRuns(size_t dim, const Expr &table, const Expr &slices,
                            llvm::function_ref<void(Expr, Expr)> body) {
  if (dim == outer.size())
    return body(table, slices);
  builder.dte.loop(0, outer[dim].size, 1, [&](Expr i) {
    forRuns(dim + 1, builder.dte.compact(table) + i * outer[dim].tableStride,
            builder.dte.compact(slices) + i * outer[dim].sliceStride, body);
  });
}

// ---- row numbers --------------------------------------------------------------------------------

// In L1 after the scalar area, kSlicesAtOnce values each: the row numbers, a component as loaded,
// the component in 64 bits, and a flag that all components so far are valid.
static constexpr int64_t kRowNumbers = kCellAreaBytes, kLoaded = kRowNumbers + 8 * kSlicesAtOnce,
                         kWide = kLoaded + 8 * kSlicesAtOnce, kValid = kWide + 8 * kSlicesAtOnce,
                         kFlag = kValid + kSlicesAtOnce, kScalars = kFlag + kSlicesAtOnce,
                         kIndexedBytes = kScalars + 64;

static hw::TileOperand row(int64_t offset, hw::DType type, int64_t colStride = 1) {
  hw::TileOperand operand;
  operand.address.space = hw::Space::L1;
  operand.address.offset.constant = offset;
  operand.type = type;
  operand.colStride = colStride;
  return operand;
}

static void emitVector(StreamBuilder &core, hw::VectorOp op, hw::TileOperand dst,
                       ArrayRef<hw::TileOperand> sources, const hw::Extent &count) {
  hw::Vector vector;
  vector.op = op;
  vector.dst = dst;
  for (auto [target, source] : llvm::zip(vector.src, sources))
    target = source;
  vector.cols = count;
  core.emit(std::move(vector));
}

static void emitScalar(StreamBuilder &core, int64_t slot, int64_t value) {
  hw::Vector fill;
  fill.op = hw::VectorOp::Fill;
  fill.dst = row(kScalars + 8 * slot, hw::DType::I64, 0);
  fill.value = static_cast<uint64_t>(value);
  core.emit(std::move(fill));
}

/// Core: adds one component to the row numbers. Without `clamp`, an invalid one clears kValid.
void IndexedKernel::computeComponent(const Component &component, const hw::Extent &count,
                                     const Expr &first, bool clamp, bool isFirst) {
  using hw::DType;
  using hw::VectorOp;
  StreamBuilder &core = builder.core;
  hw::TileOperand wide = row(kWide, DType::I64), rowNumbers = row(kRowNumbers, DType::I64);
  auto scalar = [](int64_t slot) { return row(kScalars + 8 * slot, DType::I64, 0); };
  if (component.offset >= 0) {
    emitVector(core, VectorOp::Copy, wide, row(kLoaded, indexType), count);
    emitScalar(core, 0, 0);
    emitScalar(core, 1, component.limit);
    if (clamp) {
      emitVector(core, VectorOp::Clamp, wide, {scalar(0), wide, scalar(1)}, count);
    } else {
      for (auto [op, bound] :
           {std::pair(VectorOp::CmpGe, scalar(0)), std::pair(VectorOp::CmpLe, scalar(1))}) {
        emitVector(core, op, row(kFlag, DType::I1), {wide, bound}, count);
        emitVector(core, VectorOp::And, row(kValid, DType::I1),
                   {row(kValid, DType::I1), row(kFlag, DType::I1)}, count);
      }
    }
  } else {
    // slice / divide % modulo
    hw::Vector iota;
    iota.op = VectorOp::Iota;
    iota.dst = wide;
    iota.cols = count;
    iota.start = first.toAffine();
    iota.colStep = 1;
    core.emit(iota);
    emitScalar(core, 0, component.divide);
    emitScalar(core, 1, component.modulo);
    emitVector(core, VectorOp::Div, wide, {wide, scalar(0)}, count);
    emitVector(core, VectorOp::Rem, wide, {wide, scalar(1)}, count);
  }
  emitScalar(core, 2, component.rows);
  if (isFirst)
    emitVector(core, VectorOp::Mul, rowNumbers, {wide, scalar(2)}, count);
  else
    emitVector(core, VectorOp::MulAdd, rowNumbers, {wide, scalar(2), rowNumbers}, count);
}

/// Both streams: computes the row numbers of some slices in this worker's L1 and returns their
/// address.
int64_t IndexedKernel::computeRows(const Expr &indexBase, const Slices &slices, bool clamp) {
  using hw::DType;
  using hw::VectorOp;
  StreamBuilder &dte = builder.dte, &core = builder.core;
  builder.useL1(kIndexedBytes);
  hw::TileOperand valid = row(kValid, DType::I1), rowNumbers = row(kRowNumbers, DType::I64);
  for (const Component &component : components) {
    bool isFirst = &component == components.begin(), isLast = &component == &components.back();
    CopyShape shape;
    shape.add(slices.dteCount, indexWidth, indexStride);
    if (component.offset >= 0)
      emitCopy(dte, l1Address(kLoaded),
               l3Address(indexBase + slices.dteFirst * indexStride + component.offset), shape,
               indexType, indexType);
    dte.signal(builder.semaphore(Sem::Full));
    core.wait(builder.semaphore(Sem::Full));
    if (isFirst && !clamp) {
      hw::Vector fill;
      fill.op = VectorOp::Fill;
      fill.dst = valid;
      fill.cols = slices.coreCount;
      fill.value = 1;
      core.emit(fill);
    }
    computeComponent(component, slices.coreCount, slices.coreFirst, clamp, isFirst);
    if (isLast && !clamp) {
      emitScalar(core, 0, -1);
      emitVector(core, VectorOp::Select, rowNumbers,
                 {valid, rowNumbers, row(kScalars, DType::I64, 0)}, slices.coreCount);
    }
    core.signal(builder.semaphore(Sem::Done));
    dte.wait(builder.semaphore(Sem::Done));
  }
  return kRowNumbers;
}

// ---- gather -------------------------------------------------------------------------------------

LogicalResult IndexedKernel::emitGather(const Placement &table, const Placement &indices,
                                        const Placement &result) {
  StreamBuilder &dte = builder.dte, &core = builder.core;
  StreamBuilder::Scope dteScope(dte), coreScope(core);
  Expr tableBase = baseOf(dte, table), resultBase = baseOf(dte, result),
       indexBase = baseOf(dte, indices);
  int64_t share = std::min<int64_t>(llvm::divideCeil(numSlices, builder.workers()), kSlicesAtOnce);
  hw::Gather gather;
  gather.dstStride = sliceStride;
  gather.tableStride = unit * width;
  gather.rowElements = {run, hw::kZero, 0};
  gather.type = type;
  gather.indexType = isDirect() ? indexType : hw::DType::I64;
  gather.rows = rows;
  gather.clamp = isDirect();
  auto emitRuns = [&](const Expr &first, hw::Address index) {
    forRuns(0, tableBase, resultBase + first * sliceStride, [&](Expr from, Expr to) {
      gather.table = l3Address(from);
      gather.dst = l3Address(to);
      gather.index = index;
      dte.emit(gather);
    });
  };
  auto forShares = [&](StreamBuilder &stream, llvm::function_ref<void(Expr, hw::Extent)> body) {
    stream.loop(Expr::instance() * share, numSlices, share * builder.workers(), [&](Expr first) {
      body(first, stream.extent(share, first, numSlices, numSlices % share == 0));
    });
  };
  forShares(dte, [&](Expr first, hw::Extent count) {
    gather.count = count;
    if (isDirect())
      return emitRuns(first, l3Address(indexBase + first * indexWidth));
    // Both streams iterate over the same shares.
    forShares(core, [&](Expr coreFirst, hw::Extent coreCount) {
      emitRuns(first,
               l1Address(computeRows(indexBase, {first, coreFirst, count, coreCount}, true)));
    });
  });
  return success();
}

// ---- scatter ------------------------------------------------------------------------------------

/// The maximum number of elements of a run that one worker processes. Workers that share a run must
/// stay in separate columns of the rows. A run of several rows has no such columns: it is split
/// into its rows if those are long, and otherwise one worker takes all of it. Of several slices,
/// which may overlap, one worker takes all, in order.
int64_t IndexedKernel::shareRun() {
  if (run > unit && (numSlices > 1 || unit < 2 * kMinShare))
    return run;
  if (run > unit) {
    outer.push_back({run / unit, unit * width, unit * width});
    run = unit;
  }
  return std::max<int64_t>(llvm::divideCeil(run, builder.workers()), std::min(run, kMinShare));
}

/// Every worker processes all slices in order, on its own part of the runs, so no two workers touch
/// the same bytes.
LogicalResult IndexedKernel::emitScatter(const Placement &table, const Placement &indices,
                                         const Placement &updates, hw::Reduce combine) {
  StreamBuilder &dte = builder.dte, &core = builder.core;
  StreamBuilder::Scope dteScope(dte), coreScope(core);
  Expr tableBase = baseOf(dte, table), updateBase = baseOf(dte, updates),
       indexBase = baseOf(dte, indices);
  int64_t share = shareRun(), takers = llvm::divideCeil(run, share);
  hw::Scatter scatter;
  scatter.combine = combine;
  scatter.tableStride = unit * width;
  scatter.srcStride = sliceStride;
  scatter.type = type;
  scatter.indexType = isDirect() ? indexType : hw::DType::I64;
  scatter.rows = rows;
  auto emitRuns = [&](const Expr &column, const Expr &first, hw::Address index) {
    forRuns(0, tableBase + column * width, updateBase + column * width + first * sliceStride,
            [&](Expr to, Expr from) {
              scatter.table = l3Address(to);
              scatter.src = l3Address(from);
              scatter.index = index;
              dte.emit(scatter);
            });
  };
  dte.when(Expr::instance(), takers, [&](Expr) {
    core.when(Expr::instance(), takers, [&](Expr) {
      Expr column = dte.materialize(Expr::instance() * share);
      scatter.rowElements = dte.extent(share, column, run, run % share == 0);
      if (isDirect()) {
        scatter.count = {numSlices, hw::kZero, 0};
        return emitRuns(column, 0, l3Address(indexBase));
      }
      dte.loop(0, numSlices, kSlicesAtOnce, [&](Expr first) {
        core.loop(0, numSlices, kSlicesAtOnce, [&](Expr coreFirst) {
          bool exact = numSlices % kSlicesAtOnce == 0;
          scatter.count = dte.extent(kSlicesAtOnce, first, numSlices, exact);
          Slices slices{first, coreFirst, scatter.count,
                        core.extent(kSlicesAtOnce, coreFirst, numSlices, exact)};
          emitRuns(column, first, l1Address(computeRows(indexBase, slices, false)));
        });
      });
    });
  });
  return success();
}

// ---- entries ------------------------------------------------------------------------------------

/// The op's operand as an argument of the body; null for another value.
static const Placement *placementOf(const KernelContext &context, Value value) {
  while (auto reshape = value.getDefiningOp<hlo::ReshapeOp>())
    value = reshape.getOperand();
  auto argument = dyn_cast<BlockArgument>(value);
  return argument ? &context.inputs[argument.getArgNumber()] : nullptr;
}

LogicalResult mlir::dtu::emitGatherKernel(KernelContext &context) {
  auto gathers = context.body.getOps<hlo::GatherOp>();
  if (!llvm::hasSingleElement(gathers))
    return context.body.getParentOp()->emitOpError("of kind gather expects one gather");
  hlo::GatherOp op = *gathers.begin();
  auto numbers = op.getDimensionNumbers();
  IndexedAccess access{op,
                       op.getOperand().getType(),
                       op.getStartIndices().getType(),
                       op.getResult().getType(),
                       numbers.getOffsetDims(),
                       numbers.getCollapsedSliceDims(),
                       numbers.getOperandBatchingDims(),
                       numbers.getStartIndicesBatchingDims(),
                       numbers.getStartIndexMap(),
                       numbers.getIndexVectorDim(),
                       SmallVector<int64_t>(op.getSliceSizes())};
  const Placement *table = placementOf(context, op.getOperand()),
                  *indices = placementOf(context, op.getStartIndices());
  if (!table || !indices || context.body.getTerminator()->getOperand(0) != op.getResult())
    return op.emitOpError("fused with other ops is not supported by the DTU backend");
  IndexedKernel kernel(context.builder, std::move(access));
  if (failed(kernel.analyze()))
    return failure();
  return kernel.emitGather(*table, *indices, context.results[0]);
}

/// Fills or copies the tensor that receives the updates, unless it is already in place.
static LogicalResult initializeTable(KernelContext &context, hlo::ScatterOp op, hw::DType type) {
  const Placement &target = context.results[0];
  Value input = op.getInputs()[0];
  CopyJob job;
  job.type = type;
  auto tableType = cast<RankedTensorType>(input.getType());
  job.sizes.assign(tableType.getShape().begin(), tableType.getShape().end());
  job.dst = denseStrides(tableType.getShape());
  for (int64_t &stride : job.dst)
    stride *= hw::byteWidth(type);
  job.src = job.dst;
  StreamBuilder &dte = context.builder.dte;
  StreamBuilder::Scope scope(dte);
  Attribute constant;
  if (matchPattern(input, m_Constant(&constant)))
    job.fill = getSplatBits(constant);
  const Placement *source = placementOf(context, input);
  if (source && source->offset == target.offset)
    return success();
  if (!job.fill && !source) {
    auto broadcast = input.getDefiningOp<hlo::BroadcastInDimOp>();
    if (!broadcast || !matchPattern(broadcast.getOperand(), m_Constant(&constant)))
      return op.emitOpError("into a computed value is not supported by the DTU backend");
    job.fill = getSplatBits(constant);
  }
  Expr from = source ? baseOf(dte, *source) : Expr(0);
  job.emit(context.builder, baseOf(dte, target), from);
  context.builder.barrierOfQueues();
  return success();
}

/// The op by which a scatter combines old values with updates; std::nullopt if no instruction
/// computes it.
static std::optional<hw::Reduce> getCombination(hlo::ScatterOp op, bool isPredicate) {
  Block &body = op.getUpdateComputation().front();
  Value result = body.getTerminator()->getOperand(0);
  if (result == body.getArgument(1))
    return hw::Reduce::None;
  if (std::optional<Reduction> reduction = getReduction(op, isPredicate)) {
    switch (*reduction) {
    case Reduction::Sum:
      return hw::Reduce::Sum;
    case Reduction::Max:
      return hw::Reduce::Max;
    case Reduction::Min:
      return hw::Reduce::Min;
    case Reduction::And:
      return hw::Reduce::And;
    case Reduction::Or:
      return hw::Reduce::Or;
    }
  }
  auto product = result.getDefiningOp<hlo::MulOp>();
  bool isPlain = product && product.getLhs() != product.getRhs() &&
                 isa<BlockArgument>(product.getLhs()) && isa<BlockArgument>(product.getRhs());
  return isPlain ? std::optional(hw::Reduce::Mul) : std::nullopt;
}

LogicalResult mlir::dtu::emitScatterKernel(KernelContext &context) {
  auto scatters = context.body.getOps<hlo::ScatterOp>();
  if (!llvm::hasSingleElement(scatters) || (*scatters.begin()).getInputs().size() != 1)
    return context.body.getParentOp()->emitOpError(
        "of kind scatter expects one scatter of one tensor");
  hlo::ScatterOp op = *scatters.begin();
  auto inputType = cast<RankedTensorType>(op.getInputs()[0].getType());
  std::optional<hw::Reduce> combine = getCombination(op, inputType.getElementType().isInteger(1));
  if (!combine)
    return op.emitOpError("with this body is not supported by the DTU backend");
  auto numbers = op.getScatterDimensionNumbers();
  IndexedAccess access{op,
                       inputType,
                       cast<RankedTensorType>(op.getScatterIndices().getType()),
                       cast<RankedTensorType>(op.getUpdates()[0].getType()),
                       numbers.getUpdateWindowDims(),
                       numbers.getInsertedWindowDims(),
                       numbers.getInputBatchingDims(),
                       numbers.getScatterIndicesBatchingDims(),
                       numbers.getScatterDimsToOperandDims(),
                       numbers.getIndexVectorDim(),
                       {}};
  // The window sizes along the table's dimensions, taken from the updates.
  unsigned next = 0;
  for (int64_t dim = 0; dim < inputType.getRank(); ++dim) {
    bool isSingle = llvm::is_contained(access.droppedDims, dim) ||
                    llvm::is_contained(access.tableBatchDims, dim);
    access.window.push_back(isSingle ? 1 : access.slices.getDimSize(access.windowDims[next++]));
  }
  const Placement *indices = placementOf(context, op.getScatterIndices());
  const Placement *updates = placementOf(context, op.getUpdates()[0]);
  if (!indices || !updates || context.body.getTerminator()->getOperand(0) != op.getResult(0))
    return op.emitOpError("fused with other ops is not supported by the DTU backend");
  IndexedKernel kernel(context.builder, std::move(access));
  if (failed(kernel.analyze()) ||
      failed(initializeTable(context, op, *getDType(inputType.getElementType()))))
    return failure();
  return kernel.emitScatter(context.results[0], *indices, *updates, *combine);
}
