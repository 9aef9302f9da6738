// From kernels to addresses.

#ifndef ST_PASSES_MEMORY_PASSES_TD
#define ST_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def PlanMemory : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "Gives every value of every task an address in its device's arena";
  let description = [{
    Needs programs with a schedule (buffer slots are final) whose tasks hold
    kernels. Leaves an `at` address on all storage and `st.addresses`, one
    `#st.address` a result, on every op of a task that yields tensors.

    States, inputs, outputs, buffers and constants have places of their own. What
    else a task computes shares one area, since the tasks of a rank run one after
    the other: values that are never alive together may overlap, placed largest
    first into the smallest gap that fits.

    A value that is written to storage is made there where nothing reads the
    storage's old content afterwards. The kernel that makes it may read the old
    content itself if it does so element by element, which is how parameters and
    optimizer state are updated in place.

    The program records `st.arena_bytes` and, by class, `st.memory`; the classes add up
    to the arena. A device whose ranks together need more than the target's
    `memory_bytes` is an error that says what to change.

    ```mlir
    st.state @w "w" role "parameter" of "" global ... local tensor<4x4xf32>
    st.buffer @g "accumulator" slots 1 : tensor<4x4xf32>
    st.task @update update stage 0 (%mb) {
      %0 = st.read @w : tensor<4x4xf32>
      %1 = st.read @g : tensor<4x4xf32>
      %2 = st.kernel "loop" (%a = %0 : tensor<4x4xf32>, %b = %1 : tensor<4x4xf32>) -> tensor<4x4xf32> { ... }
      st.write %2 to @w : tensor<4x4xf32>
    }
    // after
    st.state @w "w" role "parameter" of "" global ... local tensor<4x4xf32> at <offset = 0>
    st.buffer @g "accumulator" slots 1 : tensor<4x4xf32> at <offset = 64>
    st.task @update update stage 0 (%mb) {
      %0 = st.read @w {st.addresses = [#st.address<offset = 0>]} : tensor<4x4xf32>
      %1 = st.read @g {st.addresses = [#st.address<offset = 64>]} : tensor<4x4xf32>
      %2 = st.kernel "loop" (...) -> tensor<4x4xf32> attributes {st.addresses = [#st.address<offset = 0>]} { ... }
      st.write %2 to @w : tensor<4x4xf32>
    }
    ```
  }];
  let statistics = [
    Statistic<"numInPlace", "in-place", "Values made where they are written to">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def VerifyMemoryPlan : Pass<"verify-memory-plan", "::mlir::ModuleOp"> {
  let summary = "Checks that no two values that are needed at once share memory";
  let description = [{
    Needs what `plan-memory` leaves and changes nothing. Follows each task op by
    op: an op must not put a result where anything lies that is still read later,
    nor where it reads itself unless it does so element by element; a write must
    not move a value over one that is still read; storage must not overlap, and
    nothing may lie outside the arena. It shares no code with `plan-memory` beyond
    the rule what an element-by-element kernel is.

    ```mlir
    %0 = st.recv from @group1 channel 0 {st.addresses = [#st.address<offset = 0>]} : tensor<8xf32>
    %1 = st.recv from @group1 channel 1 {st.addresses = [#st.address<offset = 16>]} : tensor<8xf32>
    // error: the result 0 at [16, 48) overwrites a value at [0, 32) that is still needed
    %2 = st.kernel "loop" (%a = %0 : tensor<8xf32>, %b = %1 : tensor<8xf32>) ...
    ```
  }];
  let dependentDialects = ["::mlir::st::StDialect"];
}

#endif // ST_PASSES_MEMORY_PASSES_TD
