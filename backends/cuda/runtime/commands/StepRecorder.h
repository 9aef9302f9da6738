// When a rank's streams did what, in a step that is traced.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMANDS_STEPRECORDER_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMANDS_STEPRECORDER_H

#include "backends/cuda/runtime/GpuDevice.h"
#include "st/Runtime/Communicator.h"
#include "st/Runtime/Executable.h"

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

#include <chrono>
#include <string>
#include <vector>

namespace st::cuda {

class StepRecorder {
public:
  enum class Row { Tasks, Kernels, Transfers };
  static constexpr const char *kRowNames[] = {"tasks", "kernels", "transfers"};

  /// From now on, on a stream that has nothing to do.
  absl::Status begin(GpuStream &stream);

  /// What is given to a stream between the two calls.
  absl::StatusOr<Mark> start(GpuStream &stream) { return stream.markTime(); }
  absl::Status end(GpuStream &stream, Row row, std::string label, Mark start);

  /// By how much the times that are read may be wrong, by this process's clock.
  std::chrono::nanoseconds bound() const;

  /// What took how long, in picoseconds from `origin`, of this process's clock; a little may lie
  /// before it. All work has to be done.
  struct Span {
    int64_t rank = 0;
    Row row = Row::Tasks;
    int64_t start = 0, duration = 0;
    std::string label;
  };
  absl::Status read(const GpuDevice &device, int64_t rank,
                    std::chrono::steady_clock::time_point origin, std::vector<Span> &spans) const;

private:
  struct Recorded {
    Row row;
    std::string label;
    Mark start, end;
  };

  Mark base;
  std::chrono::steady_clock::time_point baseTime; ///< when that was, to `baseBound` either way
  std::chrono::steady_clock::duration baseBound{0};
  std::vector<Recorded> recorded;
};

/// Every process gets the number that `root` holds.
absl::Status broadcastNumber(int64_t &number, int64_t root, Communicator &communicator);

/// The spans of all processes, by rank, row and start, from that of the first; each process has
/// those of its own ranks, from a moment of process 0's clock, of which `bound` says by how much
/// its ranks may be wrong. `devices` are names by rank. All processes call it.
absl::StatusOr<StepTrace> gatherTrace(std::vector<StepRecorder::Span> own,
                                      std::chrono::nanoseconds bound,
                                      const std::vector<std::string> &devices,
                                      Communicator &communicator);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMANDS_STEPRECORDER_H
