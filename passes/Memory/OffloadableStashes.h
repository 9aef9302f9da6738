// The stashes that may lie in the memory of the host.
#pragma once

#include "dialects/St/IR/StDialect.h"

namespace mlir::st {

/// The buffers that a forward task writes once and that backward tasks alone read, where they hold
/// what follows from a micro-batch: activations, never what parameters alone make. In the order of
/// the program. What loops touch is left out.
SmallVector<BufferOp> findOffloadable(ProgramOp program);

} // namespace mlir::st
