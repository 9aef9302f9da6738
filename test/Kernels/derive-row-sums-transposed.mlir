// A task has the result of the forward pass only in another order than its gradient, as if devices exchange heads for
// tokens before the transposition. A copy of the result brings it into the gradient's order.
//
// REQUIRES: jax
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t/in q=f32:2x8x64 g=f32:2x8x4x16
// RUN: cp %s %t/same.mlir
// RUN: st-opt --derive-row-sums %t/same.mlir -o %t/derived.mlir
// RUN: FileCheck %s --input-file=%t/derived.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/whole %t/same.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/derived %t/derived.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/whole %t/derived 1e-5 | FileCheck %s --check-prefix=SAME
// SAME: 2 tensors agree

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @q "q" role "batch" global tensor<2x8x64xf32> slice <@mesh, [{}, {}, {}]> local tensor<2x8x64xf32> micro_dim -1
    st.input @g "g" role "batch" global tensor<2x8x4x16xf32> slice <@mesh, [{}, {}, {}, {}]> local tensor<2x8x4x16xf32> micro_dim -1
    st.output @o "o" role "metric" global tensor<2x4x8x16xf32> slice <@mesh, [{}, {}, {}, {}]> local tensor<2x4x8x16xf32>
    st.output @dq "dq" role "metric" global tensor<2x4x8x16xf32> slice <@mesh, [{}, {}, {}, {}]> local tensor<2x4x8x16xf32>

    // CHECK: %[[G:.*]] = st.read @g
    // CHECK: %[[O:.*]]:2 = st.kernel "attention" {{.*}} -> (tensor<2x4x8x16xf32>, tensor<2x4x8xf32>)
    // CHECK: %[[T:.*]] = st.kernel "copy" (%[[A:.*]] = %[[O]]#0 : tensor<2x4x8x16xf32>) -> tensor<2x8x4x16xf32>
    // CHECK: stablehlo.transpose %[[A]], dims = [0, 2, 1, 3]
    // CHECK: %[[ROWS:.*]] = st.kernel "loop" (%{{.*}} = %[[G]] : tensor<2x8x4x16xf32>, %{{.*}} = %[[T]] : tensor<2x8x4x16xf32>) -> tensor<2x8x4xf32>
    // CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [3]
    // CHECK: st.kernel "attention"
    // CHECK-NOT: stablehlo.reduce
    st.task @backward0 backward stage 0 (%mb) {
      %x = st.read @q : tensor<2x8x64xf32>
      %do = st.read @g : tensor<2x8x4x16xf32>
      %q = stablehlo.reshape %x : (tensor<2x8x64xf32>) -> tensor<2x8x4x16xf32>
      %k:2 = st.kernel "attention" (%a = %q : tensor<2x8x4x16xf32>, %b = %q : tensor<2x8x4x16xf32>) -> (tensor<2x4x8x16xf32>, tensor<2x4x8xf32>) {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %scale = stablehlo.constant dense<0.05> : tensor<2x4x8x8xf32>
        %products = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x4x8x8xf32>
        %scores = stablehlo.multiply %products, %scale : tensor<2x4x8x8xf32>
        %exp = stablehlo.exponential %scores : tensor<2x4x8x8xf32>
        %sum = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
        %spread = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x4x8xf32>) -> tensor<2x4x8x8xf32>
        %p = stablehlo.divide %exp, %spread : tensor<2x4x8x8xf32>
        %o = stablehlo.dot_general %p, %b, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x4x8x8xf32>, tensor<2x8x4x16xf32>) -> tensor<2x4x8x16xf32>
        st.yield %o, %sum : tensor<2x4x8x16xf32>, tensor<2x4x8xf32>
      }
      st.write %k#0 to @o : tensor<2x4x8x16xf32>
      %dq = st.kernel "attention" (%a = %q : tensor<2x8x4x16xf32>, %b = %q : tensor<2x8x4x16xf32>, %c = %do : tensor<2x8x4x16xf32>, %d = %k#1 : tensor<2x4x8xf32>) -> tensor<2x4x8x16xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %scale = stablehlo.constant dense<0.05> : tensor<2x4x8x8xf32>
        %dp = stablehlo.dot_general %c, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x4x8x8xf32>
        %products = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x4x16xf32>, tensor<2x8x4x16xf32>) -> tensor<2x4x8x8xf32>
        %scores = stablehlo.multiply %products, %scale : tensor<2x4x8x8xf32>
        %exp = stablehlo.exponential %scores : tensor<2x4x8x8xf32>
        %both = stablehlo.multiply %dp, %exp : tensor<2x4x8x8xf32>
        %r = stablehlo.reduce(%both init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
        %mean = stablehlo.divide %r, %d : tensor<2x4x8xf32>
        %means = stablehlo.broadcast_in_dim %mean, dims = [0, 1, 2] : (tensor<2x4x8xf32>) -> tensor<2x4x8x8xf32>
        %less = stablehlo.subtract %dp, %means : tensor<2x4x8x8xf32>
        %ds = stablehlo.multiply %less, %exp : tensor<2x4x8x8xf32>
        %x1 = stablehlo.dot_general %ds, %b, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x4x8x8xf32>, tensor<2x8x4x16xf32>) -> tensor<2x4x8x16xf32>
        st.yield %x1 : tensor<2x4x8x16xf32>
      }
      st.write %dq to @dq : tensor<2x4x8x16xf32>
    }
  }
}
