// Commands as people read them, in traces and errors.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDTEXT_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDTEXT_H

#include "lib/Proto/cuda.pb.h"

#include "absl/types/span.h"

#include <cstdint>
#include <string>

namespace st::cuda {

/// Whose commands they are, and when they run.
struct CommandContext {
  absl::Span<const proto::CudaKernel> kernels; ///< of the program
  absl::Span<const int64_t> table;             ///< of the rank
  int64_t microBatch = 0;
};

/// In the arena of the rank or its scratch memory, in bytes.
int64_t offsetOf(const proto::CudaPlace &place, const CommandContext &context);

/// The kernel's name, or what kind of command it is and how large.
std::string labelOf(const proto::CudaCommand &command, const CommandContext &context);

/// With the places and sizes of what it reads and writes.
std::string describe(const proto::CudaCommand &command, const CommandContext &context);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDTEXT_H
