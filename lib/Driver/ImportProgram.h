// From a program that another tool printed to the phase `import`.
#ifndef ST_DRIVER_IMPORTPROGRAM_H
#define ST_DRIVER_IMPORTPROGRAM_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Whether @main says what its arguments and results are.
bool hasRoles(ModuleOp module);

/// Whether @main is a loss that has yet to become a training step: it has parameters,
/// and no result updates them.
bool computesLoss(ModuleOp module);

/// Simplifies a program, unrolls its loops of at most `unroll` trips, infers the roles of its
/// arguments and results (`roles`: what the user says of them) and marks its layers. Prints a
/// table of the roles on stderr.
LogicalResult importProgram(ModuleOp module, StringRef roles, int64_t unroll, bool quiet);

} // namespace mlir::st

#endif // ST_DRIVER_IMPORTPROGRAM_H
