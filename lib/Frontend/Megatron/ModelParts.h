//===- ModelParts.h - Parts of Megatron's models ----------------*- C++ -*-===//
//
// The parts of Llama's and Mixtral's blocks that a GPT of Megatron-LM may have: from arguments to a
// run, and from a run to the keys of a megatron-gpt configuration.
//
//===----------------------------------------------------------------------===//

#ifndef ST_LIB_FRONTEND_MEGATRON_MODELPARTS_H
#define ST_LIB_FRONTEND_MEGATRON_MODELPARTS_H

#include "lib/Frontend/Megatron/Log.h"

namespace mlir::st {

/// Sets the norms, heads, positions and experts of a run whose sizes are known. A refused argument
/// is an error that names its line.
absl::Status readModelParts(const MegatronLog &log, TrainingRun &run);

/// Calls `add` for each key of the configuration, with the text of its JSON value.
void describeModelParts(const TrainingRun &run,
                        function_ref<void(StringRef key, const Twine &value)> add);

/// The function of the inner layers, under transformers' name.
StringRef activationOf(const TrainingRun &run);

} // namespace mlir::st

#endif // ST_LIB_FRONTEND_MEGATRON_MODELPARTS_H
