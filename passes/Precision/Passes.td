// The type in which each value is computed.

#ifndef ST_PASSES_PRECISION_PASSES_TD
#define ST_PASSES_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ComputeTypeOption : Option<"compute", "compute", "::mlir::st::ComputeType",
                                 "::mlir::st::ComputeType::BF16", "The 16-bit type", [{
  ::llvm::cl::values(clEnumValN(::mlir::st::ComputeType::BF16, "bf16", "8 bits of exponent"),
                     clEnumValN(::mlir::st::ComputeType::F16, "f16", "5 bits of exponent"))}]>;

def AssignPrecision : Pass<"assign-precision", "::mlir::ModuleOp"> {
  let summary = "Computes the forward pass in a 16-bit type where that suffices";
  let description = [{
    Needs a `@main` in f32 that computes a loss, before `differentiate`: a backward op then has the
    types of its forward op. Arguments and results keep their types: parameters and the optimizer
    stay f32. Only frozen matrices (`st.frozen`) have 16 bits: nothing updates them. `OpPrecision.cpp`
    has the class of each op:

    - Products take 16-bit operands and accumulate in f32; their result is rounded.
    - Data movement and elementwise arithmetic follow their operands: 16 bits if all operands have
      16, else f32.
    - All other ops are f32: sums, means and extrema of rows, exponentials, logarithms, roots, error
      functions.

    A value that depends only on parameters and constants is moved in f32, so its gradient is summed
    in f32. It takes the type of the value that it is combined with. A constant that 16 bits cannot
    hold is f32. Rows looked up in a parameter are rounded. A value has one type: an operand of a
    product is rounded once, before any data movement, and its other users read the rounded value,
    which ends a sequence of f32 ops. Arithmetic whose only user is in f32 is in f32 too, without
    rounding in between.

    ```mlir
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %1 = stablehlo.exponential %0 : tensor<2x4xf32>
    // becomes
    %0 = stablehlo.convert %x : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    %1 = stablehlo.convert %w : (tensor<3x4xf32>) -> tensor<3x4xbf16>
    %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<2x3xbf16>, tensor<3x4xbf16>) -> tensor<2x4xbf16>
    %3 = stablehlo.convert %2 : (tensor<2x4xbf16>) -> tensor<2x4xf32>
    %4 = stablehlo.exponential %3 : tensor<2x4xf32>
    ```
  }];
  let options = [ComputeTypeOption];
  let statistics = [
    Statistic<"numNarrow", "narrow-ops", "Ops that became 16-bit ones">,
    Statistic<"numRounded", "rounded-values", "f32 values that are rounded for all their users">
  ];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

def ScaleLoss : Pass<"scale-loss", "::mlir::ModuleOp"> {
  let summary = "Scales the loss for differentiation";
  let description = [{
    Small gradients underflow in f16. The gradients of a scaled loss do not. Needs `@main` before
    `differentiate`. The loss itself does not change: an `st.custom_gradient` around it multiplies
    its cotangent. `add-optimizer` divides the gradients by the scale again, and skips a step whose
    gradients are not all finite.

    With `scale` 0 the scale is dynamic, as in Megatron-LM: a new argument `loss_scale.scale` of
    role "optimizer_state" that starts at `initial-scale`. `add-optimizer` halves it at each skipped
    step from the `hysteresis`-th one since it last grew, down to `min-scale`, and doubles it after
    `growth-interval` consecutive good steps. The module's `st.loss_scale` records these parameters.

    ```mlir
    return %loss : tensor<f32>
    // becomes
    %0 = st.custom_gradient(%loss, %scale) forward {
    ^bb0(%a: tensor<f32>, %s: tensor<f32>):
      stablehlo.return %a, %s : tensor<f32>, tensor<f32>
    } backward {
    ^bb0(%s: tensor<f32>, %ct: tensor<f32>):
      %1 = stablehlo.multiply %ct, %s : tensor<f32>
      %2 = stablehlo.constant dense<0.0> : tensor<f32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<f32>
    } : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
    ```
  }];
  let options = [
    Option<"scale", "scale", "double", "0.0", "A fixed scale; 0: a dynamic scale">,
    Option<"initialScale", "initial-scale", "double", "4294967296.0", "Initial value of a dynamic scale">,
    Option<"growthInterval", "growth-interval", "int64_t", "1000",
           "Consecutive good steps after which a dynamic scale doubles">,
    Option<"hysteresis", "hysteresis", "int64_t", "2",
           "A dynamic scale halves at the n-th skipped step since it last grew, and at each later one">,
    Option<"minScale", "min-scale", "double", "1.0", "Lower bound of a dynamic scale">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def WidenSums : Pass<"widen-sums", "::mlir::ModuleOp"> {
  let summary = "Computes the sums of differentiation in f32 instead of 16 bits";
  let description = [{
    Needs the result of `differentiate` for a program in 16 bits. A broadcast, a lookup or a product of the forward pass
    becomes a sum in the backward pass. Sums over dimensions, and scatters that add, are computed in f32 and rounded
    afterwards. A product or a sum that is a gradient of a parameter (or an addend of it) is not rounded.

    ```mlir
    %0 = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
    %1 = stablehlo.convert %0 : (tensor<4x2xbf16>) -> tensor<4x2xf32>
    return %1 : tensor<4x2xf32>  // role "gradient"
    // becomes
    %1 = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xf32>
    ```
  }];
  let statistics = [
    Statistic<"numWidened", "widened-sums", "Sums that are computed in f32">
  ];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

def NarrowResiduals : Pass<"narrow-residuals", "::mlir::ModuleOp"> {
  let summary = "Rounds the results of f32 functions to 16 bits for the backward pass";
  let description = [{
    Needs the result of `differentiate`. The backward pass reads values of the forward pass, which
    stay in memory until then. f32 results of exponentials, error functions and similar ops are
    rounded for the backward pass; the forward pass continues with the unrounded values. The
    backward pass repeats arithmetic on a rounded value that it reads. 16-bit values need no change.
    Row values (a mean, a maximum, an inverse root) are few and stay f32. The choice of rounded
    values does not depend on the layout.

    ```mlir
    %0 = stablehlo.exponential %x : tensor<8x4xf32>
    %1 = stablehlo.multiply %ct, %0 : tensor<8x4xf32>   // backward
    // becomes
    %0 = stablehlo.exponential %x : tensor<8x4xf32>
    %1 = stablehlo.convert %0 : (tensor<8x4xf32>) -> tensor<8x4xbf16>
    %2 = stablehlo.convert %1 : (tensor<8x4xbf16>) -> tensor<8x4xf32>
    %3 = stablehlo.multiply %ct, %2 : tensor<8x4xf32>
    ```
  }];
  let options = [ComputeTypeOption];
  let statistics = [
    Statistic<"numNarrowed", "narrowed-residuals", "Values that are rounded for the backward pass">
  ];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

def ExactSums : Pass<"exact-sums", "::mlir::ModuleOp"> {
  let summary = "Computes sums in a form that does not depend on their order";
  let description = [{
    Needs the whole step, before shardings are propagated. Marks the module with `st.exact_sums`.
    Afterwards sums of floats are sums of integers, which are exact. So any layout of shards,
    replicas, micro-batches and stages gives the same bits, whatever order its kernels and
    collectives add in. All other ops compute each element from the same elements in every layout.

    - A product (dot_general) scales each row of its operands by a power of two and rounds it to 23
      bits or more of its largest magnitude, in slices of at most 9 bits. Products of slices are
      sums of integers below 2^24: bf16 operands and f32 accumulators compute them exactly (the
      Ozaki scheme; K. Ozaki et al., Numerical Algorithms 59, 2012). A product of n addends needs
      s (s + 1) / 2 products of slices: 6 up to n = 1024, 10 up to 16384, 15 up to 65536.
    - A sum over dimensions is scaled and rounded likewise, to 40 bits of the largest magnitude of
      its addends (fewer for more than 2^22 addends), and is a sum of integers of 64 bits.
    - The scale of a row depends on all its elements, and those of later micro-batches are not known
      yet. So a product or a sum over samples is computed separately for each sample (or group of
      samples). These results are then added in fixed point: numbers below 2^50, in multiples of
      2^-64 or finer, in two integers of 64 bits (three for more than 32 samples). Larger numbers
      become infinite. A scatter that adds
      computes in this form too.

    Sums with an infinite number or NaN are infinite or NaN. Convolutions, sums over windows,
    `batch_norm_training`, sums of f64 and complex numbers, and explicit collectives that add floats
    are refused.

    ```mlir
    %1 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
    // becomes; %scale and %unit are powers of two, computed from the largest magnitudes
    %2 = stablehlo.multiply %x, %scale : tensor<8x4xf32>
    %3 = stablehlo.round_nearest_even %2 : tensor<8x4xf32>
    %4 = stablehlo.convert %3 : (tensor<8x4xf32>) -> tensor<8x4xi64>
    %5 = stablehlo.reduce(%4 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<8x4xi64>, tensor<i64>) -> tensor<4xi64>
    %6 = stablehlo.convert %5 : (tensor<4xi64>) -> tensor<4xf32>
    %7 = stablehlo.multiply %6, %unit : tensor<4xf32>
    ```
  }];
  let statistics = [
    Statistic<"numProducts", "exact-products", "Products that were replaced">,
    Statistic<"numSums", "exact-sums", "Sums and scatters that were replaced">
  ];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

#endif // ST_PASSES_PRECISION_PASSES_TD
