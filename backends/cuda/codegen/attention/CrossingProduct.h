// Products that contract the parallel loop: all blocks accumulate into their results in a fixed
// order.
#pragma once

#include "backends/cuda/codegen/attention/AttentionTile.h"
#include "backends/cuda/codegen/attention/CoreOperands.h"

namespace mlir::cuda {

/// The objects that emit the code of a tile.
struct CrossingWriter {
  KernelEmitter &emitter;
  const FusedAttention &fused;
  CoreOperands &operands;
  AttentionTile &tile;
};

/// A tile along the reduction loop, the panel that the product reads, and its blocks.
struct CrossingTile {
  Value number;
  size_t panel;
  const AttentionTile::SerialSums &serial;
  AttentionTile::Tickets tickets;
};

/// Adds the block's part of a tile to the f32 sums, after the earlier blocks. The first block
/// stores its part; the last block stores the result in its own type.
void crossTile(CrossingWriter writer, const AttentionProduct &product, const CrossingTile &tile);

/// Words of `sums` and `semaphores` for the crossing products of a kernel under any plan. The last
/// word of `semaphores` counts blocks.
int64_t countCrossingSums(const FusedAttention &fused);
int64_t countCrossingSemaphores(const FusedAttention &fused);

} // namespace mlir::cuda
