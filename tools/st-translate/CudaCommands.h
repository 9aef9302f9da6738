// Programs for GPUs as text.
#ifndef ST_TOOLS_ST_TRANSLATE_CUDACOMMANDS_H
#define ST_TOOLS_ST_TRANSLATE_CUDACOMMANDS_H

#include "lib/Proto/executable.pb.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::st {

/// Images and kernels, one per line.
void printCudaCode(llvm::raw_ostream &os, const ::st::proto::CudaCode &code);

/// The commands of a task, one per line, with those of loops indented. The program must be
/// validated.
void printCudaTask(llvm::raw_ostream &os, const ::st::proto::CudaCode &code,
                   const ::st::proto::Task &task);

} // namespace mlir::st

#endif // ST_TOOLS_ST_TRANSLATE_CUDACOMMANDS_H
