// Passes that rewrite fused kernels of attention and its gradients for GPUs.

#ifndef ST_BACKENDS_CUDA_CODEGEN_ATTENTIONPASSES_TD
#define ST_BACKENDS_CUDA_CODEGEN_ATTENTIONPASSES_TD

include "mlir/Pass/PassBase.td"

def MarkAttentionGradients : Pass<"mark-attention-gradients", "::mlir::ModuleOp"> {
  let summary = "Marks kernels of attention that cuDNN may compute";
  let description = [{
    Needs kernels without addresses, and attention kernels as `split-attention` leaves them. cuDNN's matcher recognises
    a gradient of 16 bits without dropout in its two kernels, before `derive-row-sums` changes the one of the queries.
    If `join-attention-gradients` can join both, they get the attribute `cuda.gradient_scale`, by which the matcher
    recognises the joined kernel. Otherwise the one of the queries gets `st.keeps_row_sums`, and `derive-row-sums` leaves
    it as it is. Gradients that the matcher does not recognise get neither.

    ```mlir
    %dq, %sum = st.kernel "attention" (...) { ... }
    %dk, %dv = st.kernel "attention" (..., %d = %sum) { ... }
    // after
    %dq, %sum = st.kernel "attention" (...) attributes {cuda.gradient_scale = 2.500000e-01 : f64} { ... }
    %dk, %dv = st.kernel "attention" (..., %d = %sum) attributes {cuda.gradient_scale = 2.500000e-01 : f64} { ... }
    ```
  }];
  let statistics = [Statistic<"numMarked", "marked", "Gradients marked">];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def JoinAttentionGradients : Pass<"join-attention-gradients", "::mlir::ModuleOp"> {
  let summary = "Joins the two kernels of attention's gradient";
  let description = [{
    Needs kernels without addresses, and attention kernels as `derive-row-sums` and `hoist-row-values` leave them.
    The attention kernel of the gradient of queries and that of the gradients of keys and values compute the same
    scores. If neither has reductions and all products read 16 bits, they become one attention kernel with five
    products instead of seven. Its blocks accumulate the gradient of queries in a fixed order. Two attention kernels stay if
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
    that only it uses. The pass does not change a gradient that cuDNN may compute.

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

#endif // ST_BACKENDS_CUDA_CODEGEN_ATTENTIONPASSES_TD
