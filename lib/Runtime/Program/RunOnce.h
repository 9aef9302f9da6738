// Runs a program once on tensors of a file.
#ifndef ST_RUNTIME_RUNONCE_H
#define ST_RUNTIME_RUNONCE_H

#include "lib/Proto/executable.pb.h"
#include "st/Runtime/Client.h"
#include "st/Runtime/Communicator.h"

#include "absl/status/statusor.h"

#include <cstdint>
#include <string>

namespace st {

struct RunOnceOptions {
  std::string inputs, outputs; ///< safetensors files
  std::string init;            ///< see PretrainedWeights; empty: the states are in `inputs`
  uint32_t seed = 0;           ///< of what `init` does not have
  int hostThreads = 0;
};

/// Reads every state and input of a validated program from the safetensors file
/// `inputs`, by name and as whole tensors, runs one step, and writes every output and
/// the new states to `outputs`. With a folder `init` the states come from there, and
/// what it does not have starts as in training. Returns what is to be said about them,
/// and where the step parts from its prediction.
/// An error names the tensor that is missing, of another type, out of range or none of
/// the program's; then no file is written. Of several processes the first one writes.
absl::StatusOr<std::string> runOnce(const proto::Executable &program, Client &client,
                                    const Communicator &communicator,
                                    const RunOnceOptions &options);

} // namespace st

#endif // ST_RUNTIME_RUNONCE_H
