// Explicit collectives of Shardy.
#ifndef ST_PASSES_IMPORT_SDYCOLLECTIVES_H
#define ST_PASSES_IMPORT_SDYCOLLECTIVES_H

#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Replaces each collective of sdy by a constraint with the sharding of its result: on global
/// tensors it changes nothing else. Replaces `sdy.constant` by `stablehlo.constant`.
void importSdyCollectives(ModuleOp module);

} // namespace mlir::st

#endif // ST_PASSES_IMPORT_SDYCOLLECTIVES_H
