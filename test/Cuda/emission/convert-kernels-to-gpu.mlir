// RUN: st-opt --convert-kernels-to-gpu %s | FileCheck %s

// Two equal kernels are one function. Its accesses take 16 bytes: all addresses are aligned to them.

// CHECK: gpu.module @kernels
// CHECK: gpu.func @loop_0(%[[X:.*]]: memref<256xf32>, %[[Y:.*]]: memref<256xf32>) kernel
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>, known_grid_size = array<i32: 1, 1, 1>
// CHECK: scf.if
// CHECK: vector.load %[[X]][%{{.*}}] {alignment = 16 : i64} : memref<256xf32>, vector<4xf32>
// CHECK: arith.negf
// CHECK: vector.store %{{.*}}, %[[Y]]
// CHECK: gpu.return

// Four threads share a row of 16 columns and add up by shuffles; the result is rounded once.
// CHECK: gpu.func @loop_1(
// CHECK-SAME: memref<256xf32>, %{{.*}}: memref<16xbf16>
// CHECK: arith.extf {{.*}} vector<4xbf16> to vector<4xf32>
// CHECK: gpu.shuffle xor
// CHECK: gpu.shuffle xor
// CHECK: arith.truncf
// CHECK: memref.store {{.*}} memref<16xbf16>

// CHECK: gpu.func @loop_2
// CHECK-COUNT-2: memref<256xf32>
// CHECK: arith.addf

// The slot of the micro-batch, then the kernels in order. A write in place does nothing, another one copies.
// CHECK: func.func @group0_forward0(%[[ARENA:.*]]: memref<?xi8>, %[[MB:.*]]: index) {
// CHECK: arith.remui %[[MB]]
// CHECK: memref.view %[[ARENA]][%{{.*}}][] : memref<?xi8> to memref<256xf32>
// CHECK: gpu.launch_func @kernels::@loop_0
// CHECK: gpu.launch_func @kernels::@loop_0
// CHECK: gpu.launch_func @kernels::@loop_1
// CHECK: gpu.launch_func @kernels::@loop_2
// CHECK-NOT: gpu.launch_func
// CHECK: gpu.memcpy
// CHECK: return
// CHECK: st.program @group0
// CHECK: st.task @forward0 forward stage 0 (%{{.*}}) attributes {cuda.function = @group0_forward0}
st.mesh @mesh <["tensor"=1], micro=2>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<32x16xf32> slice #st.sharding<@mesh, [{"micro"}, {}]> local tensor<16x16xf32> micro_dim 0 at <offset = 0, stride = 1024, slots = 2>
  st.buffer @sum "accumulator" slots 1 : tensor<16x16xf32> at <offset = 3072>
  st.buffer @same "step" slots 1 : tensor<16xbf16> at <offset = 6144>
  st.buffer @other "step" slots 1 : tensor<16xbf16> at <offset = 7168>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x[%mb] {st.addresses = [#st.address<offset = 0, stride = 1024, slots = 2>]} : tensor<16x16xf32>
    %1 = st.kernel "loop" (%a = %0 : tensor<16x16xf32>) -> tensor<16x16xf32> attributes {st.addresses = [#st.address<offset = 2048>]} {
      %6 = stablehlo.negate %a : tensor<16x16xf32>
      st.yield %6 : tensor<16x16xf32>
    }
    %2 = st.kernel "loop" (%a = %1 : tensor<16x16xf32>) -> tensor<16x16xf32> attributes {st.addresses = [#st.address<offset = 4096>]} {
      %6 = stablehlo.negate %a : tensor<16x16xf32>
      st.yield %6 : tensor<16x16xf32>
    }
    %3 = st.kernel "loop" (%a = %2 : tensor<16x16xf32>) -> tensor<16xbf16> attributes {st.addresses = [#st.address<offset = 6144>]} {
      %zero = stablehlo.constant dense<0.0> : tensor<bf16>
      %6 = stablehlo.convert %a : (tensor<16x16xf32>) -> tensor<16x16xbf16>
      %7 = stablehlo.reduce(%6 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16x16xbf16>, tensor<bf16>) -> tensor<16xbf16>
      st.yield %7 : tensor<16xbf16>
    }
    st.write %2 to @sum accumulate sum : tensor<16x16xf32>
    st.write %3 to @same : tensor<16xbf16>
    st.write %3 to @other : tensor<16xbf16>
  }
}
