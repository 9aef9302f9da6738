// Which commands of a task run beside the others.
#pragma once

#include "lib/Proto/cuda.pb.h"
#include "mlir/Support/LLVM.h"

namespace mlir::cuda {

struct KernelArgument {
  int64_t bytes = 0;
  bool isOnlyRead = false;
};
using ArgumentsOf = function_ref<ArrayRef<KernelArgument>(int64_t kernel)>;

/// Puts exchanges, and what packs and unpacks scratch memory around them, onto the stream of
/// transfers, where they run while kernels behind them do that do not touch their memory. A command
/// waits for the other stream where something there, which nobody has waited for since, touches the
/// same memory and either of them writes it: memory is planned as if commands ran one by one. What
/// would be waited for at once stays with the kernels, and so do loops with all that they repeat.
void assignStreams(::st::proto::CudaProgram &program, ArgumentsOf argumentsOf);

} // namespace mlir::cuda
