//===- ApplyToElements.h - Scalar computations on tensors -------*- C++ -*-===//

#ifndef ST_DIALECTS_STABLEHLO_UTILS_APPLYTOELEMENTS_H
#define ST_DIALECTS_STABLEHLO_UTILS_APPLYTOELEMENTS_H

#include "dialects/StableHLO/Utils/Emitter.h"
#include <optional>

namespace mlir::st {

/// Applies a computation on scalars to each element of tensors of one shape. std::nullopt if it
/// contains ops that are not elementwise.
std::optional<SmallVector<Value>> applyToElements(Emitter &emit, Region &computation,
                                                  ValueRange arguments);

} // namespace mlir::st

#endif // ST_DIALECTS_STABLEHLO_UTILS_APPLYTOELEMENTS_H
