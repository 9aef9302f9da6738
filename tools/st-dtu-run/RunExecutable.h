// One step of an Executable on the simulator, with tensors by name.
#ifndef ST_TOOLS_ST_DTU_RUN_RUNEXECUTABLE_H
#define ST_TOOLS_ST_DTU_RUN_RUNEXECUTABLE_H

#include "absl/status/status.h"
#include "lib/Proto/executable.pb.h"

#include <string>

namespace st {

/// Runs one step with states and inputs from a safetensors file; writes outputs and states, which
/// must be the same on all ranks that hold the same part. `report`: one line about the simulated
/// time.
absl::Status runExecutable(const proto::Executable &program, const std::string &inputs,
                           const std::string &outputs, std::string &report);

} // namespace st

#endif // ST_TOOLS_ST_DTU_RUN_RUNEXECUTABLE_H
