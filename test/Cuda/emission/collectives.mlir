// RUN: st-opt %s --split-input-file --convert-kernels-to-gpu | FileCheck %s

// All members get a small tensor, and each adds up the received values.
// CHECK: module attributes {cuda.scratch_bytes = 512 : i64
// CHECK: gpu.func @loop_0(%{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32>, %{{.*}}: memref<4xf32>) kernel

// CHECK-LABEL: func.func @group0_forward0
// CHECK: cuda.exchange "all_reduce" %{{.*}} every 0 to %{{.*}} every 16 among 1 count 2
// CHECK: gpu.launch_func @kernels::@loop_0
// A piece for each member, packed, in the order of the operand's rows.
// CHECK: cuda.copy_rows %{{.*}} every 8 to %{{.*}} every 4 rows 2
// CHECK: cuda.copy_rows %{{.*}} every 8 to %{{.*}} every 4 rows 2
// CHECK: cuda.exchange "reduce_scatter" %{{.*}} every 8 to %{{.*}} every 8 among 1 count 2
// CHECK: gpu.launch_func @kernels::@loop_1
// CHECK: %[[POSITION:.*]] = cuda.table_entry 0
// CHECK: cuda.write_index %[[POSITION]] into
// CHECK: cuda.send %{{.*}} to {{[0-9]+}} channel 7
// CHECK: cuda.receive %{{.*}} from {{[0-9]+}} channel 8

// The rank's position, then the ranks of all members; the rank of the other group.
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

// -----

// Each member adds up a piece of a large tensor. Pieces are sent from the operand, sums go to the result.
// CHECK-LABEL: func.func @group0_forward0
// CHECK: %[[OPERAND:.*]] = memref.view %arg0[%{{.*}}][] : memref<?xi8> to memref<20000xi8>
// CHECK: cuda.exchange "all_reduce" %[[OPERAND]] every 20000 to %{{.*}} every 20000 among 1 count 2
// CHECK: gpu.launch_func
// CHECK: %[[RESULT:.*]] = memref.view %arg0[%{{.*}}][] : memref<?xi8> to memref<20000xi8>
// CHECK: cuda.exchange "all_reduce" %{{.*}} every 0 to %[[RESULT]] every 20000 among 1 count 2

// Two tensors are one piece for each member. A gather along rows joins rows.
// CHECK-COUNT-2: gpu.memcpy
// CHECK: cuda.exchange "all_gather" %{{.*}} every 0 to %{{.*}} every 24 among 1 count 2 : memref<24xi8>
// CHECK: cuda.copy_rows %{{.*}} every 4 to %{{.*}} every 8 rows 2
// CHECK: cuda.copy_rows %{{.*}} every 8 to %{{.*}} every 16 rows 2
// CHECK: cuda.copy_rows %{{.*}} every 4 to %{{.*}} every 8 rows 2
// CHECK: cuda.copy_rows %{{.*}} every 8 to %{{.*}} every 16 rows 2

// The first member sends to the other one, which sends nothing, so the first gets zeros.
// CHECK: cuda.send %{{.*}} to 3 channel 0
// CHECK: cuda.receive %{{.*}} from 4 channel 0
// CHECK: cuda.rank_table = array<i64: 0, 0, 1, 1, -1, 1, 0, 1, -1, 0>
st.mesh @mesh <["x"=2], micro=1>
st.program @group0 stages [0] devices [0, 1] first_rank 0 mesh @mesh {
  st.buffer @x "accumulator" slots 1 : tensor<100x100xf32> at <offset = 0>
  st.buffer @y "accumulator" slots 1 : tensor<2x1xf32> at <offset = 80128>
  st.buffer @z "accumulator" slots 1 : tensor<2x2xf32> at <offset = 80384>
  st.task @forward0 forward stage 0 (%mb) {
    %x = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<100x100xf32>
    %y = st.read @y {st.addresses = [#st.address<offset = 80128>]} : tensor<2x1xf32>
    %z = st.read @z {st.addresses = [#st.address<offset = 80384>]} : tensor<2x2xf32>
    %0 = st.all_reduce %x sum over ["x"] of @mesh {st.addresses = [#st.address<offset = 40064>]} : tensor<100x100xf32>
    %1:2 = st.all_gather %y, %z dim 1 over ["x"] of @mesh {st.addresses = [#st.address<offset = 80640>, #st.address<offset = 80896>]} : tensor<2x1xf32>, tensor<2x2xf32> -> tensor<2x2xf32>, tensor<2x4xf32>
    %2 = st.collective_permute %y [0, 1] over ["x"] of @mesh {st.addresses = [#st.address<offset = 81152>]} : tensor<2x1xf32>
  }
  st.schedule "sequential" [@forward0 0]
}
