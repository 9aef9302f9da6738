// Shardings spread from seeds over the whole step.

#ifndef ST_PASSES_PROPAGATION_PASSES_TD
#define ST_PASSES_PROPAGATION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ExpandBranches : Pass<"expand-branches", "::mlir::ModuleOp"> {
  let summary = "Computes all branches and chooses among their results";
  let description = [{
    Every `stablehlo.case` and `if` becomes the ops of all its branches and a `select` for each
    result, so that they are sharded, cut into micro-batches and staged like any others. A loop
    in a branch runs only if the branch is taken.

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
  let summary = "Gives every value the sharding in which its op computes it";
  let description = [{
    Needs an `st.mesh`, calls inlined, and seeds: `st.sharding` on arguments (none is
    replicated) and results, and `st.constrain`. Leaves `st.sharding` on every op,
    argument and result. Shapes stay global, and where neighbours disagree it is
    `insert-reshards` that reconciles them.

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

    Where devices share work, products are first added up before the other summands of
    their sums, so that partial sums are reduced together. Then four steps, all by the
    ops' factor rules:

    - `micro` first: a value that varies along it does so until an op reduces over
      it, and a sum over it stays open through linear ops, as far as all users of a
      value agree. An op that would need a varying dimension whole is an error that
      names the op.
    - Constraints: spatial axes spread from the seeds forward and backward to a fixpoint,
      through ops that only pass elements on before any others. Updates of donated
      state are pinned to the state's sharding.
    - Resolution: in program order, each op takes the implementation of least total cost over
      all micro-batches: resharding its operands from the shardings they have, and its
      results to the shardings they should have. Weights do not move, nor do rows of the batch between
      replicas. Partial sums are reduced where they are used, except
      that sums of partial sums are formed first.
    - Constants, counters and random bits, and what is computed from them and from
      scalars alone, are computed in the sharding in which they are used, once for
      each.
  }];
  let statistics = [
    Statistic<"copiedValues", "copied-values",
              "Constants, counters and random bits computed in more than one sharding">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

#endif // ST_PASSES_PROPAGATION_PASSES_TD
