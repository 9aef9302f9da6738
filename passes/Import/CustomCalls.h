// Custom calls of JAX that have a meaning in StableHLO.
#ifndef ST_PASSES_IMPORT_CUSTOMCALLS_H
#define ST_PASSES_IMPORT_CUSTOMCALLS_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Returns true for a custom call of the target; `op` may be null.
bool isCallOf(Operation *op, StringRef target);

/// Replaces calls that choose the memory or the layout of an intermediate value by their operands:
/// the memory plan chooses both. Expands `ragged_all_to_all` in computations on shards to
/// all_gather, all_to_all and a gather of rows.
LogicalResult importCustomCalls(ModuleOp module);

} // namespace mlir::st

#endif // ST_PASSES_IMPORT_CUSTOMCALLS_H
