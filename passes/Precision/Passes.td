// Which type each value is computed in.

#ifndef ST_PASSES_PRECISION_PASSES_TD
#define ST_PASSES_PRECISION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ComputeTypeOption : Option<"compute", "compute", "::mlir::st::ComputeType",
                                 "::mlir::st::ComputeType::BF16", "The 16-bit type", [{
  ::llvm::cl::values(clEnumValN(::mlir::st::ComputeType::BF16, "bf16", "8 bits of exponent"),
                     clEnumValN(::mlir::st::ComputeType::F16, "f16", "5 bits of exponent"))}]>;

def AssignPrecision : Pass<"assign-precision", "::mlir::ModuleOp"> {
  let summary = "Computes the forward pass in a 16-bit type where that is enough";
  let description = [{
    Needs a `@main` in f32 that computes a loss, before `differentiate`: a backward op then has the types of its
    forward op. Arguments and results keep theirs: parameters stay f32, and so does all that the optimizer does.
    `OpPrecision.cpp` says of each op what it is:

    - products take 16-bit operands and sum in f32; their result is rounded;
    - moves of data and elementwise arithmetic follow their operands: 16 bits where all have 16, else f32;
    - everything else is in f32: sums, means and extrema of rows, exponentials, logarithms, roots, error functions.

    What is made of parameters and constants alone has no type of its own: it is moved in f32, so that its gradient is
    summed in f32, and takes the type of what it meets. A constant that 16 bits cannot hold is f32. What is looked up in
    a parameter is rounded. A value has one type: what a product takes, through moves, is rounded once, and whoever else
    reads it reads the rounded one, which ends a stretch in f32. Arithmetic whose one reader is in f32 is so too: it is
    not rounded on the way.

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
    Statistic<"numRounded", "rounded-values", "Values of f32 that are rounded for all their readers">
  ];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

def ScaleLoss : Pass<"scale-loss", "::mlir::ModuleOp"> {
  let summary = "Multiplies the loss by a scale where it is differentiated";
  let description = [{
    Small gradients vanish in f16; those of a loss that is multiplied by a scale do not. Needs `@main` before
    `differentiate`. The loss itself stays as it is: an `st.custom_gradient` around it multiplies its cotangent.
    `add-optimizer` divides the gradients by the scale again, and leaves out a step whose gradients are not all finite.

    With `scale` 0 the scale is dynamic, as Megatron-LM's: a new argument `loss_scale.scale` of role "optimizer_state",
    `initial-scale` at first. `add-optimizer` halves it from the `hysteresis`-th step on that was left out since it last
    grew, down to `min-scale`, and doubles it after `growth-interval` other steps in a row. The module's `st.loss_scale` says what was chosen.

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
    Option<"scale", "scale", "double", "0.0", "A fixed scale; 0 is a dynamic one">,
    Option<"initialScale", "initial-scale", "double", "4294967296.0", "What a dynamic scale starts from">,
    Option<"growthInterval", "growth-interval", "int64_t", "1000",
           "Good steps in a row after which a dynamic scale is doubled">,
    Option<"hysteresis", "hysteresis", "int64_t", "2",
           "Steps left out since a dynamic scale last grew, from which on each halves it">,
    Option<"minScale", "min-scale", "double", "1.0", "What a dynamic scale does not fall below">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def WidenSums : Pass<"widen-sums", "::mlir::ModuleOp"> {
  let summary = "Adds up in f32 what differentiation adds up in 16 bits";
  let description = [{
    Needs what `differentiate` leaves of a program in 16 bits. A broadcast, a lookup or a product of the forward pass is
    a sum of the backward pass. Sums over dimensions, and scatters that add, are computed in f32 and rounded after;
    a product or a sum that is a gradient of a parameter (or an addend of it) is not rounded at all.

    ```mlir
    %0 = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
    %1 = stablehlo.convert %0 : (tensor<4x2xbf16>) -> tensor<4x2xf32>
    return %1 : tensor<4x2xf32>  // role "gradient"
    // becomes
    %1 = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xf32>
    ```
  }];
  let statistics = [
    Statistic<"numWidened", "widened-sums", "Sums that are formed in f32">
  ];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

def NarrowResiduals : Pass<"narrow-residuals", "::mlir::ModuleOp"> {
  let summary = "Keeps for the backward pass in 16 bits what functions of f32 values leave";
  let description = [{
    Needs what `differentiate` leaves. The backward pass reads values of the forward pass, which wait for it in memory.
    Those that exponentials, error functions and the like leave in f32 are rounded for it; the forward pass goes on with the
    unrounded ones. Arithmetic on a rounded value that the backward pass reads is done again for it. What has 16 bits needs
    nothing, and values of rows (a mean, a maximum, an inverse root) are few and stay f32. Which values are rounded does not depend on the layout.

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
    Statistic<"numNarrowed", "narrowed-residuals", "Values that the backward pass reads rounded">
  ];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

#endif // ST_PASSES_PRECISION_PASSES_TD
