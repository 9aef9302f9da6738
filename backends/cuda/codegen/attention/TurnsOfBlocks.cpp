// Crossing products: all blocks of a head accumulate into the same results, tile by tile. They take
// turns in a fixed order, so the bits of the result do not depend on the speed of the blocks.
#include "backends/cuda/codegen/attention/AttentionKernel.h"
#include "backends/cuda/codegen/attention/CrossingProduct.h"

using namespace mlir;
using namespace mlir::cuda;

/// Returns the index of this block's tile along the parallel loop. Blocks that take turns are
/// numbered in the order in which they start, with the first tiles of all heads first. So when a
/// block starts, the previous block of its head started long before.
Value AttentionKernel::enterBlock(int64_t heads) {
  if (fused.crossing.empty())
    return emitter.rem(emitter.block(), ownTiles);
  const unsigned sums = emitter.getResultBuffer(emitter.body.getTerminator()->getNumOperands());
  const int64_t places = countCrossingTurns(fused);
  Value number = emitter.takeNumber(sums + 1, emitter.index(places - 1));
  Value turn = emitter.div(number, heads);
  inTurn = AttentionTile::InTurn{sums, sums + 1, emitter.rem(number, heads), Value(), turn};
  return turn;
}

Value AttentionKernel::getTurnPlace(Value tileNumber) {
  return emitter.add(emitter.mulValues(inTurn->head, inTurn->tiles), tileNumber);
}

/// The last block that adds to a tile: with a causal mask, the block of the diagonal.
Value AttentionKernel::getLastTurn(Value tileNumber) {
  if (!skipsMaskedTiles)
    return emitter.index(ownTiles - 1);
  const int64_t perOwn = tile->shape.ownSize / tile->shape.streamedSize;
  return emitter.min(emitter.div(tileNumber, perOwn), ownTiles - 1);
}

void AttentionKernel::endTurn(Value tileNumber) {
  emitter.endTurn(inTurn->turns, getTurnPlace(tileNumber), emitter.add(inTurn->turn, 1));
}

void AttentionKernel::addProductsInTurn(Value first, const Results &results,
                                        ArrayRef<Numbers> panels, MutableArrayRef<Number> sums) {
  for (auto [panel, numbers] : llvm::enumerate(panels))
    tile->publish(numbers, panel);
  Value number = emitter.div(first, tile->shape.streamedSize);
  emitter.awaitTurn(inTurn->turns, getTurnPlace(number), inTurn->turn);
  emitter.barrier();
  auto panelOf = [&](const AttentionProduct &product) {
    return static_cast<size_t>(llvm::find(results.panels, product.rows) - results.panels.begin());
  };
  for (const AttentionProduct &product : fused.consumers) {
    const size_t count = tile->countSums(product);
    MutableArrayRef<Number> own = sums.take_front(count);
    llvm::copy(tile->add(product, first, panelOf(product), own), own.begin());
    sums = sums.drop_front(count);
  }
  for (const AttentionProduct &product : fused.crossing)
    tile->cross(product, number, panelOf(product), *inTurn, getLastTurn(number));
}
