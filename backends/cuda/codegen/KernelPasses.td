// Passes that split, join and group the kernels of planned programs for GPUs.

#ifndef ST_BACKENDS_CUDA_CODEGEN_KERNELPASSES_TD
#define ST_BACKENDS_CUDA_CODEGEN_KERNELPASSES_TD

include "mlir/Pass/PassBase.td"

def SplitProducts : Pass<"split-products", "::mlir::ModuleOp"> {
  let summary = "Splits kernels so that one call of cuBLASLt computes each product";
  let description = [{
    Needs kernels without addresses. A kernel of kind "matmul" becomes one kernel for each of its products,
    together with the ops after it for which `matchProduct` (Product.h) finds an epilogue of cuBLASLt: a
    scale, an addend, a bias. The rest of its body, between and after products, becomes kernels of kind
    "loop"; an empty sum becomes a constant there. Operands are transposed by kernels of kind "copy" if their
    contracted dimensions are not adjacent or they have no contiguous dimension. A bias is converted first if
    its type is not the product's and nothing follows it.

    If the loop after a product adds a bias, a tensor of the same shape (a residual) or both, and also writes
    the sum, the additions move into the product. The loop then reads only the sum, which is rounded once.

    ```mlir
    %y = st.kernel "matmul" (%a = %0 : tensor<4x8xf32>, %b = %1 : tensor<8x4xf32>) -> tensor<4x4xf32> {
      %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ...
      %3 = stablehlo.tanh %2 : tensor<4x4xf32>
      st.yield %3 : tensor<4x4xf32>
    }
    // after
    %x = st.kernel "matmul" (%a = %0 : tensor<4x8xf32>, %b = %1 : tensor<8x4xf32>) -> tensor<4x4xf32> {
      %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ...
      st.yield %2 : tensor<4x4xf32>
    }
    %y = st.kernel "loop" (%a = %x : tensor<4x4xf32>) -> tensor<4x4xf32> {
      %2 = stablehlo.tanh %a : tensor<4x4xf32>
      st.yield %2 : tensor<4x4xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numSplit", "split", "Products whose kernels were split">,
    Statistic<"numPacked", "packed", "Operands of products that are transposed first">,
    Statistic<"numNarrowed", "narrowed", "Biases that are converted to their product's type first">,
    Statistic<"numAdded", "added", "Tensors that a product adds instead of the loop after it">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def FuseEpilogues : Pass<"fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "Fuses GELU, its gradient and gradients of biases into products, as epilogues of cuBLASLt";
  let description = [{
    Needs the output of `split-products`. Leaves kernels of kind "matmul" that `matchProductKernel`
    (Product.h) matches.

    - A "loop" that writes GELU of a product in its tanh approximation moves into the product, with the bias
      that the loop adds first. If GELU's argument has other users, the product writes it as a second result.
      The rest of the loop is computed from that argument.
    - Loops that multiply a product with GELU's gradient and are its only users move into the
      product. GELU's argument must exist in the product's type. Other stashed values that the loops
      read, such as a tanh, must be functions of that argument. Stashes without users are removed
      together with their computation. The result and the argument must not share an address
      (`st.no_alias`).
    - A "reduce" that sums an operand along the contracted dimension, in the type of the product's result,
      moves into the product. Not for tf32, whose products round their operands.

    GELU is recognised by its values (ScalarFunction.h), so the order of ops does not matter. Its erf form is
    a different function. cuBLASLt does not support some cases, which stay as they are: batches, f64, and
    activations whose row stride is not a multiple of 8 elements.

    ```mlir
    %x = st.kernel "matmul" (%a = %0, %b = %1) { ... st.yield %2 : tensor<4x8xf32> }
    %y = st.kernel "loop" (%x = %x) { /* GELU */ st.yield %3 : tensor<4x8xf32> }
    st.write %x to @stash[%mb] : tensor<4x8xf32>
    // after
    %y, %x = st.kernel "matmul" (%a = %0, %b = %1) { ... st.yield %3, %2 : tensor<4x8xf32>, tensor<4x8xf32> }
    st.write %x to @stash[%mb] : tensor<4x8xf32>
    ```
  }];
  let statistics = [
    Statistic<"numGelus", "gelus", "Products fused with GELU">,
    Statistic<"numGeluGradients", "gelu-gradients", "Products fused with GELU's gradient">,
    Statistic<"numSums", "sums", "Products fused with sums of an operand">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def AccumulateInProducts : Pass<"accumulate-in-products", "::mlir::ModuleOp"> {
  let summary = "Adds products to the buffers that accumulate them, as cuBLASLt does with beta = 1";
  let description = [{
    Needs the output of `fuse-epilogues`. If the only user of a product is a write that adds it to a buffer, and
    nothing else in the task uses the buffer, the product reads the buffer as its addend. `plan-memory` then
    places the result in the buffer. An example are gradients of weights, which are added up over the
    micro-batches: a separate kernel would read the gradient and the sum and write the sum. With
    `--reduce=exact` nothing changes.

    ```mlir
    %g = st.kernel "matmul" (%a = %0, %b = %1) { ... st.yield %2 : tensor<8x4xf32> }
    st.write %g to @accumulator accumulate sum : tensor<8x4xf32>
    // after
    %c = st.read @accumulator : tensor<8x4xf32>
    %g = st.kernel "matmul" (%a = %0, %b = %1, %c = %c) { ... %3 = stablehlo.add %c, %2 ... }
    st.write %g to @accumulator : tensor<8x4xf32>
    ```
  }];
  let statistics = [Statistic<"numAccumulated", "accumulated", "Products that add to a buffer">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def SplitReductions : Pass<"split-reductions", "::mlir::ModuleOp"> {
  let summary = "Splits reductions with few results over many blocks";
  let description = [{
    Needs kernels without addresses. A block computes some results of a kernel of kind "loop" or "reduce"
    (`Geometry.h`), so few results occupy few multiprocessors. If there are fewer blocks than multiprocessors
    and each thread would reduce at least 16 vectors, the outermost reduced dimensions are split into parts. A
    kernel reduces each part, and the rest of the kernel reduces the results of the parts. The number of parts
    gives each multiprocessor about 2048 threads, and each thread at least eight steps, as far as the sizes
    have such divisors. The order of a sum depends only on shapes and the number of multiprocessors.

    ```mlir
    %s = st.kernel "reduce" (%a = %0 : tensor<4096x1024xf32>) -> tensor<1024xf32> {
      %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : ...
      st.yield %1 : tensor<1024xf32>
    }
    // after, for 132 multiprocessors
    %v = stablehlo.reshape %0 : (tensor<4096x1024xf32>) -> tensor<32x128x1024xf32>
    %p = st.kernel "reduce" (%a = %v : tensor<32x128x1024xf32>) -> tensor<32x1024xf32> {
      %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : ...
      st.yield %1 : tensor<32x1024xf32>
    }
    %s = st.kernel "reduce" (%a = %p : tensor<32x1024xf32>) -> tensor<1024xf32> {
      %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : ...
      st.yield %1 : tensor<1024xf32>
    }
    ```
  }];
  let options = [
    Option<"cores", "cores", "int64_t", "0", "multiprocessors; 0: st.cores of the module, or no splits if it is absent">,
    Option<"always", "always", "bool", "false", "splits each reduction that has two parts of two elements, for tests">
  ];
  let statistics = [Statistic<"numSplit", "split", "Kernels whose reductions were split">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def JoinReductions : Pass<"join-reductions", "::mlir::ModuleOp"> {
  let summary = "Joins reductions of the same tensor into one kernel";
  let description = [{
    Needs kernels without addresses, after `split-reductions`. Joins two kernels of kind "reduce" that reduce
    the same dimensions of the same shape and share an input of that shape. The joined kernel is at
    the position of the first, so all inputs of the second must be computed before it. Example: the
    gradients of a norm's scale and shift both sum the incoming gradient, which is then read once.

    ```mlir
    %0 = st.kernel "reduce" (%a = %g : tensor<64x8xf32>) -> tensor<8xf32> {
      %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : ...
    }
    %2 = st.kernel "reduce" (%a = %g : tensor<64x8xf32>, %b = %x : tensor<64x8xf32>) -> tensor<8xf32> {
      %3 = stablehlo.multiply %a, %b : tensor<64x8xf32>
      %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : ...
    }
    // after
    %0:2 = st.kernel "reduce" (%a = %g : tensor<64x8xf32>, %b = %x : tensor<64x8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
      %1 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : ...
      %3 = stablehlo.multiply %a, %b : tensor<64x8xf32>
      %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : ...
    }
    ```
  }];
  let statistics = [Statistic<"numJoined", "joined", "Kernels that became part of another">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def ConvertInUpdate : Pass<"convert-in-update", "::mlir::ModuleOp"> {
  let summary = "Moves elementwise computations on a state into its update";
  let description = [{
    Needs scheduled programs of kernels without addresses. The pass looks for a kernel of kind "loop" in a
    task that runs once per step and computes each element of its results from one element of a state, for
    example a 16-bit weight. It clones the body into the kernel that computes the state's new value in the
    last task, which then also writes the copy. A buffer without other writers keeps the copy
    until the next step. The original kernel stays, with the attribute `cuda.left_by_update`: it runs only if
    the last update did not write the state, as in the first step or after a checkpoint was loaded. Copies are
    buffers, so checkpoints do not contain them. A state gets no copy if several ops write it, or if anything
    but a loop kernel, such as a collective, computes it.

    ```mlir
    st.task @forward0 forward stage 0 (%mb) {
      %w = st.read @w : tensor<8x4xf32>
      %n = st.kernel "loop" (%a = %w : tensor<8x4xf32>) -> tensor<8x4xbf16> { stablehlo.convert ... }
      ...
    st.task @update update stage 0 (%mb) {
      %new = st.kernel "loop" (%a = %w : tensor<8x4xf32>, %b = %g : tensor<8x4xf32>) -> tensor<8x4xf32> { ... }
      st.write %new to @w : tensor<8x4xf32>
    // after
    st.buffer @converted "step" slots 1 : tensor<8x4xbf16>
    st.task @forward0 forward stage 0 (%mb) {
      %w = st.read @w : tensor<8x4xf32>
      %n = st.kernel "loop" (%a = %w : tensor<8x4xf32>) -> tensor<8x4xbf16> attributes {cuda.left_by_update} { ... }
      st.write %n to @converted : tensor<8x4xbf16>
      ...
    st.task @update update stage 0 (%mb) {
      %new:2 = st.kernel "loop" (%a = %w, %b = %g) -> tensor<8x4xf32>, tensor<8x4xbf16> { ... stablehlo.convert ... }
      st.write %new#0 to @w : tensor<8x4xf32>
      st.write %new#1 to @converted : tensor<8x4xbf16>
    ```
  }];
  let statistics = [Statistic<"numConverted", "converted", "Kernels whose results the update writes">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def LiftConstants : Pass<"lift-constants", "::mlir::ModuleOp"> {
  let summary = "Turns constants in which kernels differ into inputs";
  let description = [{
    Needs kernels without addresses. Each layer that draws random numbers counts from a different start. With
    the start as an input, `convert-kernels-to-gpu` generates one function for all layers. If kernels of kinds
    "loop", "reduce" and "attention" differ only in scalar constants, these become inputs that take constants of
    the task.

    ```mlir
    %0 = st.kernel "loop" (%k = %key) { %c = stablehlo.constant dense<1> : tensor<ui32> ... }
    %1 = st.kernel "loop" (%k = %key) { %c = stablehlo.constant dense<4> : tensor<ui32> ... }
    // after
    %c1 = stablehlo.constant dense<1> : tensor<ui32>
    %0 = st.kernel "loop" (%k = %key, %c = %c1) { ... }
    %c4 = stablehlo.constant dense<4> : tensor<ui32>
    %1 = st.kernel "loop" (%k = %key, %c = %c4) { ... }
    ```
  }];
  let statistics = [Statistic<"numLifted", "lifted", "Constants that became inputs">];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def GroupKernels : Pass<"group-kernels", "::mlir::ModuleOp"> {
  let summary = "Moves equal kernels with small results next to each other";
  let description = [{
    Needs tasks of kernels without addresses. A kernel of kind "loop" or "reduce" with results of at most 16
    KiB moves up to the last equal kernel if its inputs, or those of their reshapes, are available there.
    Examples are conversions of biases, and the squares of each gradient. Their results then get separate
    memory, and `merge-launches` turns them into one launch.

    ```mlir
    %0 = st.kernel "reduce" (%a = %g0 : tensor<4096xf32>) -> tensor<f32> { ... }
    %1 = st.kernel "loop" (%a = %0 : tensor<f32>) -> tensor<f32> { ... }
    %2 = st.kernel "reduce" (%a = %g1 : tensor<4096xf32>) -> tensor<f32> { ... }
    // after
    %0 = st.kernel "reduce" (%a = %g0 : tensor<4096xf32>) -> tensor<f32> { ... }
    %2 = st.kernel "reduce" (%a = %g1 : tensor<4096xf32>) -> tensor<f32> { ... }
    %1 = st.kernel "loop" (%a = %0 : tensor<f32>) -> tensor<f32> { ... }
    ```
  }];
  let statistics = [Statistic<"numMoved", "moved", "Kernels that moved up to an equal one">];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def MergeLaunches : Pass<"merge-launches", "::mlir::ModuleOp"> {
  let summary = "Merges launches of one kernel on different buffers";
  let description = [{
    Needs functions that launch kernels, as `convert-kernels-to-gpu` leaves them. An optimizer updates
    hundreds of parameters with few distinct shapes, and weights are converted one by one. Each such launch
    takes longer than its work. Launches of one kernel between two collectives, messages or loops become one
    launch with the blocks of all: a kernel that selects its buffers by the block number. A launch moves up to
    the first one only if no op in between conflicts with its accesses. Barriers and shared memory are
    allowed, as all threads of a block use the same buffers. Kernels with tensor cores, and buffers whose
    address depends on the micro-batch or the rank, are not merged. A merged kernel has at most 36 buffers,
    because their addresses take registers.

    ```mlir
    gpu.launch_func @kernels::@loop_0 blocks in (%c4, %c1, %c1) threads in (...) args(%a)
    gpu.launch_func @kernels::@loop_0 blocks in (%c4, %c1, %c1) threads in (...) args(%b)
    // after
    gpu.launch_func @kernels::@loop_0_times_2 blocks in (%c8, %c1, %c1) threads in (...) args(%a, %b)
    gpu.func @loop_0_times_2(%a, %b) kernel {
      %block = gpu.block_id x
      %instance = arith.divui %block, %c4
      %is_first = arith.cmpi ult, %instance, %c1
      %buffer = scf.if %is_first { scf.yield %a } else { scf.yield %b }
      %own = arith.remui %block, %c4          // replaces the block number in loop_0
    ```
  }];
  let statistics = [Statistic<"numMerged", "merged", "Launches that became part of another">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

#endif // ST_BACKENDS_CUDA_CODEGEN_KERNELPASSES_TD
