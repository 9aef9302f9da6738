// Which bytes of an arena hold something, and when.
#ifndef ST_DRIVER_MEMORYUSE_H
#define ST_DRIVER_MEMORYUSE_H

#include "lib/Report/StepFigures.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Of programs with a memory plan whose tasks are no code yet. A stash holds a micro-batch from the
/// first task that touches it to the last, other buffers theirs alike, over all micro-batches; what
/// else a task makes counts as the most that it ever takes.
::st::MemoryUse gatherMemoryUse(ModuleOp module);

} // namespace mlir::st

#endif // ST_DRIVER_MEMORYUSE_H
