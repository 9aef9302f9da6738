// Chooses the commands of a task that run concurrently with others.
#pragma once

#include "lib/Proto/cuda.pb.h"
#include "mlir/Support/LLVM.h"

namespace mlir::cuda {

struct KernelArgument {
  int64_t bytes = 0;
  bool isOnlyRead = false;
};
using ArgumentsOf = function_ref<ArrayRef<KernelArgument>(int64_t kernel)>;

/// Puts exchanges, and the launches that pack and unpack scratch memory for them, onto the transfer
/// stream, where they overlap later kernels that do not access their memory. A command waits for
/// the other stream if an access there conflicts with it and no command has waited for that access
/// yet: the memory plan assumes sequential commands. Transfers whose results the next command needs
/// stay on the kernels' stream, and so do loops.
void assignStreams(::st::proto::CudaProgram &program, ArgumentsOf argumentsOf);

} // namespace mlir::cuda
