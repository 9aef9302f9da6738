// Kernels of kind "gather" and "scatter".
//
// A thread of a gather computes some adjacent elements of the result: it loads the start of their
// window and clamps it into bounds. A thread of a scatter owns a column of some rows of the table,
// and applies all updates to it in order. No two threads write one element, so the result does not
// depend on their order.
#include "backends/cuda/codegen/kernels/Geometry.h"
#include "backends/cuda/codegen/kernels/KernelEmitter.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Utils/IterationSpace.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;
using namespace mlir::cuda;
namespace hlo = mlir::stablehlo;
using llvm::divideCeil;
using mlir::st::denseStrides;

/// Maximum number of threads of a scatter, because each thread reads all indices.
static constexpr int64_t kOwners = 65536, kThreads = 256;
/// Updates that a thread loads at once.
static constexpr int64_t kUpdatesTogether = 16;

namespace {
/// Dimension numbers of gather and scatter under common names.
struct IndexedAccess {
  RankedTensorType table, indices, slices; // slices: gather's result, scatter's updates
  ArrayRef<int64_t> windowDims;            // of slices: the dimensions inside a window
  ArrayRef<int64_t> droppedDims;           // of table: size 1 in a window and not in slices
  ArrayRef<int64_t> tableBatchDims, indexBatchDims;
  ArrayRef<int64_t> indexedDims; // of table: of each index component
  int64_t componentDim = 0;      // of indices
  SmallVector<int64_t> window;   // sizes along the table's dimensions

  /// Maps each dimension of the table to the window dimension of slices; -1 if there is none.
  SmallVector<int64_t> windowDimOf() const;
  SmallVector<int64_t> batchDims() const;
};

class IndexedKernel {
public:
  IndexedKernel(KernelEmitter &emitter, Operation *op, IndexedAccess access)
      : emitter(emitter), op(op), access(std::move(access)),
        element(this->access.table.getElementType()) {}

  LogicalResult emitGather(Value table, Value indices);
  LogicalResult emitScatter(hlo::ScatterOp scatter);

private:
  class Scatter;

  KernelEmitter &emitter;
  Operation *op;
  IndexedAccess access;
  Type element;

  FailureOr<unsigned> bufferOf(Value value);
  /// Start of an element's window along each dimension of the table, given the element's
  /// coordinates along `batchDims`. `valid` becomes false if the window is out of bounds; if null,
  /// starts are clamped.
  SmallVector<Value> startsOf(unsigned indices, ArrayRef<Value> slice, Value *valid);
  int64_t chooseWidth() const;
};
} // namespace

SmallVector<int64_t> IndexedAccess::windowDimOf() const {
  SmallVector<int64_t> dims;
  unsigned next = 0;
  for (int64_t dim = 0; dim < table.getRank(); ++dim) {
    bool isSingle = llvm::is_contained(droppedDims, dim) || llvm::is_contained(tableBatchDims, dim);
    dims.push_back(isSingle ? -1 : windowDims[next++]);
  }
  return dims;
}

SmallVector<int64_t> IndexedAccess::batchDims() const {
  SmallVector<int64_t> dims;
  for (int64_t dim = 0; dim < slices.getRank(); ++dim)
    if (!llvm::is_contained(windowDims, dim))
      dims.push_back(dim);
  return dims;
}

FailureOr<unsigned> IndexedKernel::bufferOf(Value value) {
  while (auto reshape = value.getDefiningOp<hlo::ReshapeOp>())
    value = reshape.getOperand();
  if (auto argument = dyn_cast<BlockArgument>(value))
    return emitter.getBuffer(argument);
  return op->emitOpError("of a computed value is not supported by the CUDA backend");
}

SmallVector<Value> IndexedKernel::startsOf(unsigned indices, ArrayRef<Value> slice, Value *valid) {
  SmallVector<Value> starts(access.table.getRank(), emitter.index(0));
  SmallVector<int64_t> strides = denseStrides(access.indices.getShape());
  int64_t components = access.componentDim;
  Value place = emitter.index(0);
  for (auto [i, coordinate] : llvm::enumerate(slice)) {
    int64_t dim = static_cast<int64_t>(i) + (static_cast<int64_t>(i) >= components ? 1 : 0);
    place = emitter.add(place, emitter.mul(coordinate, strides[dim]));
  }
  // The indices may lack the component dimension if there is only one component.
  int64_t step = components < access.indices.getRank() ? strides[components] : 0;
  Type type = access.indices.getElementType();
  bool isUnsigned = type.isUnsignedInteger();
  for (auto [k, dim] : llvm::enumerate(access.indexedDims)) {
    Value from = emitter.add(place, static_cast<int64_t>(k) * step);
    Number start = emitter.load(indices, from, type).toInteger(64, isUnsigned);
    Number zero = start.constant(0),
           last = start.bitsConstant(access.table.getDimSize(dim) - access.window[dim]);
    // As an unsigned number, a negative start exceeds all others.
    Number isAbove = last.lessUnsigned(start);
    if (valid)
      *valid = emitter.both(*valid, (~isAbove).value);
    Number inside = isAbove.select(last, start);
    if (!isUnsigned)
      inside = (start < zero).select(zero, inside);
    starts[dim] = emitter.toIndex(inside, isUnsigned);
  }
  for (auto [dim, indexDim] : llvm::zip_equal(access.tableBatchDims, access.indexBatchDims))
    starts[dim] = slice[indexDim - (indexDim > components ? 1 : 0)];
  return starts;
}

/// Adjacent elements of the result are adjacent in the table if both end with the same dimension
/// and no index applies to it.
int64_t IndexedKernel::chooseWidth() const {
  int64_t last = access.table.getRank() - 1;
  if (last < 0 || llvm::is_contained(access.indexedDims, last) ||
      access.windowDimOf()[last] != access.slices.getRank() - 1)
    return 1;
  Work work;
  work.bytes = divideCeil(getStorageType(element).getIntOrFloatBitWidth(), 8);
  // The innermost dimensions on both sides must be multiples of the vector width.
  work.innermost = std::gcd(access.slices.getShape().back(), access.table.getShape().back());
  return chooseGeometry(work).width;
}

LogicalResult IndexedKernel::emitGather(Value table, Value indices) {
  FailureOr<unsigned> tableBuffer = bufferOf(table), indexBuffer = bufferOf(indices);
  if (failed(tableBuffer) || failed(indexBuffer))
    return failure();
  int64_t width = chooseWidth(), slices = access.slices.getNumElements();
  Launch launch{static_cast<int64_t>(divideCeil(slices, width * kThreads)), kThreads};
  Value position =
      emitter.mul(emitter.add(emitter.mul(emitter.block(), kThreads), emitter.thread()), width);
  emitter.onlyIf(emitter.less(position, slices), [&] {
    SmallVector<Value> place = emitter.delinearize(position, access.slices.getShape()), slice;
    for (int64_t dim : access.batchDims())
      slice.push_back(place[dim]);
    SmallVector<Value> starts = startsOf(*indexBuffer, slice, nullptr);
    SmallVector<int64_t> strides = denseStrides(access.table.getShape());
    Value from = emitter.index(0);
    for (auto [dim, windowDim] : llvm::enumerate(access.windowDimOf())) {
      Value coordinate = windowDim < 0 ? starts[dim] : emitter.add(starts[dim], place[windowDim]);
      from = emitter.add(from, emitter.mul(coordinate, strides[dim]));
    }
    emitter.store(emitter.getResultBuffer(0), position,
                  emitter.load(*tableBuffer, from, element, width, /*isAligned=*/true),
                  /*isAligned=*/true);
  });
  emitter.finish(launch);
  return success();
}

// ---- scatter ------------------------------------------------------------------------------------

/// Code of a scatter. A thread owns one column of the table, in `share` consecutive rows. Columns
/// are the trailing dimensions that every window covers completely; rows are all dimensions before.
class IndexedKernel::Scatter {
public:
  explicit Scatter(IndexedKernel &kernel)
      : kernel(kernel), emitter(kernel.emitter), access(kernel.access), element(kernel.element) {}

  /// Finds the buffers, the combiner and the distribution over threads. Fails with a diagnostic.
  LogicalResult prepare(hlo::ScatterOp scatter);
  void emit();

private:
  LogicalResult findInput(Value input);
  void findColumns();
  void listUpdates();
  Value placeOf(Value row);
  Number startOf(Value row);
  Number combine(Number old, Number update);
  /// Sets the position of update `i` and the table row that it updates; returns whether this thread
  /// owns the row.
  Value find(Value i, Value &from, Value &row);
  Number fetch(Value i, Value exists, Number total);
  void applyInRegister();
  void applyInMemory();

  IndexedKernel &kernel;
  KernelEmitter &emitter;
  const IndexedAccess &access;
  Type element;

  unsigned indexBuffer = 0, updateBuffer = 0;
  std::optional<unsigned> inputBuffer; ///< none if every element starts as `splat`
  SplatElementsAttr splat;
  std::optional<Combiner> combiner; ///< none if updates replace elements

  SmallVector<int64_t> windowDim, tableStrides, updateStrides;
  int64_t columns = 1, firstColumnDim = 0, rows = 1, parts = 1, share = 1;
  /// Updates of a column: the dimensions of slices, then those of the window outside columns.
  SmallVector<int64_t> batchDims, outerDims, sizes;
  int64_t updates = 1;

  // Per thread:
  Value column, first, end;
  SmallVector<Value> columnPlace;
};

LogicalResult IndexedKernel::Scatter::findInput(Value input) {
  Value source = input;
  while (isa_and_nonnull<hlo::BroadcastInDimOp, hlo::ReshapeOp>(source.getDefiningOp()))
    source = source.getDefiningOp()->getOperand(0);
  if (matchPattern(source, m_Constant(&splat)))
    return success();
  FailureOr<unsigned> found = kernel.bufferOf(input);
  if (succeeded(found))
    inputBuffer = *found;
  return found;
}

LogicalResult IndexedKernel::Scatter::prepare(hlo::ScatterOp scatter) {
  FailureOr<unsigned> indices = kernel.bufferOf(scatter.getScatterIndices()),
                      slices = kernel.bufferOf(scatter.getUpdates()[0]);
  if (failed(indices) || failed(slices) || failed(findInput(scatter.getInputs()[0])))
    return failure();
  indexBuffer = *indices;
  updateBuffer = *slices;
  Block &body = scatter.getUpdateComputation().front();
  if (body.getTerminator()->getOperand(0) != body.getArgument(1)) {
    FailureOr<Combiner> found = Combiner::get(scatter);
    if (failed(found))
      return failure();
    combiner = *found;
  }
  findColumns();
  listUpdates();
  return success();
}

void IndexedKernel::Scatter::findColumns() {
  windowDim = access.windowDimOf();
  tableStrides = denseStrides(access.table.getShape());
  updateStrides = denseStrides(access.slices.getShape());
  firstColumnDim = access.table.getRank();
  while (firstColumnDim > 0) {
    int64_t dim = firstColumnDim - 1;
    if (llvm::is_contained(access.indexedDims, dim) || windowDim[dim] < 0 ||
        access.window[dim] != access.table.getDimSize(dim))
      break;
    columns *= access.table.getDimSize(dim);
    firstColumnDim = dim;
  }
  rows = access.table.getNumElements() / columns;
  share = divideCeil(rows, std::clamp<int64_t>(kOwners / columns, 1, rows));
  parts = divideCeil(rows, share);
}

void IndexedKernel::Scatter::listUpdates() {
  batchDims = access.batchDims();
  for (int64_t dim : batchDims)
    sizes.push_back(access.slices.getDimSize(dim));
  for (int64_t dim = 0; dim < firstColumnDim; ++dim)
    if (windowDim[dim] >= 0) {
      outerDims.push_back(dim);
      sizes.push_back(access.window[dim]);
    }
  for (int64_t size : sizes)
    updates *= size;
}

Value IndexedKernel::Scatter::placeOf(Value row) {
  return emitter.add(emitter.mul(row, columns), column);
}

Number IndexedKernel::Scatter::startOf(Value row) {
  return inputBuffer ? emitter.load(*inputBuffer, placeOf(row), element)
                     : emitter.constant(splat.getSplatValue<Attribute>(), element);
}

Number IndexedKernel::Scatter::combine(Number old, Number update) {
  if (!combiner)
    return update;
  auto widen = [&](Number x) { return x.isFloat() ? x.toFloat(combiner->getType()) : x; };
  Number sum = combiner->combine(widen(old), widen(update));
  return sum.isFloat() ? sum.toFloat(getComputeType(element)) : sum;
}

Value IndexedKernel::Scatter::find(Value i, Value &from, Value &row) {
  SmallVector<Value> place = emitter.delinearize(i, sizes);
  ArrayRef<Value> slice = ArrayRef(place).take_front(batchDims.size());
  Value valid;
  SmallVector<Value> coordinates = kernel.startsOf(indexBuffer, slice, &valid);
  from = row = emitter.index(0);
  for (auto [dim, coordinate] : llvm::zip_equal(batchDims, slice))
    from = emitter.add(from, emitter.mul(coordinate, updateStrides[dim]));
  for (auto [dim, offset] :
       llvm::zip_equal(outerDims, ArrayRef(place).drop_front(batchDims.size()))) {
    coordinates[dim] = emitter.add(coordinates[dim], offset);
    from = emitter.add(from, emitter.mul(offset, updateStrides[windowDim[dim]]));
  }
  for (int64_t dim = 0; dim < firstColumnDim; ++dim)
    row = emitter.add(row, emitter.mul(coordinates[dim], tableStrides[dim] / columns));
  for (auto [k, offset] : llvm::enumerate(columnPlace))
    from = emitter.add(from, emitter.mul(offset, updateStrides[windowDim[firstColumnDim + k]]));
  // first <= row < end
  valid = emitter.both(valid, emitter.less(row, end));
  return emitter.both(valid, emitter.less(first, emitter.add(row, 1)));
}

/// Returns `total` after update `i`. Updates for other threads are loaded too, so that many loads
/// are in flight at once.
Number IndexedKernel::Scatter::fetch(Value i, Value exists, Number total) {
  Value from, row;
  Value valid = emitter.both(exists, find(i, from, row));
  from = arith::SelectOp::create(emitter.builder, emitter.loc, valid, from, emitter.index(0));
  Number update = emitter.load(updateBuffer, from, element);
  return emitter.number(valid).select(combine(total, update), total);
}

/// The thread owns one element, which stays in a register.
void IndexedKernel::Scatter::applyInRegister() {
  const int64_t together = std::clamp<int64_t>(updates, 1, kUpdatesTogether);
  const bool divides = updates % together == 0;
  auto atUpdates = [&](Value begin, ArrayRef<Number> before) -> SmallVector<Number> {
    Number total = before[0];
    for (int64_t k = 0; k < together; ++k) {
      Value i = emitter.add(begin, k), exists;
      if (!divides) {
        exists = emitter.less(i, updates);
        i = emitter.min(i, updates - 1);
      }
      total = fetch(i, exists, total);
    }
    return {total};
  };
  SmallVector<Number> last =
      emitter.loop(emitter.index(0), emitter.index(updates), together, {startOf(first)}, atUpdates);
  emitter.store(emitter.getResultBuffer(0), placeOf(first), last[0]);
}

void IndexedKernel::Scatter::applyInMemory() {
  unsigned result = emitter.getResultBuffer(0);
  emitter.loop(first, end, 1, {}, [&](Value row, ArrayRef<Number>) -> SmallVector<Number> {
    emitter.store(result, placeOf(row), startOf(row));
    return {};
  });
  auto apply = [&](Value i, ArrayRef<Number>) -> SmallVector<Number> {
    Value from, row;
    Value valid = find(i, from, row);
    emitter.onlyIf(valid, [&] {
      Number update = emitter.load(updateBuffer, from, element);
      if (combiner)
        update = combine(emitter.load(result, placeOf(row), element), update);
      emitter.store(result, placeOf(row), update);
    });
    return {};
  };
  emitter.loop(emitter.index(0), emitter.index(updates), 1, {}, apply);
}

void IndexedKernel::Scatter::emit() {
  Launch launch{static_cast<int64_t>(divideCeil(parts * columns, kThreads)), kThreads};
  Value owner = emitter.add(emitter.mul(emitter.block(), kThreads), emitter.thread());
  emitter.onlyIf(emitter.less(owner, parts * columns), [&] {
    column = emitter.rem(owner, columns);
    first = emitter.mul(emitter.div(owner, columns), share);
    end = emitter.min(emitter.add(first, share), rows);
    columnPlace = emitter.delinearize(
        column, SmallVector<int64_t>(access.table.getShape().drop_front(firstColumnDim)));
    if (share == 1)
      applyInRegister();
    else
      applyInMemory();
  });
  emitter.finish(launch);
}

LogicalResult IndexedKernel::emitScatter(hlo::ScatterOp scatter) {
  Scatter code(*this);
  if (failed(code.prepare(scatter)))
    return failure();
  code.emit();
  return success();
}

// ---- entries ------------------------------------------------------------------------------------

LogicalResult mlir::cuda::emitGatherKernel(KernelEmitter &emitter) {
  auto gathers = emitter.body.getOps<hlo::GatherOp>();
  if (!llvm::hasSingleElement(gathers))
    return emitter.kernel->emitOpError("of kind gather expects one gather");
  hlo::GatherOp op = *gathers.begin();
  if (emitter.body.getTerminator()->getOperand(0) != op.getResult())
    return op.emitOpError("fused with other ops is not supported by the CUDA backend");
  auto numbers = op.getDimensionNumbers();
  IndexedAccess access{op.getOperand().getType(),
                       op.getStartIndices().getType(),
                       op.getResult().getType(),
                       numbers.getOffsetDims(),
                       numbers.getCollapsedSliceDims(),
                       numbers.getOperandBatchingDims(),
                       numbers.getStartIndicesBatchingDims(),
                       numbers.getStartIndexMap(),
                       numbers.getIndexVectorDim(),
                       SmallVector<int64_t>(op.getSliceSizes())};
  return IndexedKernel(emitter, op, std::move(access))
      .emitGather(op.getOperand(), op.getStartIndices());
}

LogicalResult mlir::cuda::emitScatterKernel(KernelEmitter &emitter) {
  auto scatters = emitter.body.getOps<hlo::ScatterOp>();
  if (!llvm::hasSingleElement(scatters) || (*scatters.begin()).getInputs().size() != 1)
    return emitter.kernel->emitOpError("of kind scatter expects one scatter of one tensor");
  hlo::ScatterOp op = *scatters.begin();
  if (emitter.body.getTerminator()->getOperand(0) != op.getResult(0))
    return op.emitOpError("fused with other ops is not supported by the CUDA backend");
  auto numbers = op.getScatterDimensionNumbers();
  IndexedAccess access{cast<RankedTensorType>(op.getInputs()[0].getType()),
                       cast<RankedTensorType>(op.getScatterIndices().getType()),
                       cast<RankedTensorType>(op.getUpdates()[0].getType()),
                       numbers.getUpdateWindowDims(),
                       numbers.getInsertedWindowDims(),
                       numbers.getInputBatchingDims(),
                       numbers.getScatterIndicesBatchingDims(),
                       numbers.getScatterDimsToOperandDims(),
                       numbers.getIndexVectorDim(),
                       {}};
  for (int64_t dim : access.windowDimOf())
    access.window.push_back(dim < 0 ? 1 : access.slices.getDimSize(dim));
  return IndexedKernel(emitter, op, std::move(access)).emitScatter(op);
}
