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
    for each stage, in which every op stands in the task of its phase:

    - what does not vary along `micro` runs once a step, in the prologue or,
      behind an accumulation, in the update;
    - what varies and leads to an accumulation that something varying reads is
      statistics: it runs first, over all micro-batches. It must read no parameter;
    - what else varies and leads to the loss is forward, the rest backward.

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
    starts with the prologue and the statistics of all micro-batches and ends
    with the update. Between them, for p stages and m micro-batches:

    - `sequential`: forward and backward of one micro-batch, then of the next;
    - `gpipe`: all forwards, then all backwards;
    - `1f1b`: min(m, p - stage - 1) forwards, then one forward and one backward in
      turn, so that at most min(m, p - stage) micro-batches are in flight.

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
           "sequential, gpipe or 1f1b; by default what the module's st.schedule says">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

#endif // ST_PASSES_PIPELINE_PASSES_TD
