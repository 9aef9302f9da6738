// Fewer and cheaper collectives.

#ifndef ST_PASSES_COLLECTIVES_PASSES_TD
#define ST_PASSES_COLLECTIVES_PASSES_TD

include "mlir/Pass/PassBase.td"

def SimplifyCollectives : Pass<"simplify-collectives", "::mlir::ModuleOp"> {
  let summary = "Replaces pairs of collectives by the one that does the same";
  let description = [{
    Needs the per-device function of `global-to-local`, and leaves one. Looks at values
    that nothing else uses:

    - an `st.all_reduce` of which each device keeps its part only is an `st.reduce_scatter`, which
      sends half as much;
    - an `st.reduce_scatter` whose parts are gathered again along the same dimension and axes is an
      `st.all_reduce`, which sends the same and starts once;
    - an `st.all_gather` of which each device keeps its own part is nothing.

    `insert-reshards` plans each reshard by itself as cheaply as can be; what stands here meets
    where the reshards of a program follow each other.

    ```mlir
    %0 = st.all_reduce %x sum over ["data"] of @mesh : tensor<8x4xf32>
    %1 = st.all_slice %0 dim 0 over ["data"] of @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
    // becomes
    %1 = st.reduce_scatter %x sum dim 0 over ["data"] of @mesh : tensor<8x4xf32> -> tensor<4x4xf32>
    ```
  }];
  let statistics = [
    Statistic<"simplified", "simplified-collectives", "Pairs of collectives that became one or none">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def CombineCollectives : Pass<"combine-collectives", "::mlir::ModuleOp"> {
  let summary = "Makes collectives of a task that wait for each other in nothing one collective";
  let description = [{
    Needs the tasks of `split-tasks`, before kernels are formed. In each task all-reduces,
    all-gathers and reduce-scatters alike in everything but their tensors (axes, dimension, kind of
    sum, element type) become one of several tensors, a bucket, as long as

    - none of them needs what another makes, nor do their buckets in a circle;
    - no message to or from another group lies between them: who waits for whom among groups stays
      as it is;
    - the bucket has at most `bucket-bytes` bytes, of each tensor the larger side counted. A tensor
      that is as large by itself stays alone.

    Buckets are filled in program order, as PyTorch's DistributedDataParallel does with gradients (Li
    et al., VLDB 2020). A bucket stands where the last of its collectives stood, and what needs any of its
    results moves behind it (sums of gradients); or where the first stood, and what it needs moves before
    it (gathers of weights): whichever moves fewer ops. Up to `bucket-bytes` more are then alive at
    once. A start is then paid once
    a bucket instead of once a tensor, nothing is copied, and each tensor is still reduced by itself: in
    the same order as alone, unless it is so small that alone it would not go round the ring.

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
           "most bytes of a bucket, 0 to combine nothing; by default what the module's st.bucket_bytes "
           "says, else those of which starts and latencies take a twentieth of the time, up to 25 MiB">
  ];
  let statistics = [
    Statistic<"combined", "combined-collectives", "Collectives that became part of another">,
    Statistic<"buckets", "buckets", "Collectives of several tensors">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

def ReuseAccumulators : Pass<"reuse-accumulators", "::mlir::ModuleOp"> {
  let summary = "Lets sums of gradients over devices take the place of what they sum";
  let description = [{
    Needs the tasks of `split-tasks`, before kernels are formed. Where the update sums over devices
    what it reads from an accumulator, and nothing else reads that, the sum is written back:
    `plan-memory` then makes it there, no second copy of the gradients is kept, and the ring of an
    all-reduce need not copy its operand first.

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
    Statistic<"reused", "reused-accumulators", "Sums that are written to where their summands lie">
  ];
  let dependentDialects = ["::mlir::st::StDialect"];
}

#endif // ST_PASSES_COLLECTIVES_PASSES_TD
