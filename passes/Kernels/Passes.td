// From tensor ops to kernels.

#ifndef ST_PASSES_KERNELS_PASSES_TD
#define ST_PASSES_KERNELS_PASSES_TD

include "mlir/Pass/PassBase.td"

def FormLoops : Pass<"form-loops", "::mlir::ModuleOp"> {
  let summary = "Writes tensor ops that work step by step as loops";
  let description = [{
    In tasks and functions, before loops are lowered. `cholesky` and `triangular_solve` become a `while`
    that makes a row in each trip, by products with the rows before. A `scatter` that
    combines in a way that no transfer does becomes a gather, its computation and a scatter that
    replaces, if no two updates meet (`unique_indices`); else a `while` that
    takes one update after the other.

    ```mlir
    %0 = stablehlo.cholesky %a, lower = true : tensor<8x8xf32>
    // becomes
    %0:2 = stablehlo.while(%i = %zero, %factor = %zeros) : tensor<i32>, tensor<1x8x8xf32>
    // ...
    ```
  }];
  let statistics = [
    Statistic<"numFormed", "formed-loops", "Ops that were written as loops or as ops without order">
  ];
  let dependentDialects = ["::mlir::stablehlo::StableHLODialect"];
}

def LowerLoops : Pass<"lower-loops", "::mlir::ModuleOp"> {
  let summary = "Turns the loops of tasks into st.loop";
  let description = [{
    A `stablehlo.while` of a task becomes an `st.loop` whose body is like a task's: what trips change lies
    in buffers that the body reads and writes, what they do not change is captured. A
    loop with a linear counter held against a constant gets its number of trips, any other the
    predicate that its condition computes, once before the loop and at the end of each trip.
  }];
  let statistics = [
    Statistic<"numLoops", "loops", "Loops that were lowered">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def LowerTensorOps : Pass<"lower-tensor-ops", "::mlir::ModuleOp"> {
  let summary = "Writes tensor ops that have no kernel in terms of those that have one";
  let description = [{
    In tasks and functions. A convolution becomes one product of the slices that its window sees (where
    the results are fewer than the positions of the window, a product each), `reduce_window`
    a combination of slices in spans of powers of two, `select_and_scatter` a choice among
    slices, `sort` and `top_k` a bitonic network, a reduction by a body that no instruction
    has a combination of halves or, where the body sees the order of its operands, of neighbours, a
    slice at a computed place a gather or a scatter, a product of integers or f64 an elementwise
    product and a sum, `rng_bit_generator` arithmetic on counters, a batch normalization its statistics and
    arithmetic, `map` its computation on whole tensors, `optimization_barrier` nothing; and
    functions of single elements become others, those that lose digits (the gamma function and
    its relatives) in f64. Ops of forms beyond these stay.

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
    Statistic<"numLowered", "lowered-ops", "Ops that were written in others">
  ];
  let dependentDialects = ["::mlir::chlo::ChloDialect", "::mlir::stablehlo::StableHLODialect"];
}

def FormKernels : Pass<"form-kernels", "::mlir::ModuleOp"> {
  let summary = "Cuts the tensor ops of every task into st.kernel regions";
  let description = [{
    Needs programs whose tasks hold tensor ops. Leaves at task level only reads,
    writes, sends, receives, collectives, `st.axis_index`, reshapes, constants that
    are no splat, and `st.kernel`s of the kinds that docs/architecture.md lists.

    Fusion is greedy in program order. Every kernel has a place in the order of
    the task; an op joins the last kernel that makes one of its operands, if all
    its other operands come from before that kernel, so no cycle can arise. Loops
    that feed the same later loop then move down into it where nothing in between
    reads them. Constants, iota, broadcasts, views and cheap scalar arithmetic are
    cloned into each kernel that reads them. A reduction that does not fit a loop,
    because it is not along trailing dimensions or because its rows exceed the
    target's `scratch_bytes`, takes the elementwise ops before it along, where that
    saves a tensor. Products of one left operand whose right ones are alike become one, which
    fetches it once, where each is too small for the `st.cores` of the module, the cores that
    share the work of a kernel. An elementwise loop joins a product beside it where `scratch_bytes`
    hold a tile of all that is alive in it, so that a product has several results. A loop between
    products takes those along that make what only it reads and that contract its rows, a "chain",
    where the rows that a core holds are enough to be worth it. Products that contract the rows
    join where what they read fits `st.shared_bytes`, a memory that all cores reach. Of `streamed`
    chains (GPUs) a core holds no whole rows: they may be of any length where each core has one, in
    loops too, and what counts is that depth and columns of all products are at most 128, so that
    making rows again costs little.

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
    Option<"maxOps", "max-ops", "int64_t", "400", "Most ops of one kernel">,
    Option<"maxInputs", "max-inputs", "int64_t", "12", "Most tensors that one fused kernel reads">,
    Option<"chains", "chains", "::mlir::st::ChainForm", "::mlir::st::ChainForm::Resident",
           "What chains hold of their rows", [{
      ::llvm::cl::values(
          clEnumValN(::mlir::st::ChainForm::None, "none", "There are no chains"),
          clEnumValN(::mlir::st::ChainForm::Resident, "resident", "Whole rows"),
          clEnumValN(::mlir::st::ChainForm::Streamed, "streamed",
                     "A part of them, made again for each reduction"))}]>
  ];
  let statistics = [
    Statistic<"numKernels", "kernels", "Kernels formed">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

#endif // ST_PASSES_KERNELS_PASSES_TD
