// Caches the reshard plans of one mesh.
#pragma once

#include "dialects/St/Sharding/ReshardPlan.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::st {

class ReshardPlans {
public:
  /// Plans by request; std::nullopt if there is no plan.
  llvm::StringMap<std::optional<ReshardPlan>> known;
  /// Plans for which not all sequences of steps were considered.
  int64_t numNarrowed = 0;
};

} // namespace mlir::st
