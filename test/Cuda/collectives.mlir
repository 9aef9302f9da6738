// RUN: st-opt %s --convert-kernels-to-gpu | FileCheck %s

// Members meet, read what the others have, and meet again before anybody writes over it.
// CHECK: module attributes {cuda.scratch_bytes = 512 : i64
// CHECK: gpu.func @loop_0(%{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32>) kernel

// CHECK-LABEL: func.func @group0_forward0
// CHECK: cuda.meet 1 count 2
// CHECK-DAG: %[[FIRST:.*]] = cuda.peer 1 : memref<?xi8>
// CHECK-DAG: %[[SECOND:.*]] = cuda.peer 2 : memref<?xi8>
// CHECK: gpu.launch_func @kernels::@loop_0
// CHECK: cuda.meet 1 count 2
// A part of each member's tensor waits in scratch memory: what it is reduced to lies where operands do.
// CHECK: cuda.meet 1 count 2
// CHECK: %[[POSITION:.*]] = cuda.table_entry 0
// CHECK: arith.muli %[[POSITION]]
// CHECK: cuda.copy_rows %{{.*}} every 8 to %{{.*}} every 4 rows 2
// CHECK: cuda.copy_rows %{{.*}} every 8 to %{{.*}} every 4 rows 2
// CHECK: cuda.meet 1 count 2
// CHECK: gpu.launch_func
// CHECK: cuda.write_index %{{.*}} into
// CHECK: cuda.send %{{.*}} to {{[0-9]+}} channel 7
// CHECK: cuda.receive %{{.*}} from {{[0-9]+}} channel 8

// The rank's position, then the ranks of all; the rank of the other group.
// CHECK: st.program @group0
// CHECK-SAME: cuda.rank_table = array<i64: 0, 0, 1, 2, 1, 0, 1, 3>
// CHECK-SAME: cuda.table_size = 4
st.mesh @mesh <["x"=2], micro=1>
st.program @group0 stages [0] devices [0, 1] first_rank 0 mesh @mesh {
  st.buffer @x "accumulator" slots 1 : tensor<2x2xf32> at <offset = 0>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<2x2xf32>
    %1 = st.all_reduce %0 sum over ["x"] of @mesh {st.addresses = [#st.address<offset = 256>]} : tensor<2x2xf32>
    %2 = st.reduce_scatter %1 sum dim 1 over ["x"] of @mesh {st.addresses = [#st.address<offset = 256>]} : tensor<2x2xf32> -> tensor<2x1xf32>
    %3 = st.axis_index "x" of @mesh {st.addresses = [#st.address<offset = 512>]} : tensor<i32>
    st.send %2 to @group1 channel 7 : tensor<2x1xf32>
    %4 = st.recv from @group1 channel 8 {st.addresses = [#st.address<offset = 768>]} : tensor<2x1xf32>
  }
  st.schedule "sequential" [@forward0 0]
}
st.program @group1 stages [1] devices [2, 3] first_rank 2 mesh @mesh {
  st.schedule "sequential" []
}
