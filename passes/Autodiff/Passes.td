//===- Passes.td - From a loss to a training step ----------*- tablegen -*-===//

#ifndef ST_PASSES_AUTODIFF_PASSES_TD
#define ST_PASSES_AUTODIFF_PASSES_TD

include "mlir/Pass/PassBase.td"

def AddAdapters : Pass<"add-adapters", "::mlir::ModuleOp"> {
  let summary = "Adds low-rank adapters to weight matrices";
  let description = [{
    Hu et al., "LoRA: Low-Rank Adaptation of Large Language Models", arXiv 2106.09685. Needs a
    forward `@main` with roles. Each product of a matrix `<module>.weight` [out, in] becomes
    x W^T + alpha / rank * (x A^T) B^T with two new parameters after the matrix: A [rank, in], with
    normal values, and B [out, rank], with zeros, so the first step computes the same loss. Their
    names are those of PEFT's files, `base_model.model.<module>.lora_A.weight` and `.lora_B.weight`.
    A stored [in, out] matrix has adapters of the same shapes. All parameters still train;
    `freeze-parameters` changes that.

    With `dropout`, A multiplies x with that fraction of its elements dropped and the others scaled
    up, like PEFT's `lora_dropout`; W multiplies all of x. Every product has a separate mask. Its
    random bits depend on the seed, the step and the element's position in the global tensor, as for
    the dropouts of models. `@main` gets an argument `rng_key` of role `key` if it has none. An
    evaluation has no dropout.

    A target is the name of a module or its last components (`q_proj`, as in PEFT), a glob of whole
    names, or `all-linear`: the matrices of all layers. It is an error if a target has no matrix, or
    if ops other than products by one dimension use the matrix.

    ```mlir
    // add-adapters{targets=up rank=2 alpha=4}
    func.func @main(%x: tensor<8x16xf32> {...},
                    %w: tensor<32x16xf32> {st.name = "up.weight", st.role = "parameter"}) ... {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : ...
    // after
    func.func @main(%x: tensor<8x16xf32> {...}, %w: tensor<32x16xf32> {...},
        %a: tensor<2x16xf32> {st.name = "base_model.model.up.lora_A.weight", ...},
        %b: tensor<32x2xf32> {st.name = "base_model.model.up.lora_B.weight", ...}) ... {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [1] : ...
      %1 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [1] : ...
      %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [1] : ...
      %3 = stablehlo.multiply %2, %two : tensor<8x32xf32>
      %4 = stablehlo.add %0, %3 : tensor<8x32xf32>
    ```
  }];
  let options = [
    ListOption<"targets", "targets", "std::string", "Modules whose matrices get an adapter">,
    Option<"rank", "rank", "int64_t", "8", "Rank of the adapters, at least 1">,
    Option<"alpha", "alpha", "double", "0.0",
           "An adapter's product is scaled by alpha / rank; 0: the rank">,
    Option<"dropout", "dropout", "double", "0.0",
           "Share of the inputs of A that is dropped, at least 0 and below 1">
  ];
  let statistics = [
    Statistic<"addedAdapters", "added-adapters", "Matrices that got an adapter">
  ];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

def FreezeParameters : Pass<"freeze-parameters", "::mlir::ModuleOp"> {
  let summary = "Marks the parameters that are not trained";
  let description = [{
    Needs a forward `@main` with roles. Marks parameters with `st.frozen`: those whose names match
    a glob of `freeze`, and, if `train` is given, those that match none of its globs. In a glob `*`
    matches any characters. `differentiate` computes no gradient of a frozen parameter, and
    `add-optimizer` gives it neither state nor an update. It is an error if a glob matches no
    parameter, or if no parameter is left to train.

    ```mlir
    // freeze-parameters{freeze=embeddings.*}
    %table: tensor<100x8xf32> {st.name = "embeddings.weight", st.role = "parameter"}
    // after
    %table: tensor<100x8xf32> {st.frozen, st.name = "embeddings.weight", st.role = "parameter"}
    ```
  }];
  let options = [
    ListOption<"freeze", "freeze", "std::string", "Globs of the names of frozen parameters">,
    ListOption<"train", "train", "std::string", "Globs of the names of the only trained parameters">
  ];
  let statistics = [
    Statistic<"frozenParameters", "frozen-parameters", "Parameters that are not trained">
  ];
}

def Differentiate : Pass<"differentiate", "::mlir::ModuleOp"> {
  let summary = "Adds the gradient of the loss for every parameter";
  let description = [{
    Reverse-mode differentiation. Needs `@main` with calls inlined, one result of role "loss" (or a
    single scalar float result, which is then the loss) and arguments of role "parameter". Adds a
    result for each parameter that is not marked `st.frozen`, in the order of the arguments, with
    role "gradient" and the name of its parameter.

    ```mlir
    func.func @main(%w: tensor<4xf32> {st.name = "w", st.role = "parameter"})
        -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
      %0 = stablehlo.multiply %w, %w : tensor<4xf32>
      %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0]
             : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      return %1 : tensor<f32>
    }
    // after
    func.func @main(%w: tensor<4xf32> {st.name = "w", st.role = "parameter"})
        -> (tensor<f32> {st.name = "loss", st.role = "loss"},
            tensor<4xf32> {st.name = "w", st.role = "gradient"}) {
      ...
      %2 = stablehlo.add %w, %w : tensor<4xf32>
      return %1, %2 : tensor<f32>, tensor<4xf32>
    }
    ```

    No gradient flows through ops marked `st.stop_gradient`. A parameter that the loss does not
    depend on gets zeros. The location of a backward op is "transpose(...)" around the location of
    its forward op. It is an error if an op on the path from a parameter to the loss has no gradient
    rule.

    If several elements equal the maximum or minimum, `reduce` gives each an equal part of the
    cotangent and a window gives all of it to the first. `sort` and `top_k` send each element's
    cotangent to its original position. A loop with a known trip count saves the values that its
    backward loop needs in buffers with one row per trip; `if` and `case` return them. Complex
    values between real ones follow JAX's convention. docs/gradients.md lists the rules and the
    refused ops.
  }];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

def StopSoftmaxGradients : Pass<"stop-softmax-gradients", "::mlir::ModuleOp"> {
  let summary = "Stops gradients through the maxima that cancel in softmax";
  let description = [{
    Needs a forward `@main` with roles. Marks a maximum with `st.stop_gradient` if it cancels in all values that are
    computed from it: in softmax, log-softmax and log-sum-exp, also with masks. The mathematical gradient of such a
    maximum is zero. Without the mark `differentiate` emits its terms. They differ from zero only by rounding, and
    kernels of attention do not support them.

    ```mlir
    %max = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1]
             : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %0 = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.subtract %x, %0 : tensor<4x8xf32>
    %2 = stablehlo.exponential %1 : tensor<4x8xf32>
    %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1]
           : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
    %5 = stablehlo.divide %2, %4 : tensor<4x8xf32>
    // after
    %max = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1]
             {st.stop_gradient} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    ```
  }];
  let statistics = [
    Statistic<"stopped", "stopped", "Maxima through which no gradient flows">
  ];
}

def InlineCustomGradients : Pass<"inline-custom-gradients", "::mlir::ModuleOp"> {
  let summary = "Replaces st.custom_gradient by its forward computation";
  let description = [{
    For programs that are not differentiated; `differentiate` does this itself.

    ```mlir
    %y = st.custom_gradient(%x) forward {
    ^bb0(%a: tensor<4xf32>):
      %0 = stablehlo.abs %a : tensor<4xf32>
      stablehlo.return %0 : tensor<4xf32>
    } backward { ... } : (tensor<4xf32>) -> tensor<4xf32>
    // becomes
    %y = stablehlo.abs %x : tensor<4xf32>
    ```
  }];
}

def AddOptimizer : Pass<"add-optimizer", "::mlir::ModuleOp"> {
  let summary = "Turns gradients into updated parameters and optimizer state";
  let description = [{
    Needs the result of `differentiate`. Replaces the results of role "gradient" by updated
    parameters and optimizer state, except for parameters marked `st.frozen`. The old values are
    donated arguments (`tf.aliasing_output`). The optimizers have the semantics of PyTorch and optax:

    - `adamw`: decoupled weight decay, p -= lr * decay * p;
    - `adam`: weight decay as an L2 term of the gradient;
    - `sgd`: momentum, and weight decay as an L2 term;
    - `lamb`: optax.lamb;
    - `adafactor`: optax.adafactor without momentum; weight decay as in `adamw`.

    State is `<parameter>.exp_avg` and `<parameter>.exp_avg_sq`, or `<parameter>.momentum` if there
    is momentum. `st.of` names the parameter, and the initial values are zeros. Adafactor keeps
    `<parameter>.exp_avg_sq_row` and `.exp_avg_sq_col`, the means over the largest and the second
    largest dimension, if the latter is at least `min-factored-size`. Parameters marked
    `st.no_decay` do not decay, and `st.weight_decay` (f64) overrides the decay of a parameter. New
    scalar arguments are `learning_rate` (the host computes warm-up and decay) and, except for SGD,
    `step`, counted from 1.

    With `state-bits=8`, a moment of a parameter of `min-8bit-size` elements or more is `ui8` codes
    of the dynamic map and a second state, `.absmax`, the largest magnitude of each block of 256
    elements of a row (Dettmers et al., arXiv 2110.02861).

    With `clip-norm` the gradients are scaled to at most this global norm. The norm before scaling
    is a result `grad_norm` of role "metric". With `count-zeros` there is a metric `num_zeros`, the
    number of elements of the gradients that are zero. The results are the loss and other earlier results,
    `grad_norm`, `num_zeros`, parameters, state. The module's `st.optimizer` records the optimizer.
  }];
  let options = [
    Option<"kind", "kind", "::mlir::st::OptimizerKind", "::mlir::st::OptimizerKind::AdamW",
           "The optimizer", [{::llvm::cl::values(
             clEnumValN(::mlir::st::OptimizerKind::AdamW, "adamw", "Adam with decoupled weight decay"),
             clEnumValN(::mlir::st::OptimizerKind::Adam, "adam", "Adam"),
             clEnumValN(::mlir::st::OptimizerKind::Sgd, "sgd", "Gradient descent with momentum"),
             clEnumValN(::mlir::st::OptimizerKind::Lamb, "lamb", "Adam with the norm of each update scaled to that of the parameter"),
             clEnumValN(::mlir::st::OptimizerKind::Adafactor, "adafactor", "Factored second moments of rows and columns"))}]>,
    Option<"beta1", "beta1", "double", "0.9", "Adam, LAMB: decay of the first moment, in [0, 1)">,
    Option<"beta2", "beta2", "double", "0.999", "Adam, LAMB: decay of the second moment, in [0, 1)">,
    Option<"epsilon", "epsilon", "double", "1e-8",
           "Adam, LAMB: added to the root of the second moment; Adafactor: added to squares of gradients">,
    Option<"weightDecay", "weight-decay", "double", "0.01", "Weight decay, at least 0">,
    Option<"momentum", "momentum", "double", "0.9", "SGD: momentum, in [0, 1)">,
    Option<"clipNorm", "clip-norm", "double", "0.0", "Largest global norm of the gradients; 0: no limit">,
    Option<"countZeros", "count-zeros", "bool", "false", "Count the zeros of the gradients">,
    Option<"decayRate", "decay-rate", "double", "0.8",
           "Adafactor: the second moment of step t decays by 1 - t^-rate">,
    Option<"clippingThreshold", "clipping-threshold", "double", "1.0",
           "Adafactor: largest root mean square of an update; 0: no limit">,
    Option<"minFactoredSize", "min-factored-size", "int64_t", "128",
           "Adafactor: smallest second largest dimension of a factored parameter">,
    Option<"stateBits", "state-bits", "int64_t", "32", "Bits of an element of a moment, 32 or 8">,
    Option<"min8BitSize", "min-8bit-size", "int64_t", "4096",
           "Parameters of fewer elements keep moments of 32 bits">
  ];
  let statistics = [
    Statistic<"updatedParameters", "updated-parameters", "Parameters that are updated">
  ];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

#endif // ST_PASSES_AUTODIFF_PASSES_TD
