// Splits axes of imported meshes if a program uses parts of them, or several meshes.
#pragma once

#include "dialects/Sdy/SdyDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Gives the mesh an axis for each part of an axis that a sharding names. If something is split
/// over `"a":(2)2` of `"a"=8`, the axis becomes `"a:(1)2"=2, "a:(2)2"=2, "a:(4)2"=2`, and
/// everything split over all of `"a"` is split over these axes in order. Devices keep their
/// numbers. Fails, with a diagnostic, if parts do not fit into each other (2 and 3 of 6) or into
/// their axis.
LogicalResult splitMeshAxes(ModuleOp module);

/// Gives meshes with different axes over the same devices one finer mesh: of `x=2, y=4` and `x=4,
/// y=2`, the axes `axis0=2, axis1=2, axis2=2`, whose runs are the axes of both. Does not change
/// meshes without such a common refinement.
void unifyMeshes(ModuleOp module);

} // namespace mlir::st
