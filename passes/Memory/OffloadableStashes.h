// The stashes that may be kept in the host's memory.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::st {

/// The buffers that a forward task writes once and only backward tasks read, and that depend on a
/// micro-batch: activations, but not values of parameters alone. In program order, without buffers
/// that loops access.
SmallVector<BufferOp> findOffloadable(ProgramOp program);

} // namespace mlir::st
