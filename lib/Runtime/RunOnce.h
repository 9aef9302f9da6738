// Runs a program once on tensors of a file.
#ifndef ST_RUNTIME_RUNONCE_H
#define ST_RUNTIME_RUNONCE_H

#include "lib/Proto/executable.pb.h"
#include "st/Runtime/Client.h"

#include "absl/status/statusor.h"

#include <string>

namespace st {

/// Reads every state and input of a validated program from the safetensors file
/// `inputs`, by name and as whole tensors, runs one step, and writes every output and
/// the new states to `outputs`. With a folder `init` the states come from there, see
/// PretrainedWeights, and what it does not have starts as in training. Returns what is to
/// be said about them. An error names the tensor that is missing or of another type; then
/// no file is written.
absl::StatusOr<std::string> runOnce(const proto::Executable &program, Client &client,
                                    const std::string &inputs, const std::string &outputs,
                                    const std::string &init);

} // namespace st

#endif // ST_RUNTIME_RUNONCE_H
