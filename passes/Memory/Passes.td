// Recomputation, overlap, offload and the memory plan of a step.

#ifndef ST_PASSES_MEMORY_PASSES_TD
#define ST_PASSES_MEMORY_PASSES_TD

include "mlir/Pass/PassBase.td"

def Rematerialise : Pass<"rematerialise", "::mlir::ModuleOp"> {
  let summary = "Recomputes values in backward tasks instead of keeping them";
  let description = [{
    Needs the programs of `split-tasks` and the module's `st.recompute`, which the parallel
    file's `recompute` sets:

    | policy | recomputed in each stage | kept |
    | --- | --- | --- |
    | `"none"` | nothing | all values that the backward tasks read |
    | `"selective"` | the core of attention: the values between one product of two activations and the next, with masks and random bits | the operands of the two products, and values reduced to a sixteenth or less: maxima and sums of softmax |
    | `"full"` | each layer: a block (`st.block`) that activations enter and leave | the layer's inputs |
    | bytes | the least that fits | at most this number of bytes per micro-batch and device |
    | `"fit"` | the least that fits | at most the bytes of the program's `st.stash_budget` |

    Under each policy, a module with `st.gather_again` (the file's `"sequence_parallel":
    "gather_again"`) keeps a device's shard of an activation instead of the gathered tensor, and
    gathers it again: with sequence parallelism these are the inputs of a layer's two first
    products.

    The values that are kept instead of the dropped ones are a minimum cut, in bytes, between values
    that must not be recomputed and values that the backward tasks read. Values that depend only on
    states and inputs cost nothing to keep. Under a budget the pass decides block by block. Each
    block can recompute cheap values (no products, collectives or random bits), the core of
    attention, both, or everything. The block that frees most bytes per cost takes the next step.

    With `reuse-products`, and any policy but `"none"`, the pass also recomputes a value from
    results of products (with their bias) if it follows from them element by element and only
    elementwise ops of the backward task read it. A target that has each product's result in memory
    then writes one tensor less. For softmax over a vocabulary, logits and each row's maximum are
    kept, and no exponentials. Likewise an f32 value is recomputed from a 16-bit tensor with as many
    elements: for a norm, its input and its row statistics are kept.

    A recomputed layer needs the core of attention twice: first for the core's result, from which the
    rest of the layer follows, and later for its gradient. With `split-attention` the pass emits the
    core at both places. A target whose kernels of attention recompute the scores then keeps no
    scores in between.

    Recomputed ops of a block precede the first op that needs one of them, so one block is live at a
    time. Collectives are recomputed like other ops, because every rank of a group does the same. If
    weight gradients are in separate tasks, the backward task recomputes the values that the weight
    task reads and passes them on. The pass does not change loops, and emits a remark.

    The sources: Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016 (layers);
    Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", MLSys 2023
    (attention, and activations that are gathered again); the minimum cut is that of He and Yu,
    "Transcending Runtime-Memory Tradeoffs in Checkpointing by being Fusion Aware", MLSys 2023.

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
           "none, selective, full, fit or a number of bytes; the default is the module's st.recompute">,
    Option<"otherwise", "otherwise", "std::string", "\"none\"",
           "the policy of a module without st.recompute">,
    Option<"reuseProducts", "reuse-products", "bool", "false",
           "do not keep values that follow element by element from results of products">,
    Option<"splitAttention", "split-attention", "bool", "false",
           "recompute the core of attention once for its result and once for its gradient">
  ];
  let statistics = [
    Statistic<"numDropped", "dropped", "Stashed values that are recomputed instead">,
    Statistic<"numAdded", "added", "Values that are stashed instead">,
    Statistic<"numRecomputed", "recomputed", "Ops that run again in a backward task">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def OverlapProducts : Pass<"overlap-products", "::mlir::ModuleOp"> {
  let summary = "Splits products and adjacent collectives into parts that overlap";
  let description = [{
    Needs tasks of kernels without addresses, and the module's `st.speed`, which a target sets.
    Without `st.speed` it does nothing, unless `assume-speed` is set.

    If the partial sums of a product are summed over devices at once, the device is idle during the
    sum; so it is during a gather for the next product. The pass splits both, along the product's
    first dimension of more than one element, into 2, 4 or 8 parts. A part is summed while the next
    one is computed, or gathered while the previous one is multiplied. The results are joined;
    `plan-memory` places the parts directly in the joined tensor, so the join generates no code.
    Wang et al., "Overlap Communication with Dependent Computation via Decomposition in Large Deep
    Learning Models", ASPLOS 2023, split along the ring. Along another dimension each part is an
    ordinary collective, independent of the rank.

    The pass splits if the target's peaks predict savings of at least a tenth of the collective. For
    a sum it also requires that no other kernels nearby could run meanwhile (`overlap-collectives`
    moves those). It does not split the gather of a weight, which can be fetched ahead.

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
           "for tests with small tensors: split everything possible in two, regardless of cost">,
    Option<"assumeSpeed", "assume-speed", "bool", "false",
           "without st.speed: estimate costs for a device whose links are a fifth as fast as its memory">
  ];
  let statistics = [
    Statistic<"numSplit", "split", "Collectives that were split with their products">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def OverlapCollectives : Pass<"overlap-collectives", "::mlir::ModuleOp"> {
  let summary = "Orders the ops of tasks so that devices compute while the links work";
  let description = [{
    Needs tasks of kernels without addresses, and the module's `st.speed`, which a target sets.
    Without `st.speed` it does nothing, unless `assume-speed` is set.

    A collective starts at its position and ends before the first user of its result. It occupies
    the links until then, and `plan-memory` keeps its operands. So this pass only moves ops. It is a
    list scheduler with a clock for the device and one for its links:

    - An op that uses the links starts earlier than its position by about its own duration: weights are
      gathered while the previous layer computes.
    - While the next op would wait for the links, an op that need not wait goes first: a weight's
      gradient runs while the input's gradient is summed over the tensor ranks.

    The pass tries several look-ahead distances. It takes the fastest order whose values in a task
    need no more memory than those of the program's largest task did before, or than `task-bytes` if
    the device has that memory. Messages between groups keep their order relative to all ops that
    use links, loops keep theirs relative to all ops, and the order of storage accesses does not
    change. Times use the target's peaks. If the device and the links together exceed the memory's
    rate, the device slows down by the difference. A sum between ranks of one chip is bound by
    memory, so overlapping it with a product seldom pays.

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
           "bytes of a task's live values, if the device has them; by default an eighth of its memory">,
    Option<"assumeSpeed", "assume-speed", "bool", "false",
           "without st.speed: estimate costs for a device whose links are a fifth as fast as its memory">
  ];
  let statistics = [
    Statistic<"numMoved", "moved", "Ops that were moved">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def OffloadStash : Pass<"offload-stash", "::mlir::ModuleOp"> {
  let summary = "Moves activations to the host's memory until their backward task";
  let description = [{
    Needs scheduled programs whose tasks hold kernels, and the module's `st.offload`, which the
    parallel file's `offload` sets: the bytes of stashes that may stay on a device, over all
    micro-batches in flight. Without it nothing changes.

    A stash may move if a forward task writes it once, only backward tasks read it, and its value
    depends on a micro-batch: activations and masks, but never parameters or values computed from
    parameters alone. Of these the pass marks (`space "host"`) those that wait longest, until the
    rest fits the budget. The wait is the number of tasks in the group's schedule between the write
    and the first use, averaged over the micro-batches, refined by the costs of ops within these two
    tasks. So the first layers of a stage move first, and with several stages on one group those
    that are read late. A stash that is read again within a quarter of a task stays.

    A write then copies a value to the host. A read copies it to the device, where it takes memory until its last use.
    The pass places a read before the first use of an earlier read. It places it so far ahead that two copies are ready
    or in flight, or copies of a quarter of the bytes that the task reads from the host. The first reads stay at the
    start of the task. `plan-memory` allows as many bytes in flight to the host.

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
    Statistic<"numOffloaded", "offloaded", "Stashes in the host's memory">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def PlanMemory : Pass<"plan-memory", "::mlir::ModuleOp"> {
  let summary = "Gives every value of every task an address in its device's arena";
  let description = [{
    Needs programs with a schedule (buffer slots are final) whose tasks hold
    kernels. Leaves an `at` address on all storage and `st.addresses`, one
    `#st.address` a result, on every op of a task that yields tensors.

    States, inputs, outputs, buffers and constants have separate addresses. All other values of a
    task share one area, because the tasks of a rank run one after the other. Values with disjoint
    lifetimes may overlap. The pass places the largest value first, into the smallest gap that fits.

    A value that is written to storage is computed in place if nothing reads the storage's old
    content afterwards. The kernel that computes it may read the old content itself, if it does so
    element by element. Parameters and optimizer state are updated in place in this way.

    A program that shares the arena with another one has the attributes `st.resident`, the offsets
    of the other program's states by name, and `st.resident_end`. Its states with these names get
    these offsets, and all other values have addresses from that end on.

    Buffers with `space "host"` have addresses in a second arena, in the host's memory; a value that
    is read from them has an address on the device like any other value.

    The program records `st.arena_bytes` and, by class, `st.memory`. The classes add up to the
    arena, except `host`, the second arena (`st.host_arena_bytes`). If the ranks of a device
    together need more than the target's `memory_bytes`, the error says what to change. It is also
    an error if they need more than `host_bytes` of the host's memory.

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
    Statistic<"numInPlace", "in-place", "Values computed in place in storage">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def VerifyMemoryPlan : Pass<"verify-memory-plan", "::mlir::ModuleOp"> {
  let summary = "Checks that no two live values share memory";
  let description = [{
    Needs the result of `plan-memory` and changes nothing. It checks each task op by op. An op must
    not write a result over a value that is read later, or over its own operand unless it reads that
    element by element. A write must not move a value over one that is read later. Storage must not
    overlap, and all addresses must be inside the arena. The pass shares no code with `plan-memory`
    except the definition of an element-by-element kernel.

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
