// What programs for GPUs hold, as text.
#ifndef ST_TOOLS_ST_TRANSLATE_CUDACOMMANDS_H
#define ST_TOOLS_ST_TRANSLATE_CUDACOMMANDS_H

#include "lib/Proto/executable.pb.h"
#include "llvm/Support/raw_ostream.h"

namespace mlir::st {

/// Images and kernels, a line each.
void printCudaCode(llvm::raw_ostream &os, const ::st::proto::CudaCode &code);

/// The commands of a task, a line each, those of loops indented. Of a program that was validated.
void printCudaTask(llvm::raw_ostream &os, const ::st::proto::CudaCode &code,
                   const ::st::proto::Task &task);

} // namespace mlir::st

#endif // ST_TOOLS_ST_TRANSLATE_CUDACOMMANDS_H
