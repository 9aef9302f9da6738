//===- IndexingVerifiers.cpp - Constraints of gather and scatter ----------===//
//
// Labels like (C1) are those of the StableHLO specification. Gather and scatter
// mirror each other: what gather calls operand, offset and collapsed dimensions,
// scatter calls input, update window and inserted window dimensions.
//
//===----------------------------------------------------------------------===//

#include "dialects/St/Interfaces/Notes.h"
#include "dialects/StableHLO/StableHLOOps.h"
#include "dialects/StableHLO/Verification/VerifierUtils.h"

using namespace mlir;
using namespace mlir::stablehlo;

namespace {

/// The lists of gather or scatter, under the names that messages use.
struct IndexedAccess {
  Operation *op;
  RankedTensorType tensor;  // The region that is read or written.
  RankedTensorType indices; // The positions of the regions.
  int64_t slicesRank;       // Rank of gather's result or scatter's updates.

  struct List {
    StringRef name;
    ArrayRef<int64_t> dims;
  };
  List window;        // Dimensions of the slices that range over a window.
  List dropped;       // Dimensions of the tensor that a window leaves out.
  List batching;      // Dimensions of the tensor batched with the indices.
  List indexBatching; // Dimensions of the indices batched with the tensor.
  List indexMap;      // Dimension of the tensor of each index component.
  int64_t indexVectorDim;
};

} // namespace

/// Lists name dimensions that exist, once each.
static LogicalResult verifyLists(const IndexedAccess &access) {
  int64_t rank = access.tensor.getRank(), indexRank = access.indices.getRank();
  if (failed(
          verifySortedDims(access.op, access.window.name, access.window.dims, access.slicesRank)) ||
      failed(verifySortedDims(access.op, access.dropped.name, access.dropped.dims, rank)) ||
      failed(verifySortedDims(access.op, access.batching.name, access.batching.dims, rank)) ||
      failed(
          verifyDims(access.op, access.indexBatching.name, access.indexBatching.dims, indexRank)) ||
      failed(verifyDims(access.op, access.indexMap.name, access.indexMap.dims, rank)))
    return failure();

  // A batching dimension is neither left out nor indexed.
  for (const IndexedAccess::List *other : {&access.dropped, &access.indexMap})
    for (int64_t dim : access.batching.dims)
      if (llvm::is_contained(other->dims, dim))
        return access.op->emitOpError()
               << "expects " << other->name << " and " << access.batching.name
               << " to have no dimension in common, got " << dim << " in both";
  return success();
}

/// Every dimension of the tensor is in a window, left out or batched; batching
/// dimensions pair up; each index has a component per mapped dimension.
static LogicalResult verifyCorrespondence(const IndexedAccess &access) {
  Operation *op = access.op;
  int64_t rank = access.tensor.getRank(), indexRank = access.indices.getRank();
  size_t listed =
      access.window.dims.size() + access.dropped.dims.size() + access.batching.dims.size();
  if (static_cast<int64_t>(listed) != rank)
    return op->emitOpError() << "expects " << access.window.name << ", " << access.dropped.name
                             << " and " << access.batching.name << " to have " << rank
                             << " elements together, one per dimension of " << access.tensor
                             << ", got " << listed;

  if (access.indexVectorDim < 0 || access.indexVectorDim > indexRank)
    return op->emitOpError() << "expects index_vector_dim to be in [0, " << indexRank << "], got "
                             << access.indexVectorDim;
  int64_t components =
      access.indexVectorDim == indexRank ? 1 : access.indices.getDimSize(access.indexVectorDim);
  if (static_cast<int64_t>(access.indexMap.dims.size()) != components)
    return op->emitOpError() << "expects " << access.indexMap.name << " to have " << components
                             << " elements, one per index component, got "
                             << access.indexMap.dims.size();

  if (llvm::is_contained(access.indexBatching.dims, access.indexVectorDim))
    return op->emitOpError() << "expects " << access.indexBatching.name
                             << " not to contain index_vector_dim " << access.indexVectorDim;
  if (access.batching.dims.size() != access.indexBatching.dims.size())
    return op->emitOpError() << "expects as many " << access.batching.name << " as "
                             << access.indexBatching.name << ", got " << access.batching.dims.size()
                             << " and " << access.indexBatching.dims.size();
  for (auto [dim, indexDim] : llvm::zip(access.batching.dims, access.indexBatching.dims))
    if (access.tensor.getDimSize(dim) != access.indices.getDimSize(indexDim))
      return op->emitOpError() << "expects batched dimensions to have one size, got dimension "
                               << dim << " of " << access.tensor << " and dimension " << indexDim
                               << " of " << access.indices;
  return success();
}

LogicalResult GatherOp::verify() {
  GatherDimensionNumbersAttr numbers = getDimensionNumbers();
  RankedTensorType operand = getOperand().getType();
  IndexedAccess access{*this,
                       operand,
                       getStartIndices().getType(),
                       getType().getRank(),
                       {"offset_dims", numbers.getOffsetDims()},
                       {"collapsed_slice_dims", numbers.getCollapsedSliceDims()},
                       {"operand_batching_dims", numbers.getOperandBatchingDims()},
                       {"start_indices_batching_dims", numbers.getStartIndicesBatchingDims()},
                       {"start_index_map", numbers.getStartIndexMap()},
                       numbers.getIndexVectorDim()};
  // (C1)-(C8), (C10), (C11), (C13)-(C19)
  if (failed(verifyLists(access)) || failed(verifyCorrespondence(access)))
    return failure();

  // (C20), (C21) Slices fit into the operand.
  if (failed(verifySizeIsRank(*this, "slice_sizes", getSliceSizes().size(), operand.getRank())))
    return failure();
  for (auto [dim, size] : llvm::enumerate(getSliceSizes())) {
    if (size < 0 || size > operand.getDimSize(dim))
      return emitOpError("expects a slice size of 0 to ")
             << operand.getDimSize(dim) << " in dimension " << dim << ", got " << size;
    // (C9), (C12) A dimension that a slice leaves out has at most one element.
    bool isLeftOut = llvm::is_contained(access.dropped.dims, dim) ||
                     llvm::is_contained(access.batching.dims, dim);
    if (isLeftOut && size > 1)
      return emitOpError("expects a slice size of at most 1 in dimension ")
             << dim << ", which the result leaves out, got " << size;
  }
  return success();
}

/// (C4) Updates have the shape of the indices without the index vector, with a
/// window spread over update_window_dims that fits into the inputs.
static LogicalResult verifyUpdates(const IndexedAccess &access, RankedTensorType updates) {
  SmallVector<int64_t> batch(access.indices.getShape());
  if (access.indexVectorDim < access.indices.getRank())
    batch.erase(batch.begin() + access.indexVectorDim);
  SmallVector<int64_t> room;
  for (auto [dim, size] : llvm::enumerate(access.tensor.getShape()))
    if (!llvm::is_contained(access.dropped.dims, dim) &&
        !llvm::is_contained(access.batching.dims, dim))
      room.push_back(size);

  int64_t rank = batch.size() + room.size();
  if (updates.getRank() != rank)
    return access.op->emitOpError("expects updates with ")
           << rank << " dimensions, " << batch.size() << " of the indices and " << room.size()
           << " of a window, got " << updates;
  ArrayRef<int64_t> batchLeft = batch, roomLeft = room;
  for (int64_t dim = 0; dim != rank; ++dim) {
    bool isWindow = llvm::is_contained(access.window.dims, dim);
    ArrayRef<int64_t> &left = isWindow ? roomLeft : batchLeft;
    int64_t expected = left.front();
    left = left.drop_front();
    if (isWindow ? updates.getDimSize(dim) > expected : updates.getDimSize(dim) != expected)
      return access.op->emitOpError("expects dimension ")
             << dim << " of the updates to be " << (isWindow ? "at most " : "") << expected
             << ", got " << updates;
  }
  return success();
}

LogicalResult ScatterOp::verify() {
  // (C5), (C1), (C3)
  if (getInputs().empty())
    return emitOpError("expects at least one input");
  if (failed(verifySameShapes(*this, "inputs", getInputs().getTypes())) ||
      failed(verifySameShapes(*this, "updates", getUpdates().getTypes())))
    return failure();

  ScatterDimensionNumbersAttr numbers = getScatterDimensionNumbers();
  auto updates = cast<RankedTensorType>(getUpdates().front().getType());
  IndexedAccess access{*this,
                       cast<RankedTensorType>(getInputs().front().getType()),
                       getScatterIndices().getType(),
                       updates.getRank(),
                       {"update_window_dims", numbers.getUpdateWindowDims()},
                       {"inserted_window_dims", numbers.getInsertedWindowDims()},
                       {"input_batching_dims", numbers.getInputBatchingDims()},
                       {"scatter_indices_batching_dims", numbers.getScatterIndicesBatchingDims()},
                       {"scatter_dims_to_operand_dims", numbers.getScatterDimsToOperandDims()},
                       numbers.getIndexVectorDim()};
  // (C2), (C4), (C7)-(C22)
  if (failed(verifyLists(access)) || failed(verifyCorrespondence(access)) ||
      failed(verifyUpdates(access, updates)))
    return failure();

  // (C6) Updates have the element types of the inputs.
  SmallVector<Type> elements;
  for (auto [input, update] : llvm::zip(getInputs(), getUpdates())) {
    elements.push_back(scalarOf(input.getType()));
    if (scalarOf(update.getType()) != elements.back())
      return mlir::st::withNote(emitOpError("expects updates with the element type of ")
                                    << input.getType() << ", got " << update.getType(),
                                update, "the updates are defined here");
  }
  // (C23) The body combines elements.
  SmallVector<Type> args = llvm::to_vector(llvm::concat<Type>(elements, elements));
  return verifyBody(*this, "update_computation", getUpdateComputation(), args, elements);
}
