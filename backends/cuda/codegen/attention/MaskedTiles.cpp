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
  DiagonalBand found = st::findDiagonalBand(fused.body(), fused.space, rows, columns, scores,
                                            operands, fused.inputRanges, fused.hasPartialRows);
  return fused.parallel == rows ? found : found.transpose();
}

Value AttentionKernel::getBound(Value index, const DiagonalBand::TileBound &bound) {
  if (bound.step == 0)
    return emitter.index(bound.offset / bound.divisor);
  Value number = bound.step == 1 ? index : emitter.mul(index, bound.step);
  number = emitter.add(number, bound.offset);
  return emitter.div(bound.offset < 0 ? emitter.max(number, 0) : number, bound.divisor);
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
  firstTile = getBound(firstParallel, band.getFirstTile(size));
  endTiles = emitter.index(tiles);
  if (band.hasLast())
    endTiles = emitter.min(getBound(firstParallel, band.getEndTile(parallelSize, size)), tiles);
  const auto all = static_cast<double>(parallelTiles * tiles);
  emitter.scaleProductWork(visited ? static_cast<double>(*visited) / all : 1);
}
