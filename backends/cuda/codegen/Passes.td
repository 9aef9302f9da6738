// From planned programs to kernels for NVIDIA GPUs, or for the host.

#ifndef ST_BACKENDS_CUDA_CODEGEN_PASSES_TD
#define ST_BACKENDS_CUDA_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertKernelsToGpu : Pass<"convert-kernels-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Turns every kernel into a gpu.func and every task into a function that launches them";
  let description = [{
    Needs planned programs: kernels whose values have `st.addresses`, storage with addresses. Leaves
    `gpu.module @kernels` with one `gpu.func` for each different kernel, for each task a function of the
    arena and the micro-batch (`cuda.function` of the task), and in programs their storage, schedule and
    constants (`cuda.constants`), and what ranks differ by (`cuda.rank_table`); tasks are empty then.
    Collectives become copies and kernels that read other ranks' arenas (`cuda.peer`) between two
    meetings of their members.

    A kernel's arguments are its inputs and results as dense buffers of one dimension, an `i1` as a byte.
    Blocks and threads have one dimension, known from the start; docs/cuda.md has the rule by which they
    are chosen. A kernel of kind "matmul" is no gpu.func but a `cuda.product` of the task; one with an activation or sums has
    a body, a product without these and launches that do the same. Such kernels are as
    `split-products` and `fuse-epilogues` leave them, chains as `split-chains` does. With `attention` a chain that cuDNN may compute is launched in a
    `cuda.attention`. An op or a kind of kernel for which there is no code is an error that names it.

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
    Option<"attention", "attention", "bool", "false", "attention that cuDNN may compute is told apart">,
    Option<"explain", "explain", "bool", "false", "remarks say why a chain is no such attention">
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Different kernels generated">,
    Statistic<"numAttention", "attention", "Chains that cuDNN may compute">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cuda::CudaDialect", "::mlir::func::FuncDialect",
    "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
    "::mlir::nvgpu::NVGPUDialect", "::mlir::NVVM::NVVMDialect", "::mlir::stablehlo::StableHLODialect",
    "::mlir::vector::VectorDialect"
  ];
}

def SplitProducts : Pass<"split-products", "::mlir::ModuleOp"> {
  let summary = "Leaves in each product what one call of cuBLASLt computes";
  let description = [{
    Needs kernels without places in memory. A kernel of kind "matmul" becomes one for each of its products,
    which has as much of what follows as `matchProduct` (Product.h) finds cuBLASLt's epilogue
    for: a scale, an addend, a bias. What is left of its body, between products and behind them, becomes
    kernels of kind "loop"; a sum over nothing is a constant there. Operands whose contracted dimensions do not lie
    behind each other, or that have no neighbours in memory, are transposed by kernels of kind "copy" before. A bias of
    another type than the product's, if nothing follows it, is converted before.

    What the loop behind a product adds to it, a bias, a tensor of the same shape (a residual) or both, becomes part of
    the product where the loop writes the sum anyway: then the loop reads the sum alone. The sum is rounded once.

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
    Statistic<"numPacked", "packed", "Operands of products that are transposed before">,
    Statistic<"numNarrowed", "narrowed", "Biases that are converted to their product's type before">,
    Statistic<"numAdded", "added", "Tensors that a product adds instead of the loop after it">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def FuseEpilogues : Pass<"fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "Gives products GELU, its gradient and gradients of biases, as cuBLASLt's epilogues compute them";
  let description = [{
    Needs what `split-products` leaves, and leaves kernels of kind "matmul" that `matchProductKernel` (Product.h) finds.

    - A "loop" that writes GELU of a product, as the tanh approximation: the product does, and writes GELU's argument as
      a second result where others read it. A bias that the loop adds before goes along. What else the loop
      computes, it computes from that argument.
    - A product that only loops read which multiply it with GELU's gradient: the product does. GELU's argument has
      to be there in the product's type; what the loops read beside it, such as a tanh that the forward pass left, has
      to be a function of it. A stash that is not read any more goes, with what was computed for it. The result may not lie
      where the argument does (`st.apart`).
    - A "reduce" that adds up what a product contracts of an operand, in the type of its result: the product does. Not of
      tf32, whose products read other numbers.

    GELU is recognised by its values (ScalarFunction.h), so the order of ops does not matter. Its other form, by erf, is
    another function. All that cuBLASLt does not allow stays as it is: batches, f64, and activations of rows
    that are no multiple of 8 elements apart.

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
    Statistic<"numGelus", "gelus", "Products that GELU follows">,
    Statistic<"numGeluGradients", "gelu-gradients", "Products that are multiplied with GELU's gradient">,
    Statistic<"numSums", "sums", "Products that add up an operand">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def SplitChains : Pass<"split-chains", "::mlir::ModuleOp"> {
  let summary = "Makes kernels of their own of products that contract the rows of chains";
  let description = [{
    Needs kernels without places in memory. A kernel of kind "chain" computes, for some of its rows, products that
    contract their columns; a product that contracts the rows needs all of them. Such products become a
    chain of their own, for some of the columns, in which the rows are computed again. What
    reductions make of rows is a result of the first and an argument of the second. What a chain is given twice becomes
    one argument of it.

    ```mlir
    %q, %k = st.kernel "chain" (%a = %0, %b = %1, %c = %2) {
      %3 = stablehlo.dot_general %a, %b, ... // rows
      %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : ...
      %5 = stablehlo.broadcast_in_dim %4, dims = [0] : ...
      %6 = stablehlo.subtract %3, %5 : ...
      %7 = stablehlo.dot_general %6, %b, contracting_dims = [1] x [0] : ...
      %8 = stablehlo.dot_general %6, %c, contracting_dims = [0] x [0] : ...
      st.yield %7, %8 : ...
    }
    // after
    %q, %sum = st.kernel "chain" (%a = %0, %b = %1) { ... st.yield %7, %4 : ... }
    %k = st.kernel "chain" (%a = %0, %b = %1, %c = %2, %4 = %sum) { ... st.yield %8 : ... }
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Chains that became two kernels">];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def DeriveRowSums : Pass<"derive-row-sums", "::mlir::ModuleOp"> {
  let summary = "Takes sums of rows that gradients of attention need from what the forward pass made";
  let description = [{
    Needs kernels without places in memory, chains as `split-chains` leaves them. With o = p v for rows p, and do the gradient of o, the gradient
    of softmax needs for each row the sum over its columns j of p_j (do v^T)_j, which is the sum over columns
    d of do_d o_d (Dao, "FlashAttention-2", 2023, section 3.1). Where a chain adds up the former, and o is what the task reads of the forward pass,
    a kernel adds up the latter before it: the chain needs no pass over its tiles for it.

    That p is the same in both tasks up to what a row is divided by and to constants is proved by comparing what either is multiplied of, op
    by op down to what the program is given (`Origin.h`). The chain's factors may be rounded to 16 bits elsewhere
    than the forward pass rounds them. Left alone is what cuDNN computes in any case: 16 bits without masks of dropout.

    ```mlir
    %dq, %sum = st.kernel "chain" (%a = %do, %b = %v, ...) {
      %1 = stablehlo.dot_general %a, %b, ...
      %2 = stablehlo.multiply %1, %p ...
      %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [2] : ...
      ...
      st.yield %dq, %3 : ...
    }
    // after
    %sum = st.kernel "loop" (%a = %do, %b = %o) {
      %1 = stablehlo.multiply %a, %b : ...
      %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [2] : ...
      st.yield %2 : ...
    }
    %dq = st.kernel "chain" (%a = %do, %b = %v, ..., %3 = %sum) { ... }
    ```
  }];
  let statistics = [Statistic<"numDerived", "derived", "Sums that are taken from the forward pass">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def JoinChains : Pass<"join-chains", "::mlir::ModuleOp"> {
  let summary = "Makes one kernel of the two of attention's gradient";
  let description = [{
    Needs kernels without places in memory, chains as `derive-row-sums` and `hoist-row-values` leave them. Two chains, that of the gradient
    of queries and that of the gradients of keys and values, compute the same scores. Where neither has reductions and all products read
    16 bits, they become one, with five products in the place of seven: its blocks add the gradient of queries up in turn. Others
    stay two: those for which no tile has room in registers and shared memory, or whose first chain's result is used between them.

    ```mlir
    %dq = st.kernel "chain" (%q = %0, %k = %1, ...) {
      %s = stablehlo.dot_general %q, %k, ...
      ...
    %dk:2 = st.kernel "chain" (%q = %0, %k = %1, ...) {
      %s = stablehlo.dot_general %q, %k, ...
      ...
    // becomes
    %d:3 = st.kernel "chain" (%q = %0, %k = %1, ...) {
      %s = stablehlo.dot_general %q, %k, ...
      ...
    ```
  }];
  let statistics = [Statistic<"numJoined", "joined", "Gradients that are one kernel">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def HoistRowValues : Pass<"hoist-row-values", "::mlir::ModuleOp"> {
  let summary = "Computes what gradients of attention need of each row once, ahead of their kernels";
  let description = [{
    Needs kernels without places in memory, chains as `derive-row-sums` leaves them. In kernels of kind "chain" all of whose
    products read 16 bits, an element that is multiplied with several values of its row is multiplied with their product, once.

    A chain of products that contract the rows has their rows pass by, tile by tile: what it computes of a row alone, such
    as one over a sum, each thread would compute for each tile. Of the two chains of a gradient a kernel of kind "loop" computes
    such values before both. It takes over multiplications and divisions of other "loop" kernels that only it uses. The
    pass leaves a gradient that cuDNN may compute as it is.

    ```mlir
    %k = st.kernel "chain" (%a = %0, %b = %1, ..., %s = %sum) {
      ...
      %3 = stablehlo.multiply %2, %scale : ...
      %4 = stablehlo.divide %one, %s : ... // of rows
      %5 = stablehlo.broadcast_in_dim %4, dims = [0] : ...
      %6 = stablehlo.multiply %3, %5 : ...
    // after
    %r = st.kernel "loop" (%s = %sum) {
      %4 = stablehlo.divide %one, %s : ...
      %5 = stablehlo.multiply %4, %scale : ...
      st.yield %5 : ...
    }
    %k = st.kernel "chain" (%a = %0, %b = %1, ..., %r = %r) {
      ...
      %5 = stablehlo.broadcast_in_dim %r, dims = [0] : ...
      %6 = stablehlo.multiply %2, %5 : ...
    ```
  }];
  let statistics = [
    Statistic<"numRegrouped", "regrouped", "Products of elements that became products of rows">,
    Statistic<"numHoisted", "hoisted", "Values of rows that are computed once">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def FuseTransposes : Pass<"fuse-transposes", "::mlir::ModuleOp"> {
  let summary = "Has chains write products in the order of dimensions in which they are read";
  let description = [{
    Needs kernels without places in memory, chains as `split-chains` leaves them. Where all that reads a product of a kernel of kind "chain"
    is a kernel that transposes it, the chain yields the transposed one.

    ```mlir
    %o = st.kernel "chain" (%a = %0, %b = %1) -> tensor<2x4x8x16xbf16> { ... st.yield %3 : ... }
    %t = st.kernel "copy" (%a = %o) -> tensor<2x8x4x16xbf16> {
      %4 = stablehlo.transpose %a, dims = [0, 2, 1, 3] : ...
      st.yield %4 : ...
    }
    // after
    %t = st.kernel "chain" (%a = %0, %b = %1) -> tensor<2x8x4x16xbf16> {
      ...
      %4 = stablehlo.transpose %3, dims = [0, 2, 1, 3] : ...
      st.yield %4 : ...
    }
    ```
  }];
  let statistics = [Statistic<"numFused", "fused", "Transposes that chains do">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def SinkConversions : Pass<"sink-conversions", "::mlir::ModuleOp"> {
  let summary = "Has kernels read 16 bits where a kernel of its own would widen them before";
  let description = [{
    Needs kernels without places in memory. Where a product is rounded to 16 bits and then converted to f32, `split-products`
    leaves a kernel that does nothing else: it would write twice the bytes that it reads, for others to read. Kernels of
    kind "loop" and "reduce" that read its result convert it themselves; if no other op reads it, the kernel goes.

    ```mlir
    %w = st.kernel "loop" (%a = %0 : tensor<4x8xbf16>) -> tensor<4x8xf32> {
      %1 = stablehlo.convert %a : (tensor<4x8xbf16>) -> tensor<4x8xf32>
      st.yield %1 : tensor<4x8xf32>
    }
    %t = st.kernel "loop" (%a = %w : tensor<4x8xf32>) -> tensor<4x8xf32> {
      %1 = stablehlo.tanh %a : tensor<4x8xf32>
      st.yield %1 : tensor<4x8xf32>
    }
    // after
    %t = st.kernel "loop" (%a = %0 : tensor<4x8xbf16>) -> tensor<4x8xf32> {
      %1 = stablehlo.convert %a : (tensor<4x8xbf16>) -> tensor<4x8xf32>
      %2 = stablehlo.tanh %1 : tensor<4x8xf32>
      st.yield %2 : tensor<4x8xf32>
    }
    ```
  }];
  let statistics = [Statistic<"numSunk", "sunk", "Inputs that kernels convert themselves">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def SeparateMaxima : Pass<"separate-maxima", "::mlir::ModuleOp"> {
  let summary = "Sums of differences from a row's maximum do not wait for the maximum";
  let description = [{
    In kernels of kind "loop" and "reduce" whose rows are too long for registers: a sum of f32 whose terms are
    differences from the row's maximum, or numbers that do not depend on it, becomes the sum of the numbers less the
    maximum as often as it is subtracted. Both are added up in the pass over the row that looks for the maximum. Of one
    term, such as a cross-entropy's logit of the target, the bits are the same.

    ```mlir
    %y:2 = st.kernel "loop" (%x = %0 : tensor<4x9000xf32>, %is = %1 : tensor<4x9000xi1>) -> (tensor<4xf32>, tensor<4xf32>) {
      %m = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : ...
      %b = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4xf32>) -> tensor<4x9000xf32>
      %d = stablehlo.subtract %x, %b : tensor<4x9000xf32>
      %t = stablehlo.select %is, %d, %zeros : tensor<4x9000xi1>, tensor<4x9000xf32>
      %s = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [1] : ...
      st.yield %m, %s : tensor<4xf32>, tensor<4xf32>
    }
    // after, of %s
      %t = stablehlo.select %is, %x, %zeros : tensor<4x9000xi1>, tensor<4x9000xf32>
      %n = stablehlo.select %is, %ones, %zeros : tensor<4x9000xi1>, tensor<4x9000xf32>
      %u = stablehlo.reduce(%t init: %zero) applies stablehlo.add across dimensions = [1] : ...
      %c = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [1] : ...
      %s = ... // %c != 0 ? %u - %m * %c : %u
    ```
  }];
  let statistics = [Statistic<"numSeparated", "separated", "Sums that do not wait for a maximum any more">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def InvertDivisors : Pass<"invert-divisors", "::mlir::ModuleOp"> {
  let summary = "Divides once a row where a whole row is divided by one number";
  let description = [{
    In kernels of kind "loop" and "reduce": an f32 quotient whose divisor is the same along the innermost dimension becomes
    a product with the divisor's reciprocal, which a row has once. The quotient is at most 1.5 ulp off. A factor that is a
    power of two, almost always 1, keeps the reciprocal of very large and very small divisors a normal number.
    Chains divide as ElementaryFunctions.h says.

    ```mlir
    %y = st.kernel "loop" (%a = %0 : tensor<4x8xf32>, %s = %1 : tensor<4xf32>) -> tensor<4x8xf32> {
      %2 = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
      %3 = stablehlo.divide %a, %2 : tensor<4x8xf32>
      st.yield %3 : tensor<4x8xf32>
    }
    // after
    %y = st.kernel "loop" (%a = %0 : tensor<4x8xf32>, %s = %1 : tensor<4xf32>) -> tensor<4x8xf32> {
      %c = ... // 2^-64 if |s| >= 2^64, 2^64 if |s| <= 2^-64, else 1
      %2 = stablehlo.multiply %s, %c : tensor<4xf32>
      %3 = stablehlo.divide %one, %2 : tensor<4xf32>
      ...
      %6 = stablehlo.multiply %a, %4 : tensor<4x8xf32> // %4: %c, broadcast
      %7 = stablehlo.multiply %6, %5 : tensor<4x8xf32> // %5: %3, broadcast
      st.yield %7 : tensor<4x8xf32>
    }
    ```
  }];
  let statistics = [Statistic<"numInverted", "inverted", "Quotients that became products">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def SplitReductions : Pass<"split-reductions", "::mlir::ModuleOp"> {
  let summary = "Lets many blocks share a reduction to few results";
  let description = [{
    Needs kernels without places in memory. Of a kernel of kind "loop" or "reduce" a block makes some results by itself
    (`Geometry.h`), so that few results keep few multiprocessors at work. Where these are less than a GPU has, and
    each thread would reduce at least 16 vectors, the outermost of what is reduced becomes parts: a kernel reduces each
    part by itself, and what is left of the kernel reduces what the parts give. There are about as many parts as
    give each multiprocessor 2048 threads, but so few that a thread has eight steps, as far as the sizes have such divisors. The order of
    a sum is that of the parts: it depends on shapes and the number of multiprocessors alone.

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
    Option<"cores", "cores", "int64_t", "0", "multiprocessors; 0: st.cores of the module, without which nothing is split">,
    Option<"always", "always", "bool", "false", "splits each reduction that has two parts of two points, for tests">
  ];
  let statistics = [Statistic<"numSplit", "split", "Kernels whose reductions were split">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def JoinReductions : Pass<"join-reductions", "::mlir::ModuleOp"> {
  let summary = "Two reductions of what both read are one kernel";
  let description = [{
    Needs kernels without places in memory, after `split-reductions`. Joins two kernels of kind "reduce" that reduce the same
    dimensions of the same shape and share an input of that shape. The joined kernel is at the place of the first, so all
    inputs of the second must be computed by then. Example: the gradients of a norm's scale and shift both sum the incoming
    gradient, which is then read once.

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
  let summary = "Updates write what the next step would compute of a state element by element";
  let description = [{
    Needs scheduled programs of kernels without places in memory. The pass looks for a kernel of kind "loop" in a task that
    runs once a step, which computes each element of its results from one element of a state, for example a weight in 16 bits.
    It clones the body into the kernel that computes the state's new value in the last task, which then writes the copy
    beside the state. A buffer that nothing else writes keeps the copy until the next step. The original kernel stays, with
    the attribute `cuda.left_by_update`: it runs only if the state was not written by the last update, as in the first step
    or after a checkpoint was loaded. Copies are buffers, so checkpoints do not contain them. A state gets no copy if several
    ops write it, or if anything but a loop kernel, such as a collective, computes it.

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
  let statistics = [Statistic<"numConverted", "converted", "Kernels whose results the update leaves">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def LiftConstants : Pass<"lift-constants", "::mlir::ModuleOp"> {
  let summary = "Gives kernels that differ in numbers only these numbers as inputs";
  let description = [{
    Needs kernels without places in memory. Layers that draw random numbers count them on from another
    number each; with that number an input, `convert-kernels-to-gpu` makes one function for all of
    them. Kernels of kinds "loop", "reduce" and "chain" that are the same but for scalar constants take those in
    which they differ from constants of the task.

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
  let statistics = [Statistic<"numLifted", "lifted", "Constants of kernels that are alike">];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def GroupKernels : Pass<"group-kernels", "::mlir::ModuleOp"> {
  let summary = "Equal kernels of small results stand behind each other";
  let description = [{
    Needs tasks of kernels without places in memory. A kernel of kind "loop" or "reduce" whose results are at most
    16 KiB moves up behind the last equal one, if all that it reads is there by then, with reshapes of it: biases that are converted, the squares of
    each gradient. Their results then have memory of their own, and `merge-launches` makes one launch of them.

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
  let summary = "Launches that do the same to different buffers are one";
  let description = [{
    Needs functions that launch kernels, as `convert-kernels-to-gpu` leaves them. An optimizer updates hundreds of
    parameters, most of them of few shapes, and weights are converted one by one: launches of one kernel, each of
    which takes longer than its work. Those between two collectives, messages or loops become one, whose blocks are
    those of all: a kernel that finds its buffers by the number of its block. A launch moves up to
    the first one where nothing in between writes what it reads or writes, or reads what it writes. Threads of a block may
    meet, as all of them take the same buffers, and share memory. Kernels of tensor cores, and buffers that move with the micro-batch or the
    rank, stay. A merged kernel has at most 36 buffers, for their addresses take registers.

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
      %own = arith.remui %block, %c4          // where loop_0 had its block
    ```
  }];
  let statistics = [Statistic<"numMerged", "merged", "Launches that became part of another">];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::memref::MemRefDialect",
    "::mlir::scf::SCFDialect"
  ];
}

def GpuToHost : Pass<"gpu-to-host", "::mlir::ModuleOp"> {
  let summary = "Writes kernels as functions that run block after block and thread after thread";
  let description = [{
    Needs `gpu.func`s with a known block size and `gpu.launch_func`s of them. Each becomes a function with
    a loop over blocks. What stands between two barriers becomes a loop over threads, also inside of loops and
    branches that all threads of a block take alike; one that holds a barrier and on which threads may
    differ is an error. Values that live across are kept in arrays with an element a thread. A shuffle
    takes the number of the thread it names, warp by warp, and a product of matrices (`nvgpu.mma.sync`) those of its
    lanes. Shared memory is a buffer. Blocks take turns in the order in which they run; one that would wait sets the word
    `@st_missed_turns`. Launches become
    calls. A `cuda.product` becomes loops that do the work of cuBLASLt; its body is dropped. The host computes
    `cuda.approximate` to one ulp. `approximation-error` adds or subtracts a relative error, chosen by the bits of the operand:
    a test fails if a program does not tolerate the error of a GPU.

    The order of threads and blocks means nothing to a right kernel: with `descending` they run the other way
    around, and tests compare both.

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
    Option<"descending", "descending", "bool", "false", "the last thread and block first">,
    Option<"approximationError", "approximation-error", "double", "0",
           "how far off, relatively, what a GPU approximates is, for tests">
  ];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect", "::mlir::func::FuncDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"
  ];
}

def ConvertMathToIntrinsics : Pass<"convert-math-to-intrinsics"> {
  let summary = "Lowers the functions that a machine has instructions for";
  let description = [{
    `convert-gpu-to-nvvm` takes all of `math` to be calls of libdevice. Square roots, fused products, roundings and
    signs are instructions; with them lowered here first, kernels of f32 need no library. The host lowering takes
    the same way.

    ```mlir
    %0 = math.sqrt %x : f32
    // becomes
    %0 = llvm.call_intrinsic "llvm.sqrt"(%x) : (f32) -> f32
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ExpandTurns : Pass<"expand-turns", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Has the first thread of a block wait for its turn, and say whose is next, by atomic operations";
  let description = [{
    Of `cuda.take_number`, `cuda.await_turn` and `cuda.end_turn`. Fences order what threads of the block write ahead of a `gpu.barrier`
    before, and read behind one after.

    ```mlir
    cuda.await_turn %turns[%place], %turn : memref<9xi32>
    gpu.barrier
    // becomes
    scf.if %isFirst {
      scf.while : () -> () {
        %now = memref.atomic_rmw addi %zero, %turns[%place] : (i32, memref<9xi32>) -> i32
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
  let summary = "Has launches ask for shared memory that is more than a kernel's code may have";
  let description = [{
    Code has at most 48 KiB of shared memory. Of a kernel with more than that all becomes parts of the memory that a launch asks
    for, one behind the other.

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
  let summary = "Lowers products of a warp's matrices, and what brings these, to instructions of tensor cores";
  let description = [{
    Of `nvgpu.mma.sync` those of bf16 and f16 with sums in f32, 16 x 8 x 16: what kernels of chains have.
    Upstream's lowering knows no bf16. Of `nvgpu.ldmatrix` four matrices of 16-bit floats, of `nvgpu.device_async_copy`
    16 bytes without a token (waits are `nvvm.cp.async.wait.group`); indices have 32 bits, as `lower-kernels-to-nvvm` says
    them. Everything else is an error. Floats are rounded to 16 bits by the instruction that rounds two.

    ```mlir
    %0 = nvgpu.ldmatrix %m[%i] {numTiles = 4 : i32, transpose = false} : memref<64xbf16, 3> -> vector<4x2xbf16>
    // becomes
    %0 = nvvm.ldmatrix %p {num = 4, layout = row, ...} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32, i32, i32)>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::vector::VectorDialect"];
}

#endif // ST_BACKENDS_CUDA_CODEGEN_PASSES_TD
