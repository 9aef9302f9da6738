// Runs a program once on tensors from a file.
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
  uint32_t seed = 0;           ///< initialises what `init` lacks
  int hostThreads = 0;
};

/// Reads every state and input of a validated program from the safetensors file `inputs`, by name
/// and as full tensors, runs one step, and writes every output and the new states to `outputs`.
/// With a folder `init` the states come from there; states that it lacks are initialised as in
/// training. Returns messages about them and about differences from the predicted step. An error
/// names the tensor that is missing, has another type, is out of range or is unknown to the
/// program; then no file is written. In a group of processes the first one writes.
absl::StatusOr<std::string> runOnce(const proto::Executable &program, Client &client,
                                    const Communicator &communicator,
                                    const RunOnceOptions &options);

} // namespace st

#endif // ST_RUNTIME_RUNONCE_H
