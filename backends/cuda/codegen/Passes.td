// Passes that lower planned programs to kernels for NVIDIA GPUs or the host.

#ifndef ST_BACKENDS_CUDA_CODEGEN_PASSES_TD
#define ST_BACKENDS_CUDA_CODEGEN_PASSES_TD

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
    - Loops that multiply a product with GELU's gradient and are its only users move into the product. GELU's
      argument must exist in the product's type. Other stashed values that the loops read, such as a tanh,
      must be functions of it. Stashes without users are removed together with their computation. The result
      and the argument must not share an address (`st.apart`).
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

def SplitAttention : Pass<"split-attention", "::mlir::ModuleOp"> {
  let summary = "Moves products that contract the rows of attention kernels into separate kernels";
  let description = [{
    Needs kernels without addresses. A block of a kernel of kind "attention" computes some of its rows, and products
    that contract their columns. A product that contracts the rows needs all of them. Such products become a
    separate attention kernel, whose blocks take some of the columns and recompute the rows. Reductions of rows are
    results of the first attention kernel and arguments of the second. Inputs of an attention kernel that are the
    same value are merged.

    ```mlir
    %q, %k = st.kernel "attention" (%a = %0, %b = %1, %c = %2) {
      %3 = stablehlo.dot_general %a, %b, ... // rows
      %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : ...
      %5 = stablehlo.broadcast_in_dim %4, dims = [0] : ...
      %6 = stablehlo.subtract %3, %5 : ...
      %7 = stablehlo.dot_general %6, %b, contracting_dims = [1] x [0] : ...
      %8 = stablehlo.dot_general %6, %c, contracting_dims = [0] x [0] : ...
      st.yield %7, %8 : ...
    }
    // after
    %q, %sum = st.kernel "attention" (%a = %0, %b = %1) { ... st.yield %7, %4 : ... }
    %k = st.kernel "attention" (%a = %0, %b = %1, %c = %2, %4 = %sum) { ... st.yield %8 : ... }
    ```
  }];
  let statistics = [Statistic<"numSplit", "split", "Attention kernels that were split into two">];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def DeriveRowSums : Pass<"derive-row-sums", "::mlir::ModuleOp"> {
  let summary = "Derives the row sums in gradients of attention from results of the forward pass";
  let description = [{
    Needs kernels without addresses, and attention kernels as `split-attention` leaves them. With o = p v for rows
    p, and do the gradient of o, the gradient of softmax needs for each row the sum over its columns j of p_j (do
    v^T)_j. It equals the sum over columns d of do_d o_d (Dao, "FlashAttention-2", 2023, section 3.1). If an
    attention kernel computes the former and the task reads o from the forward pass, a kernel before the attention
    kernel computes the latter. The attention kernel then needs no pass over its tiles for it.

    The pass proves that p is the same in both tasks, up to row divisors and constants: it compares the factors of
    both op by op, back to the inputs of the program (`ReachingDefinitions.h`). The attention kernel may round its
    factors to 16 bits elsewhere than the forward pass. The pass leaves gradients alone that cuDNN may compute in
    any case: 16 bits without dropout masks.

    ```mlir
    %dq, %sum = st.kernel "attention" (%a = %do, %b = %v, ...) {
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
    %dq = st.kernel "attention" (%a = %do, %b = %v, ..., %3 = %sum) { ... }
    ```
  }];
  let statistics = [Statistic<"numDerived", "derived", "Sums derived from the forward pass">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def JoinAttentionGradients : Pass<"join-attention-gradients", "::mlir::ModuleOp"> {
  let summary = "Joins the two kernels of attention's gradient";
  let description = [{
    Needs kernels without addresses, and attention kernels as `derive-row-sums` and `hoist-row-values` leave them.
    The attention kernel of the gradient of queries and that of the gradients of keys and values compute the same
    scores. If neither has reductions and all products read 16 bits, they become one attention kernel with five
    products instead of seven. Its blocks accumulate the gradient of queries in turn. Two attention kernels stay if
    no tile fits registers and shared memory, or if a result of the first one is used between them.

    ```mlir
    %dq = st.kernel "attention" (%q = %0, %k = %1, ...) {
      %s = stablehlo.dot_general %q, %k, ...
      ...
    %dk:2 = st.kernel "attention" (%q = %0, %k = %1, ...) {
      %s = stablehlo.dot_general %q, %k, ...
      ...
    // becomes
    %d:3 = st.kernel "attention" (%q = %0, %k = %1, ...) {
      %s = stablehlo.dot_general %q, %k, ...
      ...
    ```
  }];
  let statistics = [Statistic<"numJoined", "joined", "Gradients joined into one kernel">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def HoistRowValues : Pass<"hoist-row-values", "::mlir::ModuleOp"> {
  let summary = "Computes per-row values in gradients of attention once, before their kernels";
  let description = [{
    Needs kernels without addresses, and attention kernels as `derive-row-sums` leaves them. If all products of a
    kernel of kind "attention" read 16 bits, an element that is multiplied with several per-row values is multiplied
    once with their product. A module of `exact-sums` keeps its order of multiplications.

    An attention kernel that contracts its rows iterates over them in tiles, so each thread would recompute per-row
    values, such as the reciprocal of a sum, for each tile. For the two attention kernels of a gradient, a kernel of
    kind "loop" computes such values before both. It absorbs multiplications and divisions of other "loop" kernels
    that only it uses. The pass leaves a gradient that cuDNN may compute as it is.

    ```mlir
    %k = st.kernel "attention" (%a = %0, %b = %1, ..., %s = %sum) {
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
    %k = st.kernel "attention" (%a = %0, %b = %1, ..., %r = %r) {
      ...
      %5 = stablehlo.broadcast_in_dim %r, dims = [0] : ...
      %6 = stablehlo.multiply %2, %5 : ...
    ```
  }];
  let statistics = [
    Statistic<"numRegrouped", "regrouped", "Per-element products that became per-row products">,
    Statistic<"numHoisted", "hoisted", "Per-row values that are computed once">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def FuseTransposes : Pass<"fuse-transposes", "::mlir::ModuleOp"> {
  let summary = "Makes attention kernels write products in the order of dimensions in which they are read";
  let description = [{
    Needs kernels without addresses, and attention kernels as `split-attention` leaves them. If the only user of a
    product in a kernel of kind "attention" is a kernel that transposes it, the attention kernel yields the
    transposed product.

    ```mlir
    %o = st.kernel "attention" (%a = %0, %b = %1) -> tensor<2x4x8x16xbf16> { ... st.yield %3 : ... }
    %t = st.kernel "copy" (%a = %o) -> tensor<2x8x4x16xbf16> {
      %4 = stablehlo.transpose %a, dims = [0, 2, 1, 3] : ...
      st.yield %4 : ...
    }
    // after
    %t = st.kernel "attention" (%a = %0, %b = %1) -> tensor<2x8x4x16xbf16> {
      ...
      %4 = stablehlo.transpose %3, dims = [0, 2, 1, 3] : ...
      st.yield %4 : ...
    }
    ```
  }];
  let statistics = [Statistic<"numFused", "fused", "Transposes that moved into attention kernels">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def SinkConversions : Pass<"sink-conversions", "::mlir::ModuleOp"> {
  let summary = "Moves conversions from 16 bits into the kernels that read the result";
  let description = [{
    Needs kernels without addresses. If a product is rounded to 16 bits and then converted to f32,
    `split-products` leaves a kernel that only converts, and writes twice the bytes that it reads. Kernels of
    kind "loop" and "reduce" that read its result convert it themselves. The kernel is removed if it has no
    other users.

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
  let summary = "Computes sums of differences from a row's maximum in the maximum's pass";
  let description = [{
    Applies to kernels of kind "loop" and "reduce" whose rows do not fit registers. Rewrites f32 sums whose
    terms are differences from the row's maximum or numbers independent of it. Such a sum becomes the sum of
    the numbers minus the maximum times the number of differences. Both sums are computed in the pass that
    finds the maximum. A single term, such as the target's logit in a cross-entropy, keeps its bits.

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
  let statistics = [Statistic<"numSeparated", "separated", "Sums computed in a maximum's pass">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def InvertDivisors : Pass<"invert-divisors", "::mlir::ModuleOp"> {
  let summary = "Replaces the division of a row by one number with a reciprocal per row";
  let description = [{
    Applies to kernels of kind "loop" and "reduce". An f32 quotient whose divisor is constant along the
    innermost dimension becomes a product with the divisor's reciprocal, which is computed once per row. The
    error is at most 1.5 ulp. A power of two, almost always 1, scales very large and very small divisors so
    that the reciprocal is a normal number. Attention kernels divide as ElementaryFunctions.h says. A
    module of `exact-sums` keeps its quotients.

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
    the same dimensions of the same shape and share an input of that shape. The joined kernel is at the place
    of the first, so all inputs of the second must be computed by then. Example: the gradients of a norm's
    scale and shift both sum the incoming gradient, which is then read once.

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

def GpuToHost : Pass<"gpu-to-host", "::mlir::ModuleOp"> {
  let summary = "Converts kernels to functions that run blocks and threads sequentially";
  let description = [{
    Needs `gpu.func`s with a known block size and `gpu.launch_func`s of them. Each becomes a function with a
    loop over blocks. The code between two barriers becomes a loop over threads, also inside loops and
    branches that contain a barrier. All threads of a block must take these alike; otherwise it is an error.
    Values that live across barriers are kept in arrays with one element per thread. A shuffle reads the
    element of the thread that it names, warp by warp, and a product of matrices (`nvgpu.mma.sync`) the
    elements of its lanes. Shared memory is a buffer. Blocks take turns in the order in which they run; a
    block that would wait sets the word `@st_missed_turns`. Launches become calls. A `cuda.product` becomes
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

def ExpandTurns : Pass<"expand-turns", "::mlir::gpu::GPUModuleOp"> {
  let summary = "Implements turns of blocks by atomic operations of each block's first thread";
  let description = [{
    Lowers `cuda.take_number`, `cuda.await_turn` and `cuda.end_turn`. Fences order the block's writes before a
    preceding `gpu.barrier` and its reads after a following one.

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

#endif // ST_BACKENDS_CUDA_CODEGEN_PASSES_TD
