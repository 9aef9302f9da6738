// Compiles kernels to a shared object for the host instead of a GPU.
#pragma once

#include "backends/cuda/codegen/executable/CommandList.h"
#include "lib/Proto/cuda.pb.h"

namespace llvm {
class Module;
} // namespace llvm

namespace mlir::cuda {

/// Compiles the kernels of a module, lowered by `gpu-to-host`, for the instruction set of most
/// current hosts, and links them with ld.lld or else ld. For each kernel `name` there is a function
/// `_mlir_ciface_launch_name` with two one-dimensional buffers in MLIR's descriptors: all memory,
/// and the offset of each kernel argument in it. Fails with a diagnostic.
FailureOr<::st::proto::CudaImage> compileHostImage(ModuleOp module, const CommandLists &lists);

/// Defines `__truncsfbf2` in code for the host. The code generator calls it to round f32 to bf16 if
/// the instruction set cannot, and some hosts have no library that defines it.
void addBf16Rounding(llvm::Module &code);

} // namespace mlir::cuda
