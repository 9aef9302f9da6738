// RUN: st-opt --convert-kernels-to-gpu %s | FileCheck %s

// Without cuBLASLt's sums, kernels add up the 4,096 rows in parts first. The parts have separate scratch memory, so
// collectives may run at the same time.

// CHECK: module attributes {{.*}}cuda.scratch_bytes = 4096 : i64
// CHECK: gpu.func @reduce_0(%{{.*}}: memref<131072xbf16>, %{{.*}}: memref<1024xf32>) {{.*}} known_grid_size
// CHECK: gpu.func @reduce_1(%{{.*}}: memref<1024xf32>, %{{.*}}: memref<32xf32>)
// CHECK: cuda.product %{{.*}} sums b
// CHECK-NEXT: cuda.product
// CHECK: gpu.launch_func @kernels::@reduce_0
// CHECK: %[[SCRATCH:.*]] = cuda.scratch
// CHECK: gpu.launch_func @kernels::@reduce_1
module attributes {st.cores = 10 : i64} {
  st.mesh @mesh <["x"=1], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @i "i" role "batch" global tensor<4096x8xbf16> slice <@mesh, [{}, {}]> local tensor<4096x8xbf16> micro_dim -1 at <offset = 0>
    st.input @w "w" role "batch" global tensor<4096x32xbf16> slice <@mesh, [{}, {}]> local tensor<4096x32xbf16> micro_dim -1 at <offset = 65536>
    st.task @forward0 forward stage 0 (%mb) {
      %0 = st.read @i {st.addresses = [#st.address<offset = 0>]} : tensor<4096x8xbf16>
      %1 = st.read @w {st.addresses = [#st.address<offset = 65536>]} : tensor<4096x32xbf16>
      %s:2 = st.kernel "matmul" (%a = %0 : tensor<4096x8xbf16>, %b = %1 : tensor<4096x32xbf16>) -> (tensor<8x32xf32>, tensor<32xf32>) attributes {st.addresses = [#st.address<offset = 327680>, #st.address<offset = 328704>]} {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %2 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<4096x8xbf16>, tensor<4096x32xbf16>) -> tensor<8x32xf32>
        %3 = stablehlo.convert %b : (tensor<4096x32xbf16>) -> tensor<4096x32xf32>
        %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096x32xf32>, tensor<f32>) -> tensor<32xf32>
        st.yield %2, %4 : tensor<8x32xf32>, tensor<32xf32>
      }
    }
  }
}
