// Finds the smallest amount of recomputation with which a plan fits its devices.
#ifndef ST_DRIVER_FITMEMORY_H
#define ST_DRIVER_FITMEMORY_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Returns true if the module's recomputation policy is "fit".
bool recomputesToFit(ModuleOp module);

/// Gives each program of a module with split tasks an `st.stash_budget`: the largest, to a
/// hundredth of the stash, with which the group's devices have enough memory. Groups that fit
/// without recomputation get the full stash; groups that never fit get no budget. It plans copies
/// of the module, because the memory is known only after planning. Fails with a diagnostic if a
/// copy cannot be planned.
LogicalResult fitMemory(ModuleOp module);

} // namespace mlir::st

#endif // ST_DRIVER_FITMEMORY_H
