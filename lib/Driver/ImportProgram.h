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

/// Simplifies a function that is run as it is, whatever it computes: every argument is given anew
/// and every result is left to the caller, by names argN and resultN; donations and other roles do
/// not count. Unrolls loops of at most `unroll` trips.
LogicalResult importFunction(ModuleOp module, int64_t unroll);

} // namespace mlir::st

#endif // ST_DRIVER_IMPORTPROGRAM_H
