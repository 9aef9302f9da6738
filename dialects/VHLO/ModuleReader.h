// Converts the ops of a portable artifact to St's ops.
#ifndef ST_DIALECTS_VHLO_MODULEREADER_H
#define ST_DIALECTS_VHLO_MODULEREADER_H

#include "dialects/VHLO/Entries.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace mlir::vhlo {

/// Builds the module without verifying it. Returns null, with a fault, if the artifact is damaged
/// or not supported.
OwningOpRef<ModuleOp> readModule(Entries &entries);

} // namespace mlir::vhlo

#endif // ST_DIALECTS_VHLO_MODULEREADER_H
