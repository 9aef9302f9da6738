// Splits axes of imported meshes if a program uses parts of them.
#pragma once

#include "dialects/Sdy/SdyDialect.h"

namespace mlir::st {

/// Gives the mesh an axis for each part of an axis that a sharding names. If something is split
/// over `"a":(2)2` of `"a"=8`, the axis becomes `"a:(1)2"=2, "a:(2)2"=2, "a:(4)2"=2`, and
/// everything split over all of `"a"` is split over these in turn. Devices keep their numbers.
/// Fails, with a diagnostic, if parts do not fit into each other (2 and 3 of 6) or into their axis.
LogicalResult splitMeshAxes(ModuleOp module);

} // namespace mlir::st
