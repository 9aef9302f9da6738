// From the local function to scheduled programs.

#ifndef ST_PASSES_PIPELINE_PASSES_TD
#define ST_PASSES_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitTasks : Pass<"split-tasks", "::mlir::ModuleOp"> {
  let summary = "Splits the local function into one program per device group, with tasks per micro-batch";
  let description = [{
    Needs the `@main` of `global-to-local`: per-device and per-micro-batch shapes, every op with its
    `st.stage`, only `st.transfer` between stages, and `st.accumulate` for reductions over `micro`.
    Leaves an `st.program` for each device group, in which every op is in the task of its phase:

    - Ops that do not vary along `micro` run once per step, in the prologue or, after an
      accumulation, in the update.
    - If ops that vary read an accumulation, the ops that vary and lead to it are statistics: they
      run first, over all micro-batches, and must not read parameters. Ops that depend only on such
      accumulations are totals: they run once per step, before their users.
    - Other ops that vary and lead to the loss are forward; the rest is backward. If the module's
      `st.schedule` separates weight gradients (`zb-h1`, `zb-h2`, `zb-v`), the ops that compute only
      gradients of weights are a task "weight": values unreduced over `micro` and their exclusive
      operands, up to the products that keep a micro-batch's rows.

    Stages with the same `st.devices` share a program; a transfer between them becomes an ordinary
    value. They have separate tasks per micro-batch, and a common prologue and update.

    With one micro-batch no op needs to run twice. Ops that read a batch count as varying. An
    accumulation disappears if varying ops read it; the others still separate backward from update.
    Independent ops run at their first use.

    Values that cross tasks go through an `st.buffer`, unless the reading task can recompute them in
    a few cheap ops from values that it has. Matrices that an op looks up in an argument, such as the
    weights of each block's expert, are looked up again.

    ```mlir
    func.func @main(%x: tensor<2x4xf32> {st.name = "x", st.role = "batch", ...},
                    %w: tensor<4x4xf32> {st.name = "w", st.role = "parameter", tf.aliasing_output = 1 : i32, ...})
        -> (tensor<f32> {st.role = "loss", ...}, tensor<4x4xf32> {st.role = "parameter", ...}) {
      ...
      %dw = stablehlo.dot_general %x, %dy, ... {st.stage = 0}
      %g = st.accumulate %dw sum over micro {st.stage = 0} : tensor<4x4xf32>
      %new = stablehlo.subtract %w, %g {st.stage = 0} : tensor<4x4xf32>
      return %loss, %new : tensor<f32>, tensor<4x4xf32>
    }
    // after
    st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
      st.state @w "w" role "parameter" ...
      st.input @x "x" role "batch" ... micro_dim 0
      st.buffer @accumulator0 "accumulator" slots 1 : tensor<4x4xf32>
      st.task @prologue prologue stage 0 (%mb) { ... st.write %zero to @accumulator0 ... }
      st.task @forward0 forward stage 0 (%mb) { ... }
      st.task @backward0 backward stage 0 (%mb) {
        ... st.write %dw to @accumulator0 accumulate sum : tensor<4x4xf32>
      }
      st.task @update update stage 0 (%mb) {
        %g = st.read @accumulator0 : tensor<4x4xf32>
        %w = st.read @w : tensor<4x4xf32>
        %new = stablehlo.subtract %w, %g : tensor<4x4xf32>
        st.write %new to @w : tensor<4x4xf32>
      }
    }
    ```
  }];
  let statistics = [
    Statistic<"numStashes", "stashes", "Values kept from one task to another">,
    Statistic<"numRecomputed", "recomputed", "Values recomputed in the task that reads them">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def SchedulePipeline : Pass<"schedule-pipeline", "::mlir::ModuleOp"> {
  let summary = "Orders the tasks of every program and checks that they neither deadlock nor overwrite stashes";
  let description = [{
    Needs the programs of `split-tasks`. Leaves an `st.schedule` in each, which starts with the
    prologue, the statistics of all micro-batches and their totals, and ends with the update. In
    between there are w forwards, then a backward and a forward in turn, for p groups (g counts them
    from 0), v stages per group and m micro-batches:

    | kind | w | v | weight gradients | bubble if F = B = W, micro-batches held |
    | --- | --- | --- | --- | --- |
    | `sequential` | 1 | 1 | with the backward | one group works at a time, 1 |
    | `gpipe` | m | 1 | with the backward | (p-1)(F+B+W), m |
    | `1f1b` | p-g | 1 | with the backward | (p-1)(F+B+W), p |
    | `interleaved` | 2(p-g-1)+(v-1)p+1 | any; p divides m | with the backward | (p-1)(F+B+W)/v, p(1+(p-1)/(pv)) |
    | `zb-h1` | p-g | 1 | g backwards later | (p-1)(F+B-W), p |
    | `zb-h2` | 2(p-g)-1 | 1 | 2g backwards later | 0 for m >= 2p-1, 2p-1 |
    | `zb-v` | see SchedulePattern.cpp | 2 | from the other end | 0 for m >= 2p-1, p |

    The bubble is the longest idle time of a group between its first and its last task. For an
    interleaved schedule, F, B and W are the times of the v virtual stages together. Sources: Huang
    et al. (GPipe), NeurIPS 2019; Narayanan et al. (PipeDream), SOSP 2019 and SC 2021; Qi et al.
    (zero bubble), ICLR 2024. Stages are assigned to the groups in turn; for `zb-v` up to the last
    group and back.

    Stash buffers get a slot for each micro-batch in flight.

    The pass then simulates the messages of all programs together. These are errors: a receive
    without a message, a message without a receiver, a message for the wrong micro-batch, and a
    stash slot that is written before its last user has run.

    ```mlir
    st.buffer @stash0 "stash" slots 1 : tensor<2x4xf32>
    // after, on the first of two stages with four micro-batches
    st.buffer @stash0 "stash" slots 2 : tensor<2x4xf32>
    st.schedule "1f1b" [@prologue 0, @forward0 0, @forward0 1, @backward0 0, @forward0 2,
                        @backward0 1, @forward0 3, @backward0 2, @backward0 3, @update 0]
    ```
  }];
  let options = [
    Option<"kind", "kind", "std::string", "\"\"",
           "the name of a schedule; by default the module's st.schedule">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

#endif // ST_PASSES_PIPELINE_PASSES_TD
