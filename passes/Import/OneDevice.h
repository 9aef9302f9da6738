// Simplifies programs for one device.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Replaces collectives whose groups have one device by their operands. Replaces numbers of devices
/// by 0 in a module for one device.
void removeCollectivesOfOneDevice(ModuleOp module);

} // namespace mlir::st
