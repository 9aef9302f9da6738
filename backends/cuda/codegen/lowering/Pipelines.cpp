// Pipelines of MLIR's passes that lower kernels to PTX and to the host.
#include "backends/cuda/codegen/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace {
struct NvvmOptions : PassPipelineOptions<NvvmOptions> {
  Option<std::string> chip{*this, "chip",
                           llvm::cl::desc("GPU architecture to compile for, such as sm_90"),
                           llvm::cl::init("sm_90")};
  Option<std::string> features{*this, "features", llvm::cl::desc("the version of PTX"),
                               llvm::cl::init("+ptx80")};
};
} // namespace

/// Appends passes that are given as text; they are registered before any pipeline is built.
static void append(OpPassManager &passes, const Twine &text) {
  if (failed(parsePassPipeline(text.str(), passes)))
    llvm::report_fatal_error("a pass of a CUDA pipeline is not registered");
}

/// Offsets in a kernel's buffers fit 32 bits: convert-kernels-to-gpu refuses larger ones.
static void buildNvvmPipeline(OpPassManager &passes, const NvvmOptions &options) {
  append(passes,
         "nvvm-attach-target{chip=" + options.chip + " features=" + options.features +
             " O=3},"
             "gpu.module(expand-semaphores,use-dynamic-shared-memory,canonicalize,cse,convert-scf-"
             "to-cf,"
             "convert-math-to-intrinsics,"
             "convert-matrix-products,convert-gpu-to-nvvm{use-bare-ptr-memref-call-conv=true "
             "index-bitwidth=32},"
             "canonicalize,cse,reconcile-unrealized-casts)");
}

static void buildHostPipeline(OpPassManager &passes) {
  append(passes, "func.func(canonicalize,cse,arith-expand{include-bf16=true},"
                 "convert-math-to-intrinsics),"
                 "convert-vector-to-scf,convert-scf-to-cf,convert-math-to-libm,"
                 "expand-strided-metadata,lower-affine,convert-vector-to-llvm,convert-to-llvm,"
                 "canonicalize{region-simplify=disabled},cse,reconcile-unrealized-casts");
}

void mlir::cuda::registerCudaPipelines() {
  static PassPipelineRegistration<NvvmOptions> nvvm(
      "lower-kernels-to-nvvm",
      "Lowers the gpu.funcs of a module to NVVM, ready for gpu-module-to-binary",
      buildNvvmPipeline);
  static PassPipelineRegistration<> host("lower-host-kernels-to-llvm",
                                         "Lowers the functions of gpu-to-host to LLVM",
                                         buildHostPipeline);
  // Earlier names of these passes.
  static PassPipelineRegistration<> split(
      "split-chains", "Old name of split-attention",
      [](OpPassManager &passes) { append(passes, "split-attention"); });
  static PassPipelineRegistration<> join(
      "join-chains", "Old name of join-attention-gradients",
      [](OpPassManager &passes) { append(passes, "join-attention-gradients"); });
  static PassPipelineRegistration<> expand(
      "expand-turns", "Old name of expand-semaphores",
      [](OpPassManager &passes) { append(passes, "expand-semaphores"); });
}
