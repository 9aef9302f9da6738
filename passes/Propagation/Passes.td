// Shardings propagate from seeds over the whole step.

#ifndef ST_PASSES_PROPAGATION_PASSES_TD
#define ST_PASSES_PROPAGATION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandBranches : Pass<"expand-branches", "::mlir::ModuleOp"> {
  let summary = "Computes all branches of conditionals and selects their results";
  let description = [{
    Every `stablehlo.case` and `if` becomes the ops of all its branches and a `select` for each
    result. Later passes shard them, split them into micro-batches and assign stages as for any
    other ops. A loop in a branch runs only if the branch is taken.

    ```mlir
    %0 = "stablehlo.if"(%p) ({
      %1 = stablehlo.tanh %x : tensor<4xf32>
      stablehlo.return %1 : tensor<4xf32>
    }, {
      stablehlo.return %x : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    // becomes
    %1 = stablehlo.tanh %x : tensor<4xf32>
    %0 = stablehlo.select %p, %1, %x : tensor<i1>, tensor<4xf32>
    ```
  }];
  let statistics = [
    Statistic<"expanded", "expanded-branches", "Conditionals that were expanded">
  ];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

def PropagateShardings : Pass<"propagate-shardings", "::mlir::ModuleOp"> {
  let summary = "Gives every value a sharding";
  let description = [{
    Needs an `st.mesh`, calls inlined, and seeds: `st.sharding` on arguments and results,
    and `st.constrain`. An argument without a seed is replicated. Leaves `st.sharding` on every op, argument and result. Shapes
    stay global. `insert-reshards` later reconciles adjacent ops with different shardings.

    ```mlir
    st.mesh @mesh <["tensor"=4], micro=2>
    func.func @main(%x: tensor<8x16xf32> {st.sharding = #st.sharding<@mesh, [{"micro"}, {} ]>},
                    %w: tensor<16x32xf32> {st.sharding = #st.sharding<@mesh, [{}, {"tensor"} ]>})
        -> tensor<32xf32> {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      %1 = stablehlo.tanh %0
      %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0]
      return %2
    }
    // after
      %0 = stablehlo.dot_general ... {st.sharding = #st.sharding<@mesh, [{"micro"}, {"tensor"} ]>}
      %1 = stablehlo.tanh %0 {st.sharding = #st.sharding<@mesh, [{"micro"}, {"tensor"} ]>}
      %2 = stablehlo.reduce ... {st.sharding = #st.sharding<@mesh, [{"tensor"} ], unreduced = sum ["micro"]>}
    ```

    If devices share work, the pass first reorders sums so that products are added before other
    addends, and their partial sums are reduced together. Then it takes four steps, all by the ops'
    factor rules:

    - `micro` first: a value varies along `micro` until an op reduces over it. A sum over it stays
      unreduced through linear ops, as long as all users of a value agree. An op that needs an
      unsharded dimension that varies is an error that names the op.
    - Constraints: spatial axes propagate from the seeds forward and backward to a fixpoint, first
      through ops that only pass elements on, then through the others. Updates of donated state have
      the state's sharding.
    - Resolution: in program order, each op takes the implementation of lowest total cost over all
      micro-batches. The cost includes resharding its operands from their shardings, and its results
      to the required shardings. Weights do not move, nor do rows of the batch between replicas.
      Partial sums are reduced at their uses, except that sums of partial sums are added first.
    - Without micro-batches, a function result without a stated sharding gets the sharding of
      Shardy's basic propagation, which depends only on factor rules. With micro-batches, it keeps
      the sharding in which it is computed.
    - Constants, counters and random bits, and values that depend only on them and on scalars, are
      computed in each sharding in which they are used.
  }];
  let statistics = [
    Statistic<"copiedValues", "copied-values",
              "Constants, counters and random bits computed in more than one sharding">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

#endif // ST_PASSES_PROPAGATION_PASSES_TD
