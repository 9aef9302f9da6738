// Passes that lower kernels to GPU modules and to intrinsics, or to host functions.

#ifndef ST_BACKENDS_CUDA_CODEGEN_LOWERINGPASSES_TD
#define ST_BACKENDS_CUDA_CODEGEN_LOWERINGPASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertKernelsToGpu : Pass<"convert-kernels-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Converts each kernel to a gpu.func and each task to a function that launches them";
  let description = [{
    Needs planned programs: kernels whose values have `st.addresses`, storage with addresses. Leaves
    `gpu.module @kernels` with one `gpu.func` for each distinct kernel, and for each task a function of the
    arena and the micro-batch (`cuda.function` of the task). Programs keep their storage, schedule and
    constants (`cuda.constants`), and the values that differ between ranks (`cuda.rank_table`); tasks become
    empty. Collectives become exchanges of pieces between the members, and kernels that reduce them.

    A kernel's arguments are its inputs and results as dense one-dimensional buffers; an `i1` takes a byte.
    Blocks and threads have one dimension of static size; docs/cuda.md has the rule that chooses it. A kernel
    of kind "matmul" becomes a `cuda.product` of the task instead of a gpu.func. If it has an activation or
    sums, the op has a body that computes the same with a product and launches. Such kernels must be in the
    form that `split-products` and `fuse-epilogues` leave, and attention kernels in that of `split-attention`. With
    `attention`, an attention kernel that cuDNN may compute is launched inside a `cuda.attention`, after launches whose
    results only it reads, such as those of row values. They stay outside if a kernel in between writes to their memory.
    An op or a kind of kernel without code generation is an error that names it.

    ```mlir
    st.task @forward0 forward stage 0 (%mb) {
      %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<64xf32>
      %1 = st.kernel "loop" (%a = %0 : tensor<64xf32>) -> tensor<64xf32>
           attributes {st.addresses = [#st.address<offset = 256>]} {
        %2 = stablehlo.negate %a : tensor<64xf32>
        st.yield %2 : tensor<64xf32>
      }
      st.write %1 to @y : tensor<64xf32>
    }
    // after
    gpu.module @kernels {
      gpu.func @loop_0(%x: memref<64xf32>, %y: memref<64xf32>) kernel { ... }
    }
    func.func @group0_forward0(%arena: memref<?xi8>, %mb: index) {
      %x = memref.view %arena[%c0][] : memref<?xi8> to memref<64xf32>
      %y = memref.view %arena[%c256][] : memref<?xi8> to memref<64xf32>
      gpu.launch_func @kernels::@loop_0 blocks in (...) threads in (...) args(%x : ..., %y : ...)
      return
    }
    ```
  }];
  let options = [
    Option<"attention", "attention", "bool", "false", "marks attention that cuDNN may compute">,
    Option<"explain", "explain", "bool", "false", "emits a remark that explains why cuDNN cannot compute an attention kernel">
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Different kernels generated">,
    Statistic<"numAttention", "attention", "Attention kernels that cuDNN may compute">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cuda::CudaDialect", "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::nvgpu::NVGPUDialect", "::mlir::NVVM::NVVMDialect", "::mlir::stablehlo::StableHLODialect",
    "::mlir::vector::VectorDialect"
  ];
}

def GpuToHost : Pass<"gpu-to-host", "::mlir::ModuleOp"> {
  let summary = "Converts kernels to functions that run blocks and threads sequentially";
  let description = [{
    Needs `gpu.func`s with a known block size and `gpu.launch_func`s of them. Each becomes a function with a
    loop over blocks. The code between two barriers becomes a loop over threads, also inside loops and
    branches that contain a barrier. All threads of a block must take the same branches; otherwise it is an error.
    Values that live across barriers are kept in arrays with one element per thread. A shuffle reads the
    element of the thread that it names, warp by warp, and a product of matrices (`nvgpu.mma.sync`) the
    elements of its lanes. Shared memory is a buffer. Blocks run one after the other, so none waits for
    a semaphore; a block that would wait sets the word `@st_unmet_wait`. Launches become calls. A `cuda.product` becomes
    loops that do the work of cuBLASLt; its body is dropped. The host computes `cuda.approximate` to one ulp.
    `approximation-error` adds or subtracts a relative error, chosen by the bits of the operand: a test fails
    if a program does not tolerate the error of a GPU.

    A correct kernel does not depend on the order of threads and blocks. `descending` reverses both, and tests
    compare the results.

    ```mlir
    %0 = memref.load %x[%tid] : memref<64xf32>
    memref.store %0, %shared[%tid] : memref<64xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %1 = memref.load %shared[%other] : memref<64xf32, #gpu.address_space<workgroup>>
    // becomes
    scf.for %tid = %c0 to %c64 step %c1 { ... memref.store %0, %shared[%tid] }
    scf.for %tid = %c0 to %c64 step %c1 { %1 = memref.load %shared[%other] ... }
    ```
  }];
  let options = [
    Option<"descending", "descending", "bool", "false", "runs the last thread and block first">,
    Option<"approximationError", "approximation-error", "double", "0",
           "relative error of a GPU's approximations, for tests">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ConvertMathToIntrinsics : Pass<"convert-math-to-intrinsics"> {
  let summary = "Lowers the functions that have machine instructions";
  let description = [{
    `convert-gpu-to-nvvm` lowers all of `math` to calls of libdevice. Square roots, fused products, roundings
    and signs are instructions. This pass lowers them first, so that f32 kernels need no library. The host
    lowering uses it too.

    ```mlir
    %0 = math.sqrt %x : f32
    // becomes
    %0 = llvm.call_intrinsic "llvm.sqrt"(%x) : (f32) -> f32
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ExpandSemaphores : Pass<"expand-semaphores", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Lowers semaphores between blocks to atomic operations of each block's first thread";
  let description = [{
    Lowers `cuda.take_ticket`, `cuda.semaphore_wait` and `cuda.semaphore_release`. Fences order the block's writes before a
    preceding `gpu.barrier` and its reads after a following one.

    ```mlir
    cuda.semaphore_wait %semaphores[%place], %value : memref<9xi32>
    gpu.barrier
    // becomes
    scf.if %isFirst {
      scf.while : () -> () {
        %now = memref.atomic_rmw addi %zero, %semaphores[%place] : (i32, memref<9xi32>) -> i32
        %differs = arith.cmpi ne, %now, %word : i32
        scf.condition(%differs)
      } do {
        scf.yield
      }
      llvm.fence syncscope("device") acq_rel
    }
    gpu.barrier
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def UseDynamicSharedMemory : Pass<"use-dynamic-shared-memory", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Moves large shared memory of kernels into the dynamic memory of their launches";
  let description = [{
    A kernel has at most 48 KiB of static shared memory. If it needs more, all its shared memory becomes
    consecutive parts of the dynamic memory that a launch requests.

    ```mlir
    gpu.func @f() workgroup(%a : memref<32768xbf16, #gpu.address_space<workgroup>>) kernel {
    // becomes
    gpu.func @f() kernel {
      %memory = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %a = memref.view %memory[%c0][] : memref<?xi8, ...> to memref<32768xbf16, #gpu.address_space<workgroup>>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect"];
}

def ConvertMatrixProducts : Pass<"convert-matrix-products"> {
  let summary = "Lowers matrix products of a warp, and the loads of their operands, to tensor-core instructions";
  let description = [{
    Supports the forms that attention kernels use, with the 32-bit indices of `lower-kernels-to-nvvm`:
    `nvgpu.mma.sync` of bf16 and f16 with f32 sums, 16 x 8 x 16 (upstream's lowering lacks bf16);
    `nvgpu.ldmatrix` of four matrices of 16-bit floats; `nvgpu.device_async_copy` of 16 bytes without a token,
    whose waits are `nvvm.cp.async.wait.group`. Everything else is an error. Pairs of floats are rounded to 16
    bits by one instruction.

    ```mlir
    %0 = nvgpu.ldmatrix %m[%i] {numTiles = 4 : i32, transpose = false} : memref<64xbf16, 3> -> vector<4x2xbf16>
    // becomes
    %0 = nvvm.ldmatrix %p {num = 4, layout = row, ...} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::vector::VectorDialect"];
}

#endif // ST_BACKENDS_CUDA_CODEGEN_LOWERINGPASSES_TD
