// The tiles that a block visits under a mask that compares positions: those of a band of diagonals.
#include "backends/cuda/codegen/attention/AttentionKernel.h"

using namespace mlir;
using namespace mlir::cuda;
using mlir::st::DiagonalBand;

/// Returns the band of the reduction loop's index minus the parallel index.
DiagonalBand AttentionKernel::findBand() {
  size_t stored = fused.stored.size();
  OperandRange yielded = fused.body().getTerminator()->getOperands();
  for (Value value : yielded.take_front(stored))
    if (!values.isOfRow(value))
      return {};
  SmallVector<Value> scores, operands;
  for (const AttentionProduct &product : fused.producers)
    scores.push_back(product.rows);
  for (const auto *products : {&fused.consumers, &fused.crossing})
    for (const AttentionProduct &product : *products)
      operands.push_back(product.rows);
  const auto [rows, columns] = std::minmax(fused.parallel, fused.streamed);
  DiagonalBand found =
      st::findDiagonalBand(fused.body(), fused.space, rows, columns, scores, operands);
  return fused.parallel == rows ? found : found.transpose();
}

/// Sets the tiles that this block visits, and records the share of the kernel's products in them.
/// Without a band, or if some block or tile would have no work, blocks visit all tiles.
void AttentionKernel::setTiles(Value firstParallel) {
  const int64_t size = tile->shape.streamedSize, parallelSize = tile->shape.parallelSize;
  const int64_t length = fused.space.getSize(fused.streamed);
  const int64_t tiles = llvm::divideCeil(length, size);
  band = findBand();
  std::optional<int64_t> visited =
      band.countTiles(fused.space.getSize(fused.parallel), parallelSize, length, size);
  if (!visited)
    band = {};
  firstTile = emitter.index(0);
  endTiles = emitter.index(tiles);
  if (band.first > -DiagonalBand::kUnbounded) {
    Value begin = emitter.add(firstParallel, band.first);
    firstTile = emitter.div(band.first < 0 ? emitter.max(begin, 0) : begin, size);
  }
  if (band.last < DiagonalBand::kUnbounded) {
    Value end = emitter.add(firstParallel, parallelSize + band.last + size - 1);
    endTiles = emitter.min(emitter.div(end, size), tiles);
  }
  const auto all = static_cast<double>(parallelTiles * tiles);
  emitter.scaleProductWork(visited ? static_cast<double>(*visited) / all : 1);
}
