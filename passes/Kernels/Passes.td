// From tensor ops to kernels.

#ifndef ST_PASSES_KERNELS_PASSES_TD
#define ST_PASSES_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FormLoops : Pass<"form-loops", "::mlir::ModuleOp"> {
  let summary = "Rewrites sequential tensor ops as loops";
  let description = [{
    Runs on tasks and functions, before loops are lowered. `cholesky` and `triangular_solve` become
    a `while` that computes a row in each trip, by products with the previous rows. A `scatter`
    whose computation no transfer supports becomes a gather, its computation and a scatter that
    replaces, if no two updates have the same index (`unique_indices`). Otherwise it becomes a
    `while` that applies one update after the other.

    ```mlir
    %0 = stablehlo.cholesky %a, lower = true : tensor<8x8xf32>
    // becomes
    %0:2 = stablehlo.while(%i = %zero, %factor = %zeros) : tensor<i32>, tensor<1x8x8xf32>
    // ...
    ```
  }];
  let statistics = [
    Statistic<"numFormed", "formed-loops", "Ops that were rewritten as loops or as unordered ops">
  ];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

def LowerLoops : Pass<"lower-loops", "::mlir::ModuleOp"> {
  let summary = "Turns the loops of tasks into st.loop";
  let description = [{
    A `stablehlo.while` of a task becomes an `st.loop` whose body is like a task's. Values that
    trips change are in buffers that the body reads and writes; other values are captured. A loop
    with a linear counter that is compared with a constant gets a trip count. Any other loop gets
    the predicate of its condition, computed once before the loop and at the end of each trip.
  }];
  let statistics = [
    Statistic<"numLoops", "loops", "Loops that were lowered">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def LowerTensorOps : Pass<"lower-tensor-ops", "::mlir::ModuleOp"> {
  let summary = "Expands tensor ops without a kernel into ops that have one";
  let description = [{
    Runs on tasks and functions:

    - A convolution becomes one product of the slices of its window, or one product per result if
      there are fewer results than positions of the window.
    - `reduce_window` becomes a combination of slices in spans of powers of two, and
      `select_and_scatter` a selection among slices.
    - `sort` and `top_k` become a bitonic network.
    - A reduction whose body is not one instruction becomes a combination of halves, or of
      neighbours if the body depends on the order of its operands; one along dimensions of size 1
      that include the last one becomes a reshape.
    - A slice at a computed offset becomes a gather or a scatter.
    - A product of integers or f64 becomes an elementwise product and a sum. If its right operand
      follows element by element from another product (the probabilities of attention) and its left
      one does not, the operands are exchanged. Two transposes become one, and one that only moves
      dimensions of size 1 a reshape.
    - `rng_bit_generator` becomes arithmetic on counters, a batch normalization its statistics and
      arithmetic, `map` its computation on tensors. `optimization_barrier` disappears.
    - Elementwise functions become other functions; those that lose digits (the gamma function and
      its relatives) run in f64.

    Other ops stay.

    ```mlir
    %0 = "stablehlo.optimization_barrier"(%x) : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.tan %0 : tensor<4xf32>
    // becomes
    %0 = stablehlo.sine %x : tensor<4xf32>
    %1 = stablehlo.cosine %x : tensor<4xf32>
    %2 = stablehlo.divide %0, %1 : tensor<4xf32>
    ```
  }];
  let statistics = [
    Statistic<"numLowered", "lowered-ops", "Ops that were expanded into others">
  ];
  let dependentDialects = ["::mlir::chlo::ChloDialect", "::mlir::stablehlo::StableHLODialect"];
}

def FormKernels : Pass<"form-kernels", "::mlir::ModuleOp"> {
  let summary = "Groups the tensor ops of every task into st.kernel regions";
  let description = [{
    Needs programs whose tasks hold tensor ops. Leaves at task level only reads, writes, sends,
    receives, collectives, `st.axis_index`, reshapes, constants that are not splats, and
    `st.kernel`s of the kinds that docs/architecture.md lists.

    Fusion is greedy in program order. Every kernel has a position in the order of the task. An
    op joins the last kernel that computes one of its operands, if all its other operands
    precede that kernel, so no cycle can arise. Loops with the same later loop as user then move
    down into it if no op in between reads their results. Products that contract their rows may
    read them: they move down as well. Constants, iota, broadcasts, views and cheap scalar
    arithmetic are cloned into each kernel that uses them. Some reductions do not fit a loop,
    because they are not along trailing dimensions or because their rows exceed the target's
    `scratch_bytes`. Such a reduction includes the elementwise ops before it, if that saves a
    tensor.

    Products with the same left operand and similar right operands become one kernel, which fetches
    the left operand once, if each is too small for the `st.cores` of the module, the cores that
    share the work of a kernel. An elementwise loop joins an adjacent product if `scratch_bytes`
    hold a tile of all its live values; so a product may have several results.

    A fused attention-like kernel ("attention") consists of a loop, the products whose results only
    the loop uses, and the products that contract the loop's rows. It is formed if a core holds
    enough rows. Products that contract over the rows join if their operands fit `st.shared_bytes`,
    a memory that all cores share. In `streamed` form (GPUs) a core does not hold full rows. Rows
    may then have any length, in loops too, if each core has a row; the depth and columns of all
    products must be at most 128, so that recomputing rows is cheap. Short arithmetic on positions
    and on tensors of fewer dimensions, such as masks and biases, is also cloned into each kernel
    that uses it. The `auto` form (the DTU) clones masks too. A core holds full rows if they fit and
    all products that contract them join the kernel; other rows are streamed. Kernels that stream
    rows have the attribute `st.streamed`. Apart from masks, a task without them has the kernels of
    the `resident` form.

    ```mlir
    %0 = st.read @x : tensor<8x4xf32>
    %1 = st.read @w : tensor<4x4xf32>
    %2 = st.read @b : tensor<4xf32>
    %3 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : ...
    %4 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
    %5 = stablehlo.add %3, %4 : tensor<8x4xf32>
    st.write %5 to @y : tensor<8x4xf32>
    // after
    %0 = st.read @x : tensor<8x4xf32>
    %1 = st.read @w : tensor<4x4xf32>
    %2 = st.read @b : tensor<4xf32>
    %3 = st.kernel "matmul" (%a = %0 : tensor<8x4xf32>, %c = %1 : tensor<4x4xf32>, %d = %2 : tensor<4xf32>)
        -> tensor<8x4xf32> {
      %4 = stablehlo.dot_general %a, %c, contracting_dims = [1] x [0] : ...
      %5 = stablehlo.broadcast_in_dim %d, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
      %6 = stablehlo.add %4, %5 : tensor<8x4xf32>
      st.yield %6 : tensor<8x4xf32>
    }
    st.write %3 to @y : tensor<8x4xf32>
    ```
  }];
  let options = [
    Option<"maxOps", "max-ops", "int64_t", "400", "Largest number of ops in a kernel">,
    Option<"maxInputs", "max-inputs", "int64_t", "12", "Largest number of tensors that a fused kernel reads">,
    Option<"attention", "attention", "::mlir::st::AttentionForm", "::mlir::st::AttentionForm::Resident",
           "Storage of the rows of fused attention-like kernels", [{
      ::llvm::cl::values(
          clEnumValN(::mlir::st::AttentionForm::None, "none", "Form no such kernels"),
          clEnumValN(::mlir::st::AttentionForm::Resident, "resident", "Full rows"),
          clEnumValN(::mlir::st::AttentionForm::Streamed, "streamed",
                     "A block of the row, recomputed for each reduction"),
          clEnumValN(::mlir::st::AttentionForm::Auto, "auto",
                     "Full rows if they fit, otherwise blocks of rows"),
          clEnumValN(::mlir::st::AttentionForm::Auto, "fitting", "Old name of auto"))}]>
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Kernels formed">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def SplitAttention : Pass<"split-attention", "::mlir::ModuleOp"> {
  let summary = "Moves products that contract the rows of attention kernels into separate kernels";
  let description = [{
    Needs kernels without addresses. A core (or a GPU's block) that executes a kernel of kind
    "attention" computes some of its rows, and products that contract their columns. A product that
    contracts the rows needs all of them. Such products become a separate attention kernel, whose
    cores take some of the columns and recompute the rows. Reductions of rows are results of the
    first attention kernel and arguments of the second. Inputs of an attention kernel that are the
    same value are merged. With `streamed-only` the pass leaves kernels that hold full rows.

    ```mlir
    %q, %k = st.kernel "attention" (%a = %0, %b = %1, %c = %2) {
      %3 = stablehlo.dot_general %a, %b, ... // rows
      %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : ...
      %5 = stablehlo.broadcast_in_dim %4, dims = [0] : ...
      %6 = stablehlo.subtract %3, %5 : ...
      %7 = stablehlo.dot_general %6, %b, contracting_dims = [1] x [0] : ...
      %8 = stablehlo.dot_general %6, %c, contracting_dims = [0] x [0] : ...
      st.yield %7, %8 : ...
    }
    // after
    %q, %sum = st.kernel "attention" (%a = %0, %b = %1) { ... st.yield %7, %4 : ... }
    %k = st.kernel "attention" (%a = %0, %b = %1, %c = %2, %4 = %sum) { ... st.yield %8 : ... }
    ```
  }];
  let options = [
    Option<"streamedOnly", "streamed-only", "bool", "false",
           "Split only kernels that have the attribute `st.streamed`">
  ];
  let statistics = [Statistic<"numSplit", "split", "Attention kernels that were split into two">];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def RingAttention : Pass<"ring-attention", "::mlir::ModuleOp"> {
  let summary = "Sends gathered keys and values around a ring while attention computes";
  let description = [{
    Needs tasks of kernels without addresses. Without the module's `st.ring_axis`, which the parallel
    file's `"context_attention": "ring"` sets, it does nothing.

    The keys and values that an `st.all_gather` over that axis collects for attention kernels stay in
    parts instead. In each step a device computes with the part that it has, while the parts are
    sent to the previous device. So a device never holds all keys, and the links work while products
    run (Liu et al., "Ring Attention with Blockwise Transformers for Near-Infinite Context", 2023).

    - Kernels between the gathers and the attention, such as copies, compute a part at a time.
    - Products that contract the gathered tokens add up over the steps, in f32. A softmax and the
      products with it are relative to the maxima of a part. Each step combines them with those of the
      steps before.
    - The gradients of keys and values, which an `st.reduce_scatter` would sum, are sent along with
      the parts. Each device adds its contribution.
    - The positions of gathered tokens, which masks compare, are computed from the number of the part
      that a device has in a step, an `st.axis_index`.

    A kernel that needs results of another one about all keys, such as the gradient after a recomputed
    forward pass, is in a later turn of the ring. If an op needs all parts at once, such as a stash of
    probabilities, the keys and values that reach it are gathered, and a remark names the op. The same
    holds for attention with a bias for each key, and for row sums that its gradient did not derive
    (`derive-row-sums`).

    ```mlir
    %all = st.all_gather %k dim 0 over ["context"] of @mesh : tensor<8x4xf32> -> tensor<16x4xf32>
    %y = st.kernel "attention" (%a = %q : tensor<8x4xf32>, %b = %all : tensor<16x4xf32>) -> tensor<8x4xf32> { ... }
    // becomes, for two devices
    %next = st.collective_permute %k [1, 0, 0, 1] over ["context"] of @mesh : tensor<8x4xf32>
    %m0, %l0, %y0 = st.kernel "attention" (%a = %q : ..., %b = %k : ...) -> ... { ... }
    %m1, %l1, %y1 = st.kernel "attention" (%a = %q : ..., %b = %next : ...) -> ... { ... }
    %m, %l, %f0, %f1 = st.kernel "loop" (%m0, %l0, %m1, %l1) { ... }
    %y = st.kernel "loop" (%y0, %y1, %f0, %f1) { ... }
    ```
  }];
  let statistics = [Statistic<"numTurns", "turns", "Turns of rings that replace gathers">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def ShareHeads : Pass<"share-heads", "::mlir::ModuleOp"> {
  let summary = "Reads keys and values that heads share instead of a copy for each head";
  let description = [{
    Needs tasks of kernels without addresses. In grouped-query attention (Ainslie et al., "GQA: Training
    Generalized Multi-Query Transformer Models from Multi-Head Checkpoints", 2023) a group of heads has the
    same keys and values. The model repeats them for each head, which a copy kernel before the attention
    kernel does. If only products of the attention kernel read the copy, the attention kernel reads the
    original, and repeats it by a broadcast in its body, a stride of 0. The copy disappears if it has no
    other user.

    The dimension of heads of each value in the kernel becomes two: groups, and the heads of a group.
    Reshapes around the kernel, which move no data, split its other inputs and merge its results. A kernel
    stays as it is if an op cannot be split, such as an iota along the heads.

    ```mlir
    %all = st.kernel "copy" (%a = %k : tensor<16x2x8xf32>) -> tensor<16x2x4x8xf32> { broadcast_in_dim }
    %each = stablehlo.reshape %all : (tensor<16x2x4x8xf32>) -> tensor<16x8x8xf32>
    %y = st.kernel "attention" (%a = %q : tensor<16x8x8xf32>, %b = %each : tensor<16x8x8xf32>, ...) { ... }
    // becomes
    %split = stablehlo.reshape %q : (tensor<16x8x8xf32>) -> tensor<16x2x4x8xf32>
    %z = st.kernel "attention" (%a = %split : tensor<16x2x4x8xf32>, %b = %k : tensor<16x2x8xf32>, ...) {
      %0 = stablehlo.broadcast_in_dim %b, dims = [0, 1, 3] : (tensor<16x2x8xf32>) -> tensor<16x2x4x8xf32>
      ...
    }
    ```
  }];
  let statistics = [Statistic<"numShared", "shared", "Kernels that read keys or values of several heads">];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

#endif // ST_PASSES_KERNELS_PASSES_TD
