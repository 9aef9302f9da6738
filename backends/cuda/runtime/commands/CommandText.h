// Prints commands for traces and errors.
#ifndef ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDTEXT_H
#define ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDTEXT_H

#include "lib/Proto/cuda.pb.h"

#include "absl/types/span.h"

#include <cstdint>
#include <string>

namespace st::cuda {

/// The rank that runs a command, and the micro-batch.
struct CommandContext {
  absl::Span<const proto::CudaKernel> kernels; ///< of the program
  absl::Span<const int64_t> table;             ///< of the rank
  int64_t microBatch = 0;
};

/// A byte offset in the arena of the rank or in its scratch memory.
int64_t offsetOf(const proto::CudaPlace &place, const CommandContext &context);

/// The kernel's name, or the kind and size of another command.
std::string labelOf(const proto::CudaCommand &command, const CommandContext &context);

/// The label with the places and sizes that the command reads and writes.
std::string describe(const proto::CudaCommand &command, const CommandContext &context);

} // namespace st::cuda

#endif // ST_BACKENDS_CUDA_RUNTIME_COMMANDS_COMMANDTEXT_H
