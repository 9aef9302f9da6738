// One step of an Executable on the simulator, with tensors by name.
#ifndef ST_TOOLS_ST_DTU_RUN_RUNEXECUTABLE_H
#define ST_TOOLS_ST_DTU_RUN_RUNEXECUTABLE_H

#include "absl/status/status.h"
#include "lib/Proto/executable.pb.h"

#include <cstdint>
#include <string>

namespace st {

struct RunOptions {
  std::string inputs, outputs; ///< safetensors files
  /// Repetitions with other interleavings of each cluster's instances; all must give the same bits.
  int64_t shuffles = 0;
};

/// Runs one step with states and inputs from a file, with L1 and L2 filled with NaN before each
/// task. Writes outputs and states, which must be equal on all ranks that hold the same shard.
/// `report`: one line about the simulated time.
absl::Status runExecutable(const proto::Executable &program, const RunOptions &options,
                           std::string &report);

} // namespace st

#endif // ST_TOOLS_ST_DTU_RUN_RUNEXECUTABLE_H
