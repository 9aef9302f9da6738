// From the local function to scheduled programs.

#ifndef ST_PASSES_PIPELINE_PASSES_TD
#define ST_PASSES_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitTasks : Pass<"split-tasks", "::mlir::ModuleOp"> {
  let summary = "Cuts the local function into one program per device group, of tasks along the micro-batches";
  let description = [{
    Needs `@main` as `global-to-local` leaves it: per-device and per-micro-batch
    shapes, every op with its `st.stage`, only `st.transfer` between stages,
    `st.accumulate` where a reduction over `micro` stood. Leaves an `st.program`
    for each device group, in which every op stands in the task of its phase:

    - what does not vary along `micro` runs once a step, in the prologue or,
      behind an accumulation, in the update;
    - what varies and leads to an accumulation that something varying reads is
      statistics: it runs first, over all micro-batches. It must read no parameter. What follows
      from such accumulations alone is totals: once a step, before what reads it;
    - what else varies and leads to the loss is forward, the rest backward. Where the module's
      `st.schedule` orders them apart (`zb-h1`, `zb-h2`, `zb-v`), what makes nothing but gradients of
      weights is a task "weight": values unreduced over `micro` and what only they read, up to the
      products that keep a micro-batch's rows.

    Stages whose `st.devices` are the same share a program: a transfer between them is a value
    like any other. They have tasks of their own along the micro-batches, and one prologue and
    one update.

    With one micro-batch nothing needs to run twice: what reads a batch counts as
    varying, accumulations that varying ops read vanish, the others still part
    backward from update, and what is independent runs where it is first used.

    Values that cross tasks go through an `st.buffer`, unless a few cheap ops make
    them again from what the reading task has at hand.

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
    Statistic<"numRecomputed", "recomputed", "Values made again in the task that reads them">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def SchedulePipeline : Pass<"schedule-pipeline", "::mlir::ModuleOp"> {
  let summary = "Orders the tasks of every program and proves that they neither block nor overwrite";
  let description = [{
    Needs the programs of `split-tasks`. Leaves an `st.schedule` in each, which
    starts with the prologue, the statistics of all micro-batches and their totals and
    ends with the update. Between them, for p groups (g counts them from 0), v stages a group and
    m micro-batches, with w forwards first, then a backward and a forward in turn:

    | kind | w | v | weight gradients | bubble where F = B = W, held at once |
    | --- | --- | --- | --- | --- |
    | `sequential` | 1 | 1 | with the backward | one group works at a time, 1 |
    | `gpipe` | m | 1 | with it | (p-1)(F+B+W), m |
    | `1f1b` | p-g | 1 | with it | (p-1)(F+B+W), p |
    | `interleaved` | 2(p-g-1)+(v-1)p+1 | any; p divides m | with it | (p-1)(F+B+W)/v, p(1+(p-1)/(pv)) |
    | `zb-h1` | p-g | 1 | g backwards later | (p-1)(F+B-W), p |
    | `zb-h2` | 2(p-g)-1 | 1 | 2g backwards later | 0 for m >= 2p-1, 2p-1 |
    | `zb-v` | see SchedulePattern.cpp | 2 | from the other end | 0 for m >= 2p-1, p |

    The bubble is the longest idle time of a group between its first and its last task. Of an
    interleaved stage F, B and W count for the v virtual ones together. Sources: Huang et al. (GPipe),
    NeurIPS 2019; Narayanan et al. (PipeDream), SOSP 2019 and SC 2021; Qi et al. (zero bubble), ICLR 2024.
    Stages are dealt to the groups in turn; for `zb-v` to the last and back.

    Stash buffers get a slot for each micro-batch that is in flight at once.

    The programs are then run against each other with their messages only. A
    receive that nothing will ever answer, a message that nobody receives, one
    that meets the wrong micro-batch, and a stash slot that is written before its
    last reader has run are errors.

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
           "the name of a schedule; by default what the module's st.schedule says">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

#endif // ST_PASSES_PIPELINE_PASSES_TD
