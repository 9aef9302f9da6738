// Constants with equal elements, by the names that the code generator uses.
#pragma once

#include "dialects/StableHLO/Utils/Splat.h"

namespace mlir::cuda {

using st::getSplat;
using st::skipBroadcasts;

} // namespace mlir::cuda
