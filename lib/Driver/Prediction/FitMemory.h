// The least recomputation with which a plan fits its devices.
#ifndef ST_DRIVER_FITMEMORY_H
#define ST_DRIVER_FITMEMORY_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Whether the module's policy of recomputation is "fit".
bool wantsToFit(ModuleOp module);

/// Gives each program of a module whose tasks are split an `st.stash_budget`: the largest, to a
/// hundredth of the stash, with which the group's devices hold what they have to; of groups that
/// fit as they are all of it, and of those that never do none. Plans copies of the module: memory
/// is known when it is planned, not before. Fails where a copy cannot be planned, with a
/// diagnostic.
LogicalResult fitMemory(ModuleOp module);

} // namespace mlir::st

#endif // ST_DRIVER_FITMEMORY_H
