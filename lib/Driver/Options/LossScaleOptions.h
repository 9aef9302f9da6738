// The user's options for the loss scale of 16-bit precision.
#pragma once

#include "lib/Driver/Options/CompileOptions.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// The pass that scales the loss; empty without scaling. `fromFile` is the parallel file's value:
/// "none", "dynamic" or a number. Errors name the flag.
FailureOr<std::string> lossScalePipeline(ModuleOp module, const CompileOptions &options,
                                         StringRef fromFile);

/// Rejects options of the loss scale if the loss is not scaled, for the reason `why`.
LogicalResult refuseLossScaleOptions(ModuleOp module, const CompileOptions &options, StringRef why);

} // namespace mlir::st
