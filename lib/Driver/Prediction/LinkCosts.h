// The costs of a target's links along the axes of a mesh.
#ifndef ST_DRIVER_LINKCOSTS_H
#define ST_DRIVER_LINKCOSTS_H

#include "dialects/St/IR/StDialect.h"
#include "lib/Proto/device.pb.h"

namespace mlir::st {

/// Records the rates of a device of the description and of its links on the module (`st.speed`).
/// Along each axis of the mesh it is the slowest link between neighbours of a ring, in any stage.
/// The module must have its devices, all of the description's kind.
void recordLinkCosts(ModuleOp module, const ::st::proto::DtuDescription &description);
void recordLinkCosts(ModuleOp module, const ::st::proto::GpuDescription &description);

} // namespace mlir::st

#endif // ST_DRIVER_LINKCOSTS_H
