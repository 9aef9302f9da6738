// Crossing products: all blocks of a head accumulate into the same results, tile by tile, in a
// fixed order. So the bits of the result do not depend on the speed of the blocks.
#include "backends/cuda/codegen/attention/AttentionKernel.h"
#include "backends/cuda/codegen/attention/CrossingProduct.h"

using namespace mlir;
using namespace mlir::cuda;

/// Returns the index of this block's tile along the parallel loop. Blocks that accumulate in order
/// take tickets when they start. Tickets first cover the first tiles of all heads, so the previous
/// block of a head starts long before the next one.
Value AttentionKernel::enterBlock(int64_t heads) {
  if (fused.crossing.empty())
    return emitter.rem(emitter.block(), parallelTiles);
  const unsigned sums = emitter.getResultBuffer(emitter.body.getTerminator()->getNumOperands());
  const int64_t places = countCrossingSemaphores(fused);
  Value ofAll = emitter.takeTicket(sums + 1, emitter.index(places - 1));
  Value ticket = emitter.div(ofAll, heads);
  serial = AttentionTile::SerialSums{sums, sums + 1, emitter.rem(ofAll, heads), Value(), ticket};
  return ticket;
}

Value AttentionKernel::getSemaphoreIndex(Value tileNumber) {
  return emitter.add(emitter.mulValues(serial->head, serial->tiles), tileNumber);
}

/// The first block that adds to a tile: under a mask, the first one with the tile in its band.
Value AttentionKernel::getFirstTicket(Value tileNumber) {
  Value index = emitter.mul(tileNumber, tile->shape.streamedSize);
  return getBound(index, band.transpose().getFirstTile(tile->shape.parallelSize));
}

/// The last block that adds to a tile: under a causal mask, the block of the diagonal.
Value AttentionKernel::getLastTicket(Value tileNumber) {
  const st::DiagonalBand ofParallel = band.transpose();
  if (!ofParallel.hasLast())
    return emitter.index(parallelTiles - 1);
  const int64_t size = tile->shape.streamedSize;
  Value end = getBound(emitter.mul(tileNumber, size),
                       ofParallel.getEndTile(size, tile->shape.parallelSize));
  return emitter.min(emitter.add(end, -1), parallelTiles - 1);
}

/// The semaphore of a tile counts the blocks that have added to it.
Value AttentionKernel::getSemaphoreValue(Value tileNumber) {
  Value first = getFirstTicket(tileNumber);
  return emitter.add(serial->ticket, emitter.mul(first, -1));
}

void AttentionKernel::releaseSemaphore(Value tileNumber) {
  emitter.semaphoreRelease(serial->semaphores, getSemaphoreIndex(tileNumber),
                           emitter.add(getSemaphoreValue(tileNumber), 1));
}

void AttentionKernel::addProductsSerially(Value first, const Results &results,
                                          ArrayRef<Numbers> panels, MutableArrayRef<Number> sums) {
  for (auto [panel, numbers] : llvm::enumerate(panels))
    tile->publish(numbers, panel);
  Value number = emitter.div(first, tile->shape.streamedSize);
  emitter.semaphoreWait(serial->semaphores, getSemaphoreIndex(number), getSemaphoreValue(number));
  emitter.barrier();
  auto panelOf = [&](const AttentionProduct &product) {
    return static_cast<size_t>(llvm::find(results.panels, product.rows) - results.panels.begin());
  };
  for (const AttentionProduct &product : fused.consumers) {
    const size_t count = tile->countSums(product);
    MutableArrayRef<Number> addends = sums.take_front(count);
    llvm::copy(tile->add(product, first, panelOf(product), addends), addends.begin());
    sums = sums.drop_front(count);
  }
  for (const AttentionProduct &product : fused.crossing)
    tile->cross(product, number, panelOf(product), *serial,
                {getFirstTicket(number), getLastTicket(number)});
}
