// The bytes of an arena that are in use, over time.
#ifndef ST_DRIVER_MEMORYUSE_H
#define ST_DRIVER_MEMORYUSE_H

#include "lib/Report/StepFigures.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// For programs with a memory plan, before code generation. A stash holds a micro-batch from the
/// first task that accesses it to the last; other buffers likewise, over all micro-batches. The
/// other values of a task count with their peak.
::st::MemoryUse gatherMemoryUse(ModuleOp module);

} // namespace mlir::st

#endif // ST_DRIVER_MEMORYUSE_H
