// The uses of a kernel's buffers.
#pragma once

#include "mlir/IR/Value.h"

namespace mlir::cuda {

/// Returns true if only loads, of all or parts of it, use an argument of a kernel.
bool isOnlyRead(Value buffer);

} // namespace mlir::cuda
