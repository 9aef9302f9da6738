// What a target's links cost along the axes of a mesh.
#ifndef ST_DRIVER_LINKCOSTS_H
#define ST_DRIVER_LINKCOSTS_H

#include "dialects/St/IR/StDialect.h"
#include "lib/Proto/device.pb.h"

namespace mlir::st {

/// Records on the module how fast a device of the description is (`st.speed`), and on its mesh
/// (`st.link_costs`) how much longer than along its fastest axis a byte takes along each: over the
/// slowest link between neighbours of a ring along the axis, in any stage. Reshards and propagation
/// weigh collectives by it. The module has its devices, all of them the description's.
void recordLinkCosts(ModuleOp module, const ::st::proto::DtuDescription &description);
void recordLinkCosts(ModuleOp module, const ::st::proto::GpuDescription &description);

} // namespace mlir::st

#endif // ST_DRIVER_LINKCOSTS_H
