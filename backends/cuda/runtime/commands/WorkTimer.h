// Measures the computing time of a rank in a step.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMANDS_WORKTIMER_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMANDS_WORKTIMER_H

#include "backends/cuda/runtime/GpuDevice.h"
#include "lib/Support/StatusMacros.h"

#include "absl/status/statusor.h"

#include <utility>
#include <vector>

namespace st::cuda {

/// Adds up the times of commands that involve no other rank. Waits are between these commands, so a
/// slow neighbour does not increase a rank's computing time.
class WorkTimer {
public:
  /// Brackets commands that are submitted to a stream between the two calls.
  absl::StatusOr<Mark> start(GpuStream &stream) { return stream.markTime(); }
  absl::Status end(GpuStream &stream, Mark start) {
    ST_ASSIGN_OR_RETURN(Mark mark, stream.markTime());
    spans.emplace_back(std::move(start), std::move(mark));
    return absl::OkStatus();
  }

  /// The seconds since the last call. All work must be done.
  absl::StatusOr<double> take(const GpuDevice &device) {
    double sum = 0;
    for (const auto &[start, end] : std::exchange(spans, {})) {
      ST_ASSIGN_OR_RETURN(const double seconds, device.secondsBetween(*start, *end));
      sum += seconds;
    }
    return sum;
  }

private:
  std::vector<std::pair<Mark, Mark>> spans;
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMANDS_WORKTIMER_H
