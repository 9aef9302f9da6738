// Products that contract the parallel loop: all blocks accumulate into their results in turn.
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

/// A tile along the reduction loop, the panel that the product reads, and the blocks' turns.
struct CrossingTile {
  Value number;
  size_t panel;
  const AttentionTile::InTurn &inTurn;
  AttentionTile::Turns turns;
};

/// Adds the block's part of a tile to the f32 sums when it is this block's turn. The first block
/// stores its part; the last block stores the result in its own type.
void crossTile(CrossingWriter writer, const AttentionProduct &product, const CrossingTile &tile);

/// Words of `sums` and `turns` for the crossing products of a kernel under any plan. The last word
/// of `turns` counts blocks.
int64_t countCrossingSums(const FusedAttention &fused);
int64_t countCrossingTurns(const FusedAttention &fused);

} // namespace mlir::cuda
