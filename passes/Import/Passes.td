// Passes on programs that another tool printed.
#ifndef ST_PASSES_IMPORT_PASSES_TD
#define ST_PASSES_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandOps : Pass<"expand-ops", "::mlir::ModuleOp"> {
  let summary = "Writes composites and functions that later phases lack in terms of other ops";
  let description = [{
    A `stablehlo.composite` becomes a call of its decomposition, `chlo.square` a
    product, a convolution whose windows do not overlap (patches of an image, and the
    gradient of their kernel) a `dot_general` of the reshaped input, a `dot_general` of two
    float types one of the wider, a
    `dynamic_update_slice` at a constant place of one dimension a `pad` and a `select`, or a row of them
    that fills the dimension a `concatenate`.
  }];
  let statistics = [
    Statistic<"expanded", "expanded-ops", "Ops that were written in other ops">
  ];
  let dependentDialects = ["::mlir::chlo::ChloDialect", "::mlir::func::FuncDialect",
                           "::mlir::stablehlo::StableHLODialect"];
}

def ExpandComplex : Pass<"expand-complex", "::mlir::ModuleOp"> {
  let summary = "Computes with complex values as pairs of reals";
  let description = [{
    Needs calls inlined. Arguments and results of `@main` that are complex become tensors of reals with
    one more dimension, of size 2. What is linear in the parts is done for both; functions have formulas. A Fourier
    transform becomes products with matrices of roots of unity, `cholesky` and
    `triangular_solve` those of real matrices of twice the size. Control flow, sorts, and
    reductions and scatters that are no sums carry the parts side by side. An op without a
    meaning (`remainder`) stays as it is.

    ```mlir
    %0 = stablehlo.complex %a, %b : tensor<4xcomplex<f32>>
    %1 = stablehlo.negate %0 : tensor<4xcomplex<f32>>
    %2 = stablehlo.real %1 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    // becomes
    %2 = stablehlo.negate %a : tensor<4xf32>
    ```
  }];
  let statistics = [
    Statistic<"numExpanded", "expanded-ops", "Ops that were written for the parts">
  ];
  let dependentDialects = ["::mlir::chlo::ChloDialect", "::mlir::stablehlo::StableHLODialect"];
}

def InlineCalls : Pass<"inline-calls", "::mlir::ModuleOp"> {
  let summary = "Replaces calls by the bodies of the functions, in linear time";
  let description = [{
    Every call in a public function, and in what it calls, callees first; a private
    function that nothing names any more goes. Locations say both places. Functions
    have bodies of one block; recursion, and a program that grows past ten million
    ops, are refused. Calls of functions without a body stay.
  }];
  let statistics = [
    Statistic<"calls", "inlined-calls", "Calls that were inlined">
  ];
}

def Simplify : Pass<"simplify", "::mlir::ModuleOp"> {
  let summary = "Inlines, folds, merges and removes what a printed program has too much of";
  let description = [{
    Runs to a fixpoint, so that a second run changes nothing: calls of private
    functions inlined; canonicalisation of the dialects (constants folded up to a
    bound of elements, algebraic identities, transposes, reshapes and broadcasts
    merged); common subexpressions; `remove-dead-state`.

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
  let summary = "Drops donated state of @main that nothing but its own update reads";
  let description = [{
    Needs `@main` with calls inlined. State is live if a result that replaces no
    state depends on it, or other live state does. A function without any other
    result keeps all of its state. Arguments and results that go take their
    attributes with them; `tf.aliasing_output` of the others is renumbered. Where
    roles are there already, only optimizer state goes.
  }];
  let statistics = [
    Statistic<"removed", "removed-state", "Tensors of state that were removed">
  ];
}

def UnrollLoops : Pass<"unroll-loops", "::mlir::ModuleOp"> {
  let summary = "Replaces loops of few and known trips by copies of their bodies";
  let description = [{
    A `stablehlo.while` whose counter starts at a constant, changes by a constant and is
    held against a constant (what JAX makes of `scan` and `fori_loop`), inner loops first.
    Other loops stay.
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
  let summary = "Turns the shardings that a program was annotated with into shardings of St";
  let description = [{
    Of `sdy`: the mesh, `sdy.sharding` on arguments and results,
    `sdy.sharding_constraint`; and what stands for them in HLO, `mhlo.frontend_attributes`
    of the keys `xla.sdy.*` and calls of the same names. Where there is no `sdy.mesh`: `mhlo.sharding` strings and
    `@Sharding` calls, over the coarsest mesh in which all of them can be said. Leaves an
    `st.mesh` of one micro-batch, `st.sharding` and `st.constrain`.

    A computation that is written for one shard (`sdy.manual_computation`) becomes one on
    whole tensors: a value gets a leading dimension for each axis along which shards
    differ, split by it, and a collective along an axis is an op along that dimension
    (all_reduce a reduction, all_gather a reshape), which partitioning makes a collective
    again. Groups of devices have to lie along axes of the mesh, and all shards take the
    same branches.

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
    Needs `@main` with calls inlined. Donated arguments (`tf.aliasing_output`,
    `jax.buffer_donor`) are state, each with the result whose update reaches it.
    The loss is the one scalar float result that replaces no state. A parameter is
    state of floats that the loss depends on; other state is optimizer state, of the
    parameter whose update it takes part in. Of the other arguments a pair of ui32
    is the random key, other tensors are the batch, scalars the learning rate (a
    float) and the number of the step. What cannot be told is asked for.

    Names come from `jax.arg_info`, `jax.result_info` and the locations of arguments.

    A function without state is no training step: its arguments are a batch, its
    results metrics.

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
           "what the user says: argN=ROLE[:NAME] and resultN=ROLE[:NAME], with commas; "
           "argN-M stands for several">
  ];
}

def MarkBlocks : Pass<"mark-blocks", "::mlir::ModuleOp"> {
  let summary = "Marks the ops of the forward pass with the layer they belong to";
  let description = [{
    Needs `@main` with roles. An op of the forward pass that reads a parameter gets
    `st.block`: layer i is block i + 1; what comes before the layers is block 0,
    what comes after them the last block. The layers come from numbers in the names
    of parameters (`layer.3.w`, `layer_3.w`), else from numbers in the locations of
    the ops that read them, else from the longest repetition in the types of the
    parameters, in the order in which the forward pass reads them. Nothing is marked
    where there are fewer than two layers, or marks are there already.
  }];
  let statistics = [
    Statistic<"layers", "layers", "Layers that were found">
  ];
}

#endif // ST_PASSES_IMPORT_PASSES_TD
