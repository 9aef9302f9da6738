// Records the work of a rank's streams over time in a traced step.
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

  /// Starts recording on an idle stream.
  absl::Status begin(GpuStream &stream);

  /// Brackets work that is submitted to a stream between the two calls.
  absl::StatusOr<Mark> start(GpuStream &stream) { return stream.markTime(); }
  absl::Status end(GpuStream &stream, Row row, std::string label, Mark start);

  /// The error bound of the recorded times, by this process's clock.
  std::chrono::nanoseconds bound() const;

  /// A label and its duration, in picoseconds from `origin` by this process's clock; a span may
  /// begin slightly earlier. All work must be done.
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
  std::chrono::steady_clock::time_point baseTime; ///< the time of the base mark, within `baseBound`
  std::chrono::steady_clock::duration baseBound{0};
  std::vector<Recorded> recorded;
};

/// Sends the number of process `root` to every process.
absl::Status broadcastNumber(int64_t &number, int64_t root, Communicator &communicator);

/// Gathers the spans of all processes, ordered by rank, row and start, relative to the first one.
/// Each process passes the spans of its own ranks, relative to a time of process 0's clock that is
/// accurate to `bound`. `devices` are names by rank. All processes must call it.
absl::StatusOr<StepTrace> gatherTrace(std::vector<StepRecorder::Span> own,
                                      std::chrono::nanoseconds bound,
                                      const std::vector<std::string> &devices,
                                      Communicator &communicator);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMANDS_STEPRECORDER_H
