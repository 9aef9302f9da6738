// Groups stages that run on the same devices.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// The device group of each of the module's `st.stages`, numbered in the order of appearance:
/// stages with the same `st.devices` are virtual stages of one group. Without `st.devices` each
/// stage has a separate group.
SmallVector<int64_t> getStageGroups(ModuleOp module);

} // namespace mlir::st
