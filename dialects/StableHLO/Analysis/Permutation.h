// Gathers that permute the elements of a dimension.
#pragma once

#include "dialects/StableHLO/StableHLOOps.h"

namespace mlir::st {

/// Element i of dimension `dim` of the result is element sources[i] of the operand.
struct Permutation {
  int64_t dim = 0;
  SmallVector<int64_t> sources;

  Permutation getInverse() const;
};

/// The permutation that a gather with constant indices applies to a dimension of several elements;
/// std::nullopt for another gather.
std::optional<Permutation> findPermutation(stablehlo::GatherOp gather);

/// The constant indices of a gather, in their order; none if they are not constant. The indices of
/// a permutation are its sources, also after the operand's dimension was split.
SmallVector<int64_t> readSources(stablehlo::GatherOp gather);

/// Emits such a gather.
Value emitPermutation(OpBuilder &builder, Location loc, Value value,
                      const Permutation &permutation);

} // namespace mlir::st
