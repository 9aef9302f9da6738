// What a step's memory holds, and where.

#ifndef ST_PASSES_MEMORY_PASSES_TD
#define ST_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def Rematerialise : Pass<"rematerialise", "::mlir::ModuleOp"> {
  let summary = "Lets backward tasks compute again what forward tasks would keep for them";
  let description = [{
    Needs the programs of `split-tasks` and the module's `st.recompute`, which the parallel
    file's `recompute` sets:

    | policy | of each stage | is kept |
    | --- | --- | --- |
    | `"none"` | nothing is computed again | all that the backward tasks read |
    | `"selective"` | the core of attention: what leads from a product of two activations to the next one, its masks and random bits | the two products' operands, and what is reduced to a sixteenth or less: maxima and sums of softmax |
    | `"full"` | each layer: a block (`st.block`) which activations enter and leave | what comes into it |
    | bytes | as little as fits | of a micro-batch, on a device, at most so many bytes |
    | `"fit"` | the same | at most the bytes of the program's `st.stash_budget` |

    Under each of them a module with `st.gather_again` (the file's `"sequence_parallel": "gather_again"`)
    keeps the part of an activation that a device has in the place of what it gathers of it, and gathers
    again: with sequence parallelism the inputs of a layer's two first products.

    What is kept in the place of the dropped values is a minimum cut, in bytes, between what must
    not be computed again and what the backward tasks read; values that follow from states and inputs
    alone cost nothing to keep. A budget is met block by block: each can compute again
    what is cheap (no products, collectives or random bits), the core of attention, both, or
    everything, and the block goes a step further that frees most bytes for its cost.

    With `reuse-products`, and any policy but `"none"`, a value that only elementwise ops of the backward task
    read, and that follows element by element from results of products (with their bias), is computed again
    from these: a target that has each product's result in memory writes a tensor less. Of softmax over a
    vocabulary logits are kept and each row's maximum, and no exponentials. Likewise what follows in f32 from a tensor of
    16 bits with as many elements is computed again from that: of a norm its input and its rows' statistics are kept.

    Copies stand before the first op that needs one, which computes one block at a time.
    Collectives are repeated like other ops: every rank of a group does the same. With
    weight gradients in tasks of their own the backward task computes again and hands on what the
    weight task reads. Loops are left alone, with a remark.

    The sources: Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016 (layers);
    Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", MLSys 2023
    (attention, and activations that are gathered again); the cut is that of He and Yu, "Transcending Runtime-Memory Tradeoffs in Checkpointing by
    being Fusion Aware", MLSys 2023.

    ```mlir
    st.task @forward0 forward stage 0 (%mb) {
      %x = st.recv from @group1 channel 0 : tensor<8x8xf32>
      %y = stablehlo.tanh %x {st.block = 1 : i64} : tensor<8x8xf32>
      st.write %y to @stash0[%mb] : tensor<8x8xf32>
      %z = stablehlo.exponential %x {st.block = 1 : i64} : tensor<8x8xf32>
      st.write %z to @stash1[%mb] : tensor<8x8xf32>
      ...
    }
    st.task @backward0 backward stage 0 (%mb) {
      ...
      %y = st.read @stash0[%mb] : tensor<8x8xf32>
      %z = st.read @stash1[%mb] : tensor<8x8xf32>
      %both = stablehlo.multiply %y, %z : tensor<8x8xf32>
      ...
    }
    // after
    st.task @forward0 forward stage 0 (%mb) {
      %x = st.recv from @group1 channel 0 : tensor<8x8xf32>
      st.write %x to @stash2[%mb] : tensor<8x8xf32>
      ...
    }
    st.task @backward0 backward stage 0 (%mb) {
      ...
      %x = st.read @stash2[%mb] : tensor<8x8xf32>
      %y = stablehlo.tanh %x {st.block = 1 : i64} : tensor<8x8xf32>
      %z = stablehlo.exponential %x {st.block = 1 : i64} : tensor<8x8xf32>
      %both = stablehlo.multiply %y, %z : tensor<8x8xf32>
      ...
    }
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"\"",
           "none, selective, full, fit or a number of bytes; by default what the module's st.recompute says">,
    Option<"otherwise", "otherwise", "std::string", "\"none\"",
           "the policy of a module that says nothing">,
    Option<"reuseProducts", "reuse-products", "bool", "false",
           "what follows element by element from results of products is not kept beside them">
  ];
  let statistics = [
    Statistic<"numDropped", "dropped", "Stashed values that are computed again instead">,
    Statistic<"numAdded", "added", "Values that are stashed in their place">,
    Statistic<"numRecomputed", "recomputed", "Ops that run again in a backward task">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def OverlapProducts : Pass<"overlap-products", "::mlir::ModuleOp"> {
  let summary = "Cuts products and the collectives beside them into parts that overlap";
  let description = [{
    Needs tasks of kernels without addresses, and the module's `st.speed`, which a target gives; does
    nothing without, but under `assume-speed`.

    A product whose partial sums are summed over devices at once leaves the device nothing to do
    meanwhile, and so does a gather for the product behind it. Both are cut, along the product's first
    dimension of more than one position, into 2, 4 or 8 parts: parts are summed while the next are
    computed, gathered while those before are multiplied. The results are joined; `plan-memory`
    makes the parts in their places, so that joining is no code. Wang et al., "Overlap Communication with
    Dependent Computation via Decomposition in Large Deep Learning Models", ASPLOS 2023, cut along the ring;
    along another dimension each part is a collective of its own, and no rank's place matters.

    It is done where the target's peaks say that it saves a tenth of the collective or more, and, of sums, where
    no other kernels near by could run meanwhile (`overlap-collectives` moves those). A gathered weight is
    left alone: it can be fetched ahead.

    ```mlir
    %y = st.kernel "matmul" (%a = %x : tensor<512x64xf32>, %b = %w : ...) -> tensor<512x256xf32> { ... }
    %sum = st.all_reduce %y sum over ["tensor"] of @mesh : tensor<512x256xf32>
    // becomes
    %y0 = st.kernel "matmul" (%a = %x : tensor<512x64xf32>, %b = %w : ...) -> tensor<256x256xf32> { // of rows 0 to 255 }
    %sum0 = st.all_reduce %y0 sum over ["tensor"] of @mesh : tensor<256x256xf32>
    %y1 = st.kernel "matmul" (%a = %x : tensor<512x64xf32>, %b = %w : ...) -> tensor<256x256xf32> { // of the others }
    %sum1 = st.all_reduce %y1 sum over ["tensor"] of @mesh : tensor<256x256xf32>
    %sum = st.kernel "copy" (%a = %sum0 : ..., %b = %sum1 : ...) -> tensor<512x256xf32> { concatenate }
    ```
  }];
  let options = [
    Option<"always", "always", "bool", "false",
           "cut in two whatever can be, worth it or not: for tests, whose tensors are small">,
    Option<"assumeSpeed", "assume-speed", "bool", "false",
           "weigh ops as on some device, links a fifth as fast as its memory, where there is no st.speed">
  ];
  let statistics = [
    Statistic<"numCut", "cut", "Collectives that were cut with their products">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def OverlapCollectives : Pass<"overlap-collectives", "::mlir::ModuleOp"> {
  let summary = "Orders the ops of tasks so that devices compute while the links work";
  let description = [{
    Needs tasks of kernels without addresses, and the module's `st.speed`, which a target gives; does
    nothing without, but under `assume-speed`.

    A collective starts where it stands and is done where something first uses what it makes: its code
    runs on the links until then, and `plan-memory` keeps its operands so long. So this pass
    only moves ops. It takes them one by one, with a clock for the device and one for its links:

    - what uses the links starts before its turn, by about as long as it takes: gathers of weights are
      fetched while the layer before computes;
    - while the next op would wait for the links, one that need not goes first: a weight's gradient
      while the input's is summed over the tensor ranks.

    How far ahead either may reach is tried; the fastest order is taken with which a task's values take
    no more memory than those of the program's largest task did, or `task-bytes` if the device has them.
    Messages between groups keep their places among all ops that use links, loops theirs among all ops, and
    storage is read and written as before. Times are those at the target's peaks; where the device and the
    links together need more than all of the memory's rate, the device is slower by what is lacking, so that
    a sum between ranks of one chip, which is bound by memory, is seldom worth a place beside a product.

    ```mlir
    %dx = st.kernel "matmul" (%a = %dy : ..., %b = %w : ...) -> ... { ... }
    %sum = st.all_reduce %dx sum over ["tensor"] of @mesh : tensor<64x64xf32>
    %dz = st.kernel "loop" (%a = %sum : ...) -> ... { ... }
    %dw = st.kernel "matmul" (%a = %x : ..., %b = %dy : ...) -> ... { ... }
    // becomes
    %dx = st.kernel "matmul" (%a = %dy : ..., %b = %w : ...) -> ... { ... }
    %sum = st.all_reduce %dx sum over ["tensor"] of @mesh : tensor<64x64xf32>
    %dw = st.kernel "matmul" (%a = %x : ..., %b = %dy : ...) -> ... { ... }
    %dz = st.kernel "loop" (%a = %sum : ...) -> ... { ... }
    ```
  }];
  let options = [
    Option<"taskBytes", "task-bytes", "int64_t", "-1",
           "what a task's values may take at a time where the device has it; by default an eighth of its memory">,
    Option<"assumeSpeed", "assume-speed", "bool", "false",
           "weigh ops as on some device, links a fifth as fast as its memory, where there is no st.speed">
  ];
  let statistics = [
    Statistic<"numMoved", "moved", "Ops that stand elsewhere than before">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def OffloadStash : Pass<"offload-stash", "::mlir::ModuleOp"> {
  let summary = "Lets activations wait for their backward task in the host's memory";
  let description = [{
    Needs scheduled programs whose tasks hold kernels, and the module's `st.offload`, which the
    parallel file's `offload` sets: so many bytes of stashes may stay on a device, over all
    micro-batches in flight. Without it nothing changes.

    A stash may go where a forward task writes it once and backward tasks alone read it, and where
    what it holds follows from a micro-batch: activations and masks, never parameters or what is
    made of them alone. Of these the pass marks (`space "host"`) those that wait longest, until the
    rest fits the budget. The wait is counted in tasks of the group's schedule between the write and
    the first use, on the average of the micro-batches, and within these two tasks in what ops cost; so of a
    stage the first layers go first, of several stages on one group those that come back late. What is
    read again within a quarter of a task stays.

    A write then copies a value to the host, a read makes a copy on the device, which takes memory
    from there to its last use. A read stands where one before it is first used, so far ahead that the
    copies that lie ready or are on their way take a quarter of the bytes that the task reads of the
    host, or are two; the first ones stay at the task's front. As much may be on its way to the host,
    which `plan-memory` sees to.

    ```mlir
    // st.offload = 0
    st.buffer @stash0 "stash" slots 2 : tensor<8x8xf32>
    ...
    st.task @backward0 backward stage 0 (%mb) {
      %0 = st.read @stash0[%mb] : tensor<8x8xf32>
      %1 = st.read @stash1[%mb] : tensor<8x8xf32>
      %2 = st.read @stash2[%mb] : tensor<8x8xf32>
      %3 = st.kernel "loop" (%a = %2 : tensor<8x8xf32>) ...
      %4 = st.kernel "loop" (%a = %3 : tensor<8x8xf32>, %b = %1 : tensor<8x8xf32>) ...
      %5 = st.kernel "loop" (%a = %4 : tensor<8x8xf32>, %b = %0 : tensor<8x8xf32>) ...
    }
    // after
    st.buffer @stash0 "stash" slots 2 space "host" : tensor<8x8xf32>
    ...
    st.task @backward0 backward stage 0 (%mb) {
      %2 = st.read @stash2[%mb] : tensor<8x8xf32>
      %1 = st.read @stash1[%mb] : tensor<8x8xf32>
      %3 = st.kernel "loop" (%a = %2 : tensor<8x8xf32>) ...
      %0 = st.read @stash0[%mb] : tensor<8x8xf32>
      %4 = st.kernel "loop" (%a = %3 : tensor<8x8xf32>, %b = %1 : tensor<8x8xf32>) ...
      %5 = st.kernel "loop" (%a = %4 : tensor<8x8xf32>, %b = %0 : tensor<8x8xf32>) ...
    }
    ```
  }];
  let statistics = [
    Statistic<"numOffloaded", "offloaded", "Stashes that lie in the host's memory">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

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

    A program that shares the arena with another one has the attributes `st.resident`, the offsets
    of that one's states by their names, and `st.resident_end`: its states of these names lie there,
    and everything else lies from that end on.

    Buffers with `space "host"` have places in a second arena, of the host's memory; what is read
    of them lies on the device as any value does.

    The program records `st.arena_bytes` and, by class, `st.memory`; the classes add up
    to the arena, but for `host`, the second arena (`st.host_arena_bytes`). A device whose ranks together need more than the target's
    `memory_bytes` is an error that says what to change, and so is one that needs more than its
    `host_bytes` of the host's memory.

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
