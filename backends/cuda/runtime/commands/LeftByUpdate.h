// Values that the update of a step writes for the next step in addition to the states, and whether
// they are valid.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMANDS_LEFTBYUPDATE_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMANDS_LEFTBYUPDATE_H

#include "lib/Proto/cuda.pb.h"

#include "absl/types/span.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace st::cuda {

/// State of one arena, shared by all programs that use it. Commands with `left_by_update` are
/// skipped while the values are valid.
class LeftByUpdate {
public:
  /// Records the bytes that these commands read and write.
  void add(const proto::CudaProgram &program, absl::Span<const proto::CudaKernel> kernels) {
    for (const proto::CudaCommand &command : program.commands())
      for (int i = 0; command.left_by_update() && i < command.launch().arguments_size(); ++i) {
        const int64_t begin = command.launch().arguments(i).offset();
        const int64_t bytes =
            kernels[static_cast<size_t>(command.launch().kernel())].argument_bytes(i);
        parts.push_back({begin, begin + bytes});
      }
  }

  bool areValid() const { return valid; }
  /// Call after a step has completed.
  void markValid() { valid = true; }
  /// Call after a step has failed, or another program has used the memory.
  void invalidate() { valid = false; }
  /// Call after the host has written bytes of the arena, for example states from a checkpoint.
  void invalidateWritten(int64_t begin, int64_t end) {
    for (const auto &[first, last] : parts)
      if (begin < last && first < end)
        valid = false;
  }

private:
  std::vector<std::pair<int64_t, int64_t>> parts; ///< begin and end, in bytes
  bool valid = false;
};

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMANDS_LEFTBYUPDATE_H
