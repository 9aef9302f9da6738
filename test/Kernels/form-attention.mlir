// Attention is one kernel: no kernel has scores or probabilities, [2, 3, 24, 32] each, as results. The values are
// computed after the softmax, so the kernel takes the position of the second product. The sums of the rows, which this
// test also uses, are a second result. The kernels compute the same as the task before.
//
// REQUIRES: jax
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t/in q=f32:2x24x3x8 k=f32:2x32x3x8 x=f32:2x32x3x8
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/ops %s
// RUN: st-opt --form-kernels %s -o %t/kernels.mlir
// RUN: FileCheck %s --input-file=%t/kernels.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/kernels %t/kernels.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/ops %t/kernels 0 | FileCheck %s --check-prefix=SAME
// RUN: st-opt --form-kernels --plan-memory --verify-memory-plan --convert-to-dtu %s | FileCheck %s --check-prefix=DTU
// SAME: 2 tensors agree

#any = #st.sharding<@mesh, [{}, {}, {}, {}]>
module attributes {st.cores = 8 : i64, st.target = #st.target<backend = "dtu", device = "dtu-t10", alignment = 128, scratch_bytes = 262144, memory_bytes = 4294967296>} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @q "q" role "batch" global tensor<2x24x3x8xf32> slice #any local tensor<2x24x3x8xf32> micro_dim -1
    st.input @k "k" role "batch" global tensor<2x32x3x8xf32> slice #any local tensor<2x32x3x8xf32> micro_dim -1
    st.input @x "x" role "batch" global tensor<2x32x3x8xf32> slice #any local tensor<2x32x3x8xf32> micro_dim -1
    st.output @y "y" role "metric" global tensor<2x3x24x8xf32> slice #any local tensor<2x3x24x8xf32>
    st.output @sums "sums" role "metric" global tensor<2x3x24xf32> slice <@mesh, [{}, {}, {}]> local tensor<2x3x24xf32>
    // CHECK-LABEL: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      // CHECK: %[[Q:.*]] = st.read @q
      // CHECK: %[[K:.*]] = st.read @k
      // CHECK: %[[V:.*]] = st.kernel "loop"
      // CHECK-NEXT: stablehlo.tanh
      // CHECK: %[[C:.*]]:2 = st.kernel "attention" (%{{.*}} = %[[Q]] : {{.*}}, %{{.*}} = %[[K]] : {{.*}}, %{{.*}} = %[[V]] : {{.*}}) -> (tensor<2x3x24x8xf32>, tensor<2x3x24xf32>)
      // CHECK: %[[S:.*]] = stablehlo.dot_general
      // CHECK: stablehlo.multiply %[[S]]
      // CHECK: stablehlo.reduce
      // CHECK: stablehlo.exponential
      // CHECK: %[[Z:.*]] = stablehlo.reduce
      // CHECK: %[[P:.*]] = stablehlo.divide
      // CHECK: %[[O:.*]] = stablehlo.dot_general %[[P]]
      // CHECK: st.yield %[[O]], %[[Z]]
      // CHECK-NOT: st.kernel
      // DTU: dtu.label "attention"
      // DTU: dtu.copy {{.*}}multicast
      %q = st.read @q : tensor<2x24x3x8xf32>
      %k = st.read @k : tensor<2x32x3x8xf32>
      %x = st.read @x : tensor<2x32x3x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %half = stablehlo.constant dense<0.5> : tensor<2x3x24x32xf32>
      %product = stablehlo.dot_general %q, %k, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x24x3x8xf32>, tensor<2x32x3x8xf32>) -> tensor<2x3x24x32xf32>
      %scores = stablehlo.multiply %product, %half : tensor<2x3x24x32xf32>
      %max = stablehlo.reduce(%scores init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x24x32xf32>, tensor<f32>) -> tensor<2x3x24xf32>
      %maxb = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x24xf32>) -> tensor<2x3x24x32xf32>
      %d = stablehlo.subtract %scores, %maxb : tensor<2x3x24x32xf32>
      %e = stablehlo.exponential %d : tensor<2x3x24x32xf32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x24x32xf32>, tensor<f32>) -> tensor<2x3x24xf32>
      %sumb = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x24xf32>) -> tensor<2x3x24x32xf32>
      %p = stablehlo.divide %e, %sumb : tensor<2x3x24x32xf32>
      %v = stablehlo.tanh %x : tensor<2x32x3x8xf32>
      %y = stablehlo.dot_general %p, %v, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x24x32xf32>, tensor<2x32x3x8xf32>) -> tensor<2x3x24x8xf32>
      st.write %sum to @sums : tensor<2x3x24xf32>
      st.write %y to @y : tensor<2x3x24x8xf32>
    }
    st.schedule "sequential" [@forward0 0]
  }
}
