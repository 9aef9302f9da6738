#include "backends/dtu/codegen/collectives/Pieces.h"
#include "backends/dtu/codegen/emission/CopyJob.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::dtu;

Piece mlir::dtu::partOf(RankedTensorType type, hw::DType dtype, int64_t dim, int64_t parts,
                        const Expr &index, const Expr &base) {
  int64_t outer = 1, inner = hw::byteWidth(dtype);
  for (int64_t d = 0; d < type.getRank(); ++d)
    (d < dim ? outer : inner) *= d == dim ? 1 : type.getDimSize(d);
  int64_t part = type.getDimSize(dim) / parts;
  Piece piece;
  piece.type = dtype;
  piece.offset = base + index * (part * inner);
  if (outer > 1) {
    piece.sizes.push_back({outer, hw::kZero, 0});
    piece.strides.push_back(type.getDimSize(dim) * inner);
  }
  piece.sizes.push_back({part * inner / static_cast<int64_t>(hw::byteWidth(dtype)), hw::kZero, 0});
  piece.strides.push_back(hw::byteWidth(dtype));
  return piece;
}

Piece mlir::dtu::rangeOf(StreamBuilder &stream, const Expr &first, const Expr &number, int64_t size,
                         int64_t elements, int64_t capacity, hw::DType dtype, const Expr &base) {
  int64_t width = hw::byteWidth(dtype);
  Expr start = stream.materialize(first + number * size);
  Piece piece;
  piece.type = dtype;
  piece.offset = base + start * width;
  piece.sizes.push_back(stream.extent(size, start, elements, elements == capacity));
  piece.strides.push_back(width);
  return piece;
}

Piece mlir::dtu::sliceOf(StreamBuilder &stream, Piece piece, const Expr &number, int64_t count) {
  if (count == 1)
    return piece;
  // The size of a slice along each dimension, rounded up, and the elements wasted by rounding.
  auto slice = [&](size_t dim) { return llvm::divideCeil(piece.sizes[dim].tile, count); };
  auto excess = [&](size_t dim) {
    return static_cast<double>(slice(dim) * count) / static_cast<double>(piece.sizes[dim].tile);
  };
  size_t dim = 0;
  for (size_t other = 1; other < piece.sizes.size(); ++other)
    if (excess(other) < excess(dim))
      dim = other;
  int64_t size = piece.sizes[dim].tile, tile = slice(dim);
  Expr start = stream.materialize(number * tile);
  piece.offset += start * piece.strides[dim];
  piece.sizes[dim] = stream.extent(tile, start, size, size == count * tile);
  return piece;
}

void mlir::dtu::copyPiece(StreamBuilder &dte, const Piece &dst, const Piece &src) {
  hw::Copy copy;
  copy.dst = viewOf(dst);
  copy.src = viewOf(src);
  copy.sizes.assign(dst.sizes.begin(), dst.sizes.end());
  copy.dstType = copy.srcType = dst.type;
  dte.emit(std::move(copy));
}

void mlir::dtu::copyShared(ProgramBuilder &builder, const Piece &dst, const Piece &src) {
  CopyJob job;
  job.type = dst.type;
  for (auto [extent, to, from] : llvm::zip_equal(dst.sizes, dst.strides, src.strides)) {
    job.sizes.push_back(extent.tile);
    job.dst.push_back(to);
    job.src.push_back(from);
  }
  job.emit(builder, dst.offset, src.offset);
}

hw::Reduce mlir::dtu::reduceOf(mlir::st::ReduceKind kind) {
  switch (kind) {
  case mlir::st::ReduceKind::Sum:
    return hw::Reduce::Sum;
  case mlir::st::ReduceKind::Max:
    return hw::Reduce::Max;
  case mlir::st::ReduceKind::Min:
    return hw::Reduce::Min;
  case mlir::st::ReduceKind::And:
    return hw::Reduce::And;
  case mlir::st::ReduceKind::Or:
    return hw::Reduce::Or;
  }
  llvm_unreachable("all kinds are listed");
}

Piece mlir::dtu::denseAt(const Expr &offset, int64_t elements, hw::DType type) {
  Piece piece;
  piece.type = type;
  piece.offset = offset;
  piece.sizes.push_back({elements, hw::kZero, 0});
  piece.strides.push_back(hw::byteWidth(type));
  return piece;
}
