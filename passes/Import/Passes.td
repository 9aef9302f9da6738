// Passes on programs that another tool printed.
#ifndef ST_PASSES_IMPORT_PASSES_TD
#define ST_PASSES_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandOps : Pass<"expand-ops", "::mlir::ModuleOp"> {
  let summary = "Expands composites and ops that later phases do not support into other ops";
  let description = [{
    - A `stablehlo.composite` becomes the `chlo` function that it names, or a call of its
      decomposition.
    - `chlo.square` becomes a product.
    - A convolution whose windows do not overlap (patches of an image, and the gradient of their
      kernel) becomes a `dot_general` of the reshaped input.
    - The operands of a `dot_general` are rounded to the types of its algorithm, unless that splits
      them into several components or primitive operations. One of two float types becomes one of the wider type.
    - A `dynamic_update_slice` at a constant position of one dimension becomes a `pad` and a
      `select`. A sequence of them that fills the dimension becomes a `concatenate`.
    - A `scatter` or `gather` whose indices have no component, as JAX prints updates of whole
      arrays, gets the index 0 or becomes the result of its computation:

    ```mlir
    %none = stablehlo.constant dense<> : tensor<0xi32>
    %0 = "stablehlo.scatter"(%x, %none, %u) <{...}> ({ add }) : (tensor<4xf32>, tensor<0xi32>, tensor<4xf32>) -> tensor<4xf32>
    // becomes
    %0 = stablehlo.add %x, %u : tensor<4xf32>
    ```
  }];
  let statistics = [
    Statistic<"expanded", "expanded-ops", "Ops that were expanded into other ops">
  ];
  let dependentDialects = ["::mlir::chlo::ChloDialect", "::mlir::func::FuncDialect",
                           "::mlir::stablehlo::StableHLODialect"];
}

def ExpandComplex : Pass<"expand-complex", "::mlir::ModuleOp"> {
  let summary = "Computes with complex values as pairs of reals";
  let description = [{
    Needs calls inlined. Complex arguments and results of `@main` become tensors of reals with one
    more dimension, of size 2. Linear ops apply to both parts; functions have formulas. A Fourier
    transform becomes products with matrices of roots of unity. `cholesky` and `triangular_solve`
    become those of real matrices of twice the size. Control flow, sorts, and reductions and
    scatters that are not sums carry both parts together. An op that is undefined for complex values
    (`remainder`) stays.

    ```mlir
    %0 = stablehlo.complex %a, %b : tensor<4xcomplex<f32>>
    %1 = stablehlo.negate %0 : tensor<4xcomplex<f32>>
    %2 = stablehlo.real %1 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    // becomes
    %2 = stablehlo.negate %a : tensor<4xf32>
    ```
  }];
  let statistics = [
    Statistic<"numExpanded", "expanded-ops", "Ops that were expanded into real ones">
  ];
  let dependentDialects = ["::mlir::chlo::ChloDialect", "::mlir::stablehlo::StableHLODialect"];
}

def ExpandSmallTypes : Pass<"expand-small-types", "::mlir::ModuleOp"> {
  let summary = "Computes with 4-bit integers and 8-bit floats in wider types";
  let description = [{
    Needs calls inlined. Integers of 2 and 4 bits become 8-bit ones, and floats of at most 8 bits
    become `f32`. After an op that computes, integers keep the low bits with their sign, and floats
    are rounded to the small type. The result of a reduction is rounded once. Arguments and results
    of `@main` become the bits of their numbers, one byte (`ui8`) each.

    ```mlir
    func.func @main(%x: tensor<4xui4>) -> tensor<4xui4> {
      %0 = stablehlo.add %x, %x : tensor<4xui4>
      return %0 : tensor<4xui4>
    }
    // becomes
    func.func @main(%x: tensor<4xui8>) -> tensor<4xui8> {
      %0 = stablehlo.and %x, %c15 : tensor<4xui8>
      %1 = stablehlo.add %0, %0 : tensor<4xui8>
      %2 = stablehlo.and %1, %c15 : tensor<4xui8>
      %3 = stablehlo.and %2, %c15 : tensor<4xui8>
      return %3 : tensor<4xui8>
    }
    ```
  }];
  let statistics = [
    Statistic<"expanded", "expanded-ops", "Ops that were expanded to wider types">
  ];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

def InlineCalls : Pass<"inline-calls", "::mlir::ModuleOp"> {
  let summary = "Inlines calls in linear time";
  let description = [{
    Inlines every call in a public function and in its callees, callees first, and erases private
    functions without remaining uses. Locations name the call and the callee. Functions must have
    bodies of one block. Recursion, and a program that grows past ten million ops, are errors. Calls
    of functions without a body stay.
  }];
  let statistics = [
    Statistic<"calls", "inlined-calls", "Calls that were inlined">
  ];
}

def Simplify : Pass<"simplify", "::mlir::ModuleOp"> {
  let summary = "Inlines, folds, merges and removes redundant ops of a printed program";
  let description = [{
    Runs to a fixpoint, so a second run changes nothing. The steps are: inlining of private
    functions; replacement of results without elements by constants; canonicalisation of the
    dialects (constant folding up to a limit of elements, algebraic identities, merging of
    transposes, reshapes and broadcasts); elimination of common subexpressions;
    `remove-dead-state`.

    ```mlir
    func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = call @twice(%x) : (tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    // becomes
    func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.add %x, %x : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    ```
  }];
}

def RemoveDeadState : Pass<"remove-dead-state", "::mlir::ModuleOp"> {
  let summary = "Drops donated state of @main that only its own update reads";
  let description = [{
    Needs `@main` with calls inlined. State is live if a result that replaces no state depends on
    it, or other live state does. A function without any other result keeps all of its state. The
    pass removes arguments and results with their attributes, and renumbers `tf.aliasing_output` of
    the others. If roles are already assigned, it removes only optimizer state.
  }];
  let statistics = [
    Statistic<"removed", "removed-state", "Tensors of state that were removed">
  ];
}

def UnrollLoops : Pass<"unroll-loops", "::mlir::ModuleOp"> {
  let summary = "Unrolls loops with a small known trip count";
  let description = [{
    Unrolls a `stablehlo.while` whose counter starts at a constant, changes by a constant and is
    compared with a constant (JAX's form of `scan` and `fori_loop`), inner loops first. Other loops
    stay.
  }];
  let options = [
    Option<"maxTrips", "max-trips", "int64_t", "256", "most trips of a loop that is unrolled">,
    Option<"maxOps", "max-ops", "int64_t", "200000", "most ops that a loop may become">
  ];
  let statistics = [
    Statistic<"unrolled", "unrolled-loops", "Loops that were unrolled">
  ];
}

def ImportShardings : Pass<"import-shardings", "::mlir::ModuleOp"> {
  let summary = "Converts a program's sharding annotations to St's shardings";
  let description = [{
    From `sdy` it converts the mesh, `sdy.sharding` on arguments and results, `sdy.sharding_constraint`, and Shardy's
    explicit collectives, which define the sharding of their results. It also converts their forms in HLO:
    `mhlo.frontend_attributes` with the keys `xla.sdy.*`, and calls of the same names. Without an `sdy.mesh` it converts
    `mhlo.sharding` strings and `@Sharding` calls, over the coarsest mesh that can express all of them. Leaves an
    `st.mesh` of one micro-batch, `st.sharding` and `st.constrain`.

    A per-shard computation (`sdy.manual_computation`) becomes a computation on global tensors. A
    value gets a leading dimension for each axis along which shards differ, sharded by that axis. A
    collective along an axis becomes an op along that dimension (all_reduce a reduction, all_gather
    a reshape), which partitioning converts to a collective again. The computation's results are
    constrained to the shardings that it gives them. Where such a result is declared replicated along
    an axis on which its shards depend, it is a slice of the first shard with `st.copies`, the
    dimensions along which the program declares all shards equal: after partitioning each device
    uses its own shard. Device groups must follow axes of the mesh. A call with side effects is
    repeated for each shard. In a loop or a branch that only some shards take, each repetition is in
    an `if`.

    An argument or result of `@main` that is unreduced over axes gets a leading dimension for each of those, sharded by
    it: the terms of the sum. A per-shard computation takes and returns these terms. Elsewhere a value represents its
    sum. Without a mesh, or with one of one device, collectives of one device become their operands.

    JAX's `@ragged_all_to_all` becomes an exchange of the slices' places, a gather of all rows, and a
    choice of rows. `@annotate_device_placement` and `@LayoutConstraint` become their operands: the
    compiler chooses the memory and the layout of intermediate values.

    ```mlir
    sdy.mesh @m = <["data"=2, "model"=2]>
    %1 = sdy.sharding_constraint %0 <@m, [{"data"}, {"model"} ]> : tensor<8x32xf32>
    // becomes
    st.mesh @mesh <["data"=2, "model"=2], micro=1>
    %1 = st.constrain %0 to <@mesh, [{"data"}, {"model"} ]> : tensor<8x32xf32>
    ```
  }];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def InferRoles : Pass<"infer-roles", "::mlir::ModuleOp"> {
  let summary = "Gives arguments and results of @main their roles and names";
  let description = [{
    Needs `@main` with calls inlined. Donated arguments (`tf.aliasing_output`, `jax.buffer_donor`)
    are state, each with the result whose update reaches it. The loss is the one scalar float result
    that replaces no state. A parameter is float state that the loss depends on. Other state is
    optimizer state of the parameter whose update it takes part in. Of the other arguments, a pair
    of ui32 is the random key, other tensors are the batch, and scalars are the learning rate (a
    float) and the step number. If a role is ambiguous, the error requests it.

    Names come from `jax.arg_info`, `jax.result_info` and the locations of arguments.

    A function without state is not a training step: its arguments are a batch and its results are
    metrics.

    ```mlir
    func.func public @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32},
        %arg1: tensor<8x4xf32>)
        -> (tensor<4xf32> {jax.result_info = "result[0]['w']"}, tensor<f32>)
    // becomes
    func.func public @main(
        %arg0: tensor<4xf32> {st.name = "w", st.role = "parameter",
                              st.init = {kind = "ones"}, tf.aliasing_output = 0 : i32},
        %arg1: tensor<8x4xf32> {st.name = "arg1", st.role = "batch"})
        -> (tensor<4xf32> {st.name = "w", st.role = "parameter"},
            tensor<f32> {st.name = "loss", st.role = "loss"})
    ```
  }];
  let options = [
    Option<"roles", "roles", "std::string", "\"\"",
           "the user's roles: argN=ROLE[:NAME] and resultN=ROLE[:NAME], separated by commas; "
           "argN-M is a range">
  ];
}

def MarkBlocks : Pass<"mark-blocks", "::mlir::ModuleOp"> {
  let summary = "Marks the ops of the forward pass with the layer they belong to";
  let description = [{
    Needs `@main` with roles. An op of the forward pass that reads a parameter gets `st.block`: layer i is block i + 1,
    ops before the layers are block 0, and ops after them are the last block. The layers come from numbers in the names
    of parameters (`layer.3.w`, `layer_3.w`). Without such names they come from numbers in the locations of the ops that
    read the parameters. Otherwise they come from the longest repetition in the types of the parameters, in the order in
    which the forward pass reads them. Each layer must read results of the previous one. The pass marks nothing if there
    are fewer than two layers or if ops are already marked.
  }];
  let statistics = [
    Statistic<"layers", "layers", "Layers that were found">
  ];
}

#endif // ST_PASSES_IMPORT_PASSES_TD
