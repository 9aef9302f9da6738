// What a user says of the update: the optimizer, its numbers, the learning rate.
#pragma once

#include "lib/Driver/Options/CompileOptions.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Puts the learning rate on the module. Errors name the flag.
LogicalResult setLearningRate(ModuleOp module, const CompileOptions &options);

/// The passes that add the update, options being what they should.
FailureOr<std::string> optimizerPipeline(ModuleOp module, const CompileOptions &options);

/// Refuses what is said of an update that the program brings itself.
LogicalResult refuseOptimizerOptions(ModuleOp module, const CompileOptions &options);

} // namespace mlir::st
