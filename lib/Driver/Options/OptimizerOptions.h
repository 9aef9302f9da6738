// The user's options for the update: the optimizer, its constants, the learning rate.
#pragma once

#include "lib/Driver/Options/CompileOptions.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Splits a list of patterns at commas outside of braces.
SmallVector<StringRef> splitList(StringRef text);

/// Records the learning rate on the module. Errors name the flag.
LogicalResult setLearningRate(ModuleOp module, const CompileOptions &options);

/// The passes that add the update; an error if an option is invalid.
FailureOr<std::string> optimizerPipeline(ModuleOp module, const CompileOptions &options);

/// Rejects options of the update if the program already contains an update.
LogicalResult refuseOptimizerOptions(ModuleOp module, const CompileOptions &options);

} // namespace mlir::st
