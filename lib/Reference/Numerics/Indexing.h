// Gather, scatter and sort.
#ifndef ST_REFERENCE_INDEXING_H
#define ST_REFERENCE_INDEXING_H

#include "lib/Reference/Evaluation/ScalarComputation.h"

namespace mlir::st::ref {

/// The mapping of indices and windows to dimensions, for gather and scatter. Scatter's names are in
/// brackets.
struct IndexDims {
  /// offset_dims [update_window_dims].
  ArrayRef<int64_t> window;
  /// collapsed_slice_dims [inserted_window_dims].
  ArrayRef<int64_t> collapsed;
  /// operand_batching_dims [input_batching_dims].
  ArrayRef<int64_t> operandBatching;
  /// start_indices_batching_dims [scatter_indices_batching_dims].
  ArrayRef<int64_t> indicesBatching;
  /// start_index_map [scatter_dims_to_operand_dims].
  ArrayRef<int64_t> indexMap;
  int64_t indexVectorDim;
};

/// Slices of `operand` of size `sliceSizes`, whose starts are clamped into
/// bounds.
Tensor gather(const Tensor &operand, const Tensor &indices, const IndexDims &dims,
              ArrayRef<int64_t> sliceSizes, ArrayRef<int64_t> resultShape);

/// Combines windows of `updates` with the inputs one after the other, in the order of the indices.
/// A window that exceeds the bounds is skipped completely.
bool scatter(ArrayRef<Tensor> inputs, const Tensor &indices, ArrayRef<Tensor> updates,
             const IndexDims &dims, const ScalarComputation &body,
             SmallVectorImpl<Tensor> &results);

/// Sorts the inputs together along `dim`, stably. The comparator takes a pair of elements per input
/// and returns true if the first ones precede the second ones.
bool sort(ArrayRef<Tensor> inputs, int64_t dim, const ScalarComputation &comparator,
          SmallVectorImpl<Tensor> &results);

/// The `k` greatest elements along the last dimension, in descending total order, the first of
/// equal elements first, and their positions as i32.
void topK(const Tensor &operand, int64_t k, Tensor &values, Tensor &positions);

} // namespace mlir::st::ref

#endif // ST_REFERENCE_INDEXING_H
