// Passes on kernels that both code generators need.

#ifndef ST_BACKENDS_COMMON_PASSES_TD
#define ST_BACKENDS_COMMON_PASSES_TD

include "mlir/Pass/PassBase.td"

def DeriveRowSums : Pass<"derive-row-sums", "::mlir::ModuleOp"> {
  let summary = "Derives the row sums in gradients of attention from results of the forward pass";
  let description = [{
    Needs kernels without addresses, and attention kernels as `split-attention` leaves them. With o = p v for rows
    p, and do the gradient of o, the gradient of softmax needs for each row the sum over its columns j of p_j (do
    v^T)_j. It equals the sum over columns d of do_d o_d (Dao, "FlashAttention-2", 2023, section 3.1). If an
    attention kernel computes the former and the task has o, a kernel before the attention kernel computes the latter.
    So the attention kernel needs no separate pass over its tiles for this sum. The task has o if it reads it from the
    forward pass, or if an earlier kernel of the task recomputes it.

    The pass proves that p is the same in both tasks, up to row divisors and constants: it compares the factors of both
    op by op, back to the inputs of the program (`ReachingDefinitions.h`). The attention kernel may round its factors to
    16 bits elsewhere than the forward pass. With `streamed-only` the pass changes only kernels with `st.streamed`.
    It leaves kernels with `st.keeps_row_sums` (`mark-attention-gradients`) as they are, without the attribute.

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
  let options = [
    Option<"streamedOnly", "streamed-only", "bool", "false", "Change only kernels with `st.streamed`">
  ];
  let statistics = [Statistic<"numDerived", "derived", "Sums derived from the forward pass">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

#endif // ST_BACKENDS_COMMON_PASSES_TD
