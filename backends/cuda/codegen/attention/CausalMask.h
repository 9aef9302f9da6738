// Kernels whose elements above the diagonal contribute nothing: attention under a causal mask.
#pragma once

#include "backends/cuda/codegen/attention/AttentionPlan.h"
#include "backends/cuda/codegen/kernels/ElementValues.h"

namespace mlir::cuda {

/// Returns true if a kernel can skip the elements above the diagonal. Consumers read zeros there,
/// sums add zeros, maxima have a greater element elsewhere, and no value is stored per element.
/// This requires a comparison of row and column, alone or with one that holds on the diagonal, that
/// selects between a score and -1e30 or less, or adds such a number to the score. Scores must come
/// directly from a product, so that every row has an unmasked element. `values` has the reductions.
bool isCausal(const FusedAttention &fused, const ElementValues &values);

} // namespace mlir::cuda
