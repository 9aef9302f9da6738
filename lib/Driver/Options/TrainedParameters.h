// The user's choice of trained parameters: adapters, and frozen parameters.
#pragma once

#include "lib/Driver/Options/CompileOptions.h"
#include "mlir/IR/BuiltinOps.h"

namespace mlir::st {

/// Adds the adapters of --lora to a forward @main and freezes the parameters that do not train. An
/// evaluation gets the same adapters, without dropout. Records PEFT's adapter_config.json on the
/// module as `st.adapter_config`. Errors name the flag.
LogicalResult chooseTrainedParameters(ModuleOp module, const CompileOptions &options);

/// Rejects the options above if the program updates its parameters itself.
LogicalResult refuseTrainedParameters(ModuleOp module, const CompileOptions &options);

} // namespace mlir::st
