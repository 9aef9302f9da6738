// Which stages share their devices.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// The group of devices that runs each of the module's `st.stages`, counted in the order in which
/// groups appear: stages whose `st.devices` are the same are virtual stages of one group. Without
/// `st.devices` each stage has a group of its own.
SmallVector<int64_t> getStageGroups(ModuleOp module);

} // namespace mlir::st
