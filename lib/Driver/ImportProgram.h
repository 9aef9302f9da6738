// Imports a program that another tool printed, up to the phase `import`.
#ifndef ST_DRIVER_IMPORTPROGRAM_H
#define ST_DRIVER_IMPORTPROGRAM_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Returns true if @main defines the roles of its arguments and results.
bool hasRoles(ModuleOp module);

/// Returns true if @main is a loss that is not yet a training step: it has parameters, and no
/// result updates them.
bool computesLoss(ModuleOp module);

/// Simplifies a program, unrolls its loops of at most `unroll` trips, infers the roles of its
/// arguments and results (`roles`: the user's roles) and marks its layers. Prints a table of the
/// roles on stderr.
LogicalResult importProgram(ModuleOp module, StringRef roles, int64_t unroll, bool quiet);

/// Marks the layers of a program with roles, unless it has marks.
LogicalResult markLayers(ModuleOp module);

/// Simplifies a function that is not a training step. Each call passes all arguments and receives
/// all results, which are named argN and resultN. Ignores donations and other roles. Unrolls loops
/// of at most `unroll` trips.
LogicalResult importFunction(ModuleOp module, int64_t unroll);

} // namespace mlir::st

#endif // ST_DRIVER_IMPORTPROGRAM_H
