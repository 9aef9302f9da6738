// Attention kernels whose points beyond the diagonal add nothing: attention under a causal mask.
#pragma once

#include "backends/cuda/codegen/attention/AttentionPlan.h"
#include "backends/cuda/codegen/kernels/ElementValues.h"

namespace mlir::cuda {

/// Whether points whose column lies beyond their row can be left out: each product that reads rows
/// has zeros there, each sum as well, each maximum is another point's, and no value of points is
/// stored. It takes a comparison of positions of the two that chooses between a score and what is
/// far below any (-1e30 or less), or adds such to it; scores must come from a product alone, so
/// that every row has one that is not masked. `values` knows its reductions.
bool isCausal(const FusedAttention &fused, const ElementValues &values);

} // namespace mlir::cuda
