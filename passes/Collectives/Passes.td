// Fewer and cheaper collectives.

#ifndef ST_PASSES_COLLECTIVES_PASSES_TD
#define ST_PASSES_COLLECTIVES_PASSES_TD

include "mlir/Pass/PassBase.td"

def SimplifyCollectives : Pass<"simplify-collectives", "::mlir::ModuleOp"> {
  let summary = "Replaces pairs of collectives by one, and adds up values before it sends them";
  let description = [{
    Needs the per-device function of `global-to-local`, and leaves one. It rewrites values without
    other uses:

    - If each device keeps only its part of an `st.all_reduce`, an `st.reduce_scatter` replaces it,
      which sends half as much.
    - An `st.reduce_scatter` followed by a gather along the same dimension and axes becomes an
      `st.all_reduce`, which sends the same and starts once.
    - If each device keeps its own part of an `st.all_gather`, the gather disappears.
    - If the result of an `st.all_reduce` or `st.reduce_scatter` of sums is then added up over
      further dimensions, each device adds up its own elements first, if it then sends fewer bytes.
      The collective keeps its element type if the result is converted back to it. An example is
      the gradient of keys that several heads of attention share. If a transposition computes the
      operand, the sums come before that too. Exact sums stay as they are.

    `insert-reshards` plans each reshard separately at the lowest cost. Such pairs arise where
    reshards of a program follow each other.

    ```mlir
    %0 = st.all_reduce %x sum over ["data"] of @mesh : tensor<8x4xf32>
    %1 = st.all_slice %0 dim 0 over ["data"] of @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
    // becomes
    %1 = st.reduce_scatter %x sum dim 0 over ["data"] of @mesh : tensor<8x4xf32> -> tensor<4x4xf32>

    %0 = st.reduce_scatter %x sum dim 0 over ["data"] of @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : ... -> tensor<4xf32>
    // becomes, with one dimension for the two devices
    %0 = stablehlo.reshape %x : (tensor<8x4xf32>) -> tensor<2x4x4xf32>
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [2] : ... -> tensor<2x4xf32>
    %2 = st.reduce_scatter %1 sum dim 0 over ["data"] of @mesh : tensor<2x4xf32> -> tensor<1x4xf32>
    %3 = stablehlo.reshape %2 : (tensor<1x4xf32>) -> tensor<4xf32>
    ```
  }];
  let statistics = [
    Statistic<"simplified", "simplified-collectives", "Pairs of collectives that became one or none">,
    Statistic<"moved", "moved-sums", "Sums that devices compute before a collective">
  ];
  let dependentDialects = ["::mlir::st::StDialect", "::mlir::stablehlo::StableHLODialect"];
}

def CombineCollectives : Pass<"combine-collectives", "::mlir::ModuleOp"> {
  let summary = "Combines independent collectives of a task into one";
  let description = [{
    Needs the tasks of `split-tasks`, before kernels are formed. In each task, all-reduces,
    all-gathers and reduce-scatters that differ only in their tensors (with the same axes,
    dimension, kind of reduction and element type) become one collective of several tensors, a
    bucket, if

    - none of them depends on another one, and there is no cycle of dependences between buckets;
    - no message to or from another group is between them, so the order in which groups wait for
      each other does not change;
    - the bucket has at most `bucket-bytes` bytes, counting the larger side of each tensor. A tensor
      of at least this size stays alone.

    Buckets are filled in program order, as in PyTorch's DistributedDataParallel (Li et al., VLDB
    2020). A bucket is either at the position of its last collective, and the users of its results
    move after it (sums of gradients); or at the position of its first one, and its operands move
    before it (gathers of weights). The pass takes the alternative that moves fewer ops. Up to
    `bucket-bytes` more are then live at once. A bucket has one start instead of one per tensor, and
    nothing is copied. Each tensor is still reduced separately, in the same order as alone, unless
    it is so small that alone it would not use the ring.

    ```mlir
    %0 = st.all_reduce %a sum over ["data"] of @mesh : tensor<64x64xf32>
    %1 = stablehlo.subtract %w, %0 : tensor<64x64xf32>
    %2 = st.all_reduce %b sum over ["data"] of @mesh : tensor<64xf32>
    // becomes
    %0:2 = st.all_reduce %a, %b sum over ["data"] of @mesh : tensor<64x64xf32>, tensor<64xf32>
    %1 = stablehlo.subtract %w, %0#0 : tensor<64x64xf32>
    ```
  }];
  let options = [
    Option<"bucketBytes", "bucket-bytes", "int64_t", "-1",
           "largest bytes of a bucket, 0 to combine nothing; by default the module's st.bucket_bytes, "
           "else the bytes whose starts and latencies are a twentieth of the time, up to 25 MiB">
  ];
  let statistics = [
    Statistic<"combined", "combined-collectives", "Collectives that became part of another">,
    Statistic<"buckets", "buckets", "Collectives of several tensors">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def ReuseAccumulators : Pass<"reuse-accumulators", "::mlir::ModuleOp"> {
  let summary = "Writes sums of gradients over devices back to their accumulators";
  let description = [{
    Needs the tasks of `split-tasks`, before kernels are formed. If the update sums an accumulator over devices, and no
    other op reads the accumulator, the sum is written back to it. `plan-memory` then computes the sum in place. There
    is no second copy of the gradients, and the ring of an all-reduce need not copy its operand first.

    ```mlir
    %0 = st.read @accumulator0 : tensor<4x4xf32>
    %1 = st.all_reduce %0 sum over ["data"] of @mesh : tensor<4x4xf32>
    // becomes
    %0 = st.read @accumulator0 : tensor<4x4xf32>
    %1 = st.all_reduce %0 sum over ["data"] of @mesh : tensor<4x4xf32>
    st.write %1 to @accumulator0 : tensor<4x4xf32>
    ```
  }];
  let statistics = [
    Statistic<"reused", "reused-accumulators", "Sums that are written back to their accumulators">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

#endif // ST_PASSES_COLLECTIVES_PASSES_TD
