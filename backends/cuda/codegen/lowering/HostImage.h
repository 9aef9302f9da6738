// Kernels for the host in the place of a GPU: a shared object.
#pragma once

#include "backends/cuda/codegen/executable/CommandList.h"
#include "lib/Proto/cuda.pb.h"

namespace llvm {
class Module;
} // namespace llvm

namespace mlir::cuda {

/// Compiles the kernels of a module, lowered by `gpu-to-host`, for the instruction set of most
/// hosts of today, and links them with the linker that is found: ld.lld, else ld. For each kernel
/// `name` there is a function `_mlir_ciface_launch_name` of two buffers of one dimension, as MLIR
/// describes them: all memory, and where in it each argument of the kernel lies. Fails with a
/// diagnostic.
FailureOr<::st::proto::CudaImage> compileHostImage(ModuleOp module, const CommandLists &lists);

/// Defines `__truncsfbf2` in code for the host, which the code generator calls to round f32 to bf16
/// where the instruction set cannot: no library that every host has defines it.
void addBf16Rounding(llvm::Module &code);

} // namespace mlir::cuda
