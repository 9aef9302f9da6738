// Products of an attention kernel that contract its parallel loop: all blocks add to their results,
// in turn.
#pragma once

#include "backends/cuda/codegen/attention/AttentionTile.h"
#include "backends/cuda/codegen/attention/CoreOperands.h"

namespace mlir::cuda {

/// What writes the code of a tile.
struct CrossingWriter {
  KernelEmitter &emitter;
  const FusedAttention &fused;
  CoreOperands &operands;
  AttentionTile &tile;
};

/// A tile along the reduction loop; the value that the product reads of it; the block whose turn is
/// the last.
struct CrossingTile {
  Value number;
  size_t panel;
  const AttentionTile::InTurn &inTurn;
  Value last;
};

/// Adds the block's part of a tile to the sums of f32, in the order of turns: the first block
/// stores it, the last one stores the result in its own type. It is this block's turn.
void crossTile(CrossingWriter writer, const AttentionProduct &product, const CrossingTile &tile);

/// Words of `sums` and `turns` for crossing products of an attention kernel, whatever its plan. The
/// last word of `turns` counts blocks.
int64_t countCrossingSums(const FusedAttention &fused);
int64_t countCrossingTurns(const FusedAttention &fused);

} // namespace mlir::cuda
