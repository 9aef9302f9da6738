// Fused attention-like kernels whose rows do not fit L1: rows pass through it in blocks of columns.
#pragma once

#include "backends/dtu/codegen/attention/AttentionPlan.h"
#include "backends/dtu/codegen/kernels/KernelContext.h"

namespace mlir::dtu {

/// The passes of a streamed kernel, and its tiles in L1.
struct StreamedPlan {
  /// Pass p computes the reductions of level p + 1 from recomputed rows. The pass that keeps the
  /// operands of `consumers` also multiplies them.
  SmallVector<TilePhase, 0> passes;
  /// The producers that each pass computes.
  SmallVector<SmallVector<unsigned>> producers;
  AttentionTiling tiling;

  /// Set if one pass computes a softmax relative to running maxima: for each consumer, the values
  /// by which its sums are multiplied before each block, and after the last one (-1: none).
  struct Rescale {
    int scale = -1, inverse = -1;
  };
  SmallVector<Rescale> rescales;

  /// Returns true if a pass has no work on the blocks.
  bool isIdle(size_t pass) const {
    const TilePhase &phase = passes[pass];
    return phase.ops.empty() && phase.outputs.empty() && phase.kept.empty();
  }
  bool multiplies(size_t pass) const { return !passes[pass].kept.empty(); }
};

/// If the rows are a softmax that only products read, computes maxima, sums and products in one
/// pass: they are relative to running maxima, and a block that raises a maximum scales the sums
/// before it (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao,
/// "FlashAttention-2", 2023, section 3.1). Returns false for other rows.
bool mergeSoftmaxPasses(FusedAttention &fused, StreamedPlan &plan);

/// Plans the tiling with the lowest estimated time, and places the values of a tile in `storage`.
/// Fails with a message.
llvm::Expected<StreamedPlan> planStreamed(FusedAttention &fused, TileStorage &storage,
                                          const Machine &machine);

/// Emits a kernel whose rows are streamed.
LogicalResult emitStreamedKernel(KernelContext &context, FusedAttention &fused);

} // namespace mlir::dtu
