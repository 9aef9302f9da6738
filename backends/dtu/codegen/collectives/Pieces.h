// Pieces of tensors, as carried by the messages and copies of collectives.
#pragma once

#include "backends/dtu/codegen/collectives/Links.h"
#include "dialects/St/IR/StDialect.h"

namespace mlir::dtu {

/// Channel of messages within a group. A transfer between groups never connects the same two ranks.
constexpr int64_t kGroupChannel = 0;

/// Part `index` of `parts` equal ones of dimension `dim` of a dense tensor.
Piece partOf(RankedTensorType type, hw::DType dtype, int64_t dim, int64_t parts, const Expr &index,
             const Expr &base);
/// Piece `number` of `size` elements each, counted from element `first` of a dense tensor in
/// row-major order. There is room for `capacity` pieces; the last may have fewer elements or none.
Piece rangeOf(StreamBuilder &stream, const Expr &first, const Expr &number, int64_t size,
              int64_t elements, int64_t capacity, hw::DType dtype, const Expr &base);
/// Slice `number` of `count` of a piece of constant sizes, along the dimension that gives the most
/// equal slices. Sizes are rounded up. Pieces of equal sizes are sliced equally.
Piece sliceOf(StreamBuilder &stream, Piece piece, const Expr &number, int64_t count);
/// Every element of a dense tensor at an offset.
Piece denseAt(const Expr &offset, int64_t elements, hw::DType type);

/// Copies a piece of constant sizes, by one queue or by all.
void copyPiece(StreamBuilder &dte, const Piece &dst, const Piece &src);
void copyShared(ProgramBuilder &builder, const Piece &dst, const Piece &src);
hw::Reduce reduceOf(st::ReduceKind kind);

/// Calls `body` for each tensor and frees the registers that it took.
template <typename Tensors, typename Body>
void forEach(StreamBuilder &stream, const Tensors &tensors, Body body) {
  for (const auto &tensor : tensors) {
    StreamBuilder::Scope scope(stream);
    body(tensor);
  }
}

} // namespace mlir::dtu
