// Two groups of four heads share keys and values. Attention reads these instead of a copy for each head, with a slope for
// each head and the sums of rows as a result. The interpreter gives the same numbers.
//
// REQUIRES: jax
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t/in q=f32:6x8x4 k=f32:10x2x4 v=f32:10x2x4 slopes=f32:8
// RUN: st-opt --share-heads %s -o %t/shared.mlir
// RUN: FileCheck %s --input-file=%t/shared.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/copied %s
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/shared %t/shared.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/copied %t/shared 0 | FileCheck %s --check-prefix=SAME
// SAME: 5 tensors agree

#heads = #st.sharding<@mesh, [{}, {}, {}]>
module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @q "q" role "batch" global tensor<6x8x4xf32> slice #heads local tensor<6x8x4xf32> micro_dim -1
    st.input @k "k" role "batch" global tensor<10x2x4xf32> slice #heads local tensor<10x2x4xf32> micro_dim -1
    st.input @v "v" role "batch" global tensor<10x2x4xf32> slice #heads local tensor<10x2x4xf32> micro_dim -1
    st.input @slopes "slopes" role "batch" global tensor<8xf32> slice <@mesh, [{}]> local tensor<8xf32> micro_dim -1
    st.output @o "o" role "metric" global tensor<8x6x4xf32> slice #heads local tensor<8x6x4xf32>
    st.output @l "l" role "metric" global tensor<8x6xf32> slice <@mesh, [{}, {}]> local tensor<8x6xf32>
    st.output @dk "dk" role "metric" global tensor<8x10x4xf32> slice #heads local tensor<8x10x4xf32>
    st.output @dk2 "dk2" role "metric" global tensor<8x10x4xf32> slice #heads local tensor<8x10x4xf32>
    st.output @w "w" role "metric" global tensor<8x6x4xf32> slice #heads local tensor<8x6x4xf32>

    // CHECK-LABEL: st.task @forward0
    // CHECK-DAG: %[[Q:.*]] = st.read @q
    // CHECK-DAG: %[[K:.*]] = st.read @k
    // CHECK-DAG: %[[V:.*]] = st.read @v
    // CHECK-DAG: %[[S:.*]] = st.read @slopes
    // CHECK-DAG: %[[QG:.*]] = stablehlo.reshape %[[Q]] : (tensor<6x8x4xf32>) -> tensor<6x2x4x4xf32>
    // CHECK-DAG: %[[SG:.*]] = stablehlo.reshape %[[S]] : (tensor<8xf32>) -> tensor<2x4xf32>
    // CHECK: %[[A:.*]]:2 = st.kernel "attention" (%[[IQ:.*]] = %[[QG]] : tensor<6x2x4x4xf32>, %[[IK:.*]] = %[[K]] : tensor<10x2x4xf32>, %[[IV:.*]] = %[[V]] : tensor<10x2x4xf32>, %[[IS:.*]] = %[[SG]] : tensor<2x4xf32>) -> (tensor<2x4x6x4xf32>, tensor<2x4x6xf32>)
    // CHECK-DAG: %[[BK:.*]] = stablehlo.broadcast_in_dim %[[IK]], dims = [0, 1, 3] : (tensor<10x2x4xf32>) -> tensor<10x2x4x4xf32>
    // CHECK-DAG: %[[BV:.*]] = stablehlo.broadcast_in_dim %[[IV]], dims = [0, 1, 3] : (tensor<10x2x4xf32>) -> tensor<10x2x4x4xf32>
    // CHECK: stablehlo.dot_general %[[IQ]], %[[BK]], batching_dims = [1, 2] x [1, 2], contracting_dims = [3] x [3] : {{.*}} -> tensor<2x4x6x10xf32>
    // CHECK: stablehlo.broadcast_in_dim %[[IS]], dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x6x10xf32>
    // CHECK: stablehlo.iota dim = 3 : tensor<2x4x6x10xf32>
    // CHECK: stablehlo.reduce({{.*}}) applies stablehlo.add across dimensions = [3]
    // CHECK: stablehlo.dot_general %{{.*}}, %[[BV]], batching_dims = [0, 1] x [1, 2], contracting_dims = [3] x [0] : {{.*}} -> tensor<2x4x6x4xf32>
    // CHECK: stablehlo.reshape %[[A]]#0 : (tensor<2x4x6x4xf32>) -> tensor<8x6x4xf32>
    // CHECK: stablehlo.reshape %[[A]]#1 : (tensor<2x4x6xf32>) -> tensor<8x6xf32>
    st.task @forward0 forward stage 0 (%mb) {
      %q = st.read @q : tensor<6x8x4xf32>
      %k = st.read @k : tensor<10x2x4xf32>
      %v = st.read @v : tensor<10x2x4xf32>
      %s = st.read @slopes : tensor<8xf32>
      %kc = st.kernel "copy" (%a = %k : tensor<10x2x4xf32>) -> tensor<10x2x4x4xf32> {
        %0 = stablehlo.broadcast_in_dim %a, dims = [0, 1, 3] : (tensor<10x2x4xf32>) -> tensor<10x2x4x4xf32>
        st.yield %0 : tensor<10x2x4x4xf32>
      }
      %kh = stablehlo.reshape %kc : (tensor<10x2x4x4xf32>) -> tensor<10x8x4xf32>
      %vc = st.kernel "copy" (%a = %v : tensor<10x2x4xf32>) -> tensor<10x2x4x4xf32> {
        %0 = stablehlo.broadcast_in_dim %a, dims = [0, 1, 3] : (tensor<10x2x4xf32>) -> tensor<10x2x4x4xf32>
        st.yield %0 : tensor<10x2x4x4xf32>
      }
      %vh = stablehlo.reshape %vc : (tensor<10x2x4x4xf32>) -> tensor<10x8x4xf32>
      %o:2 = st.kernel "attention" (%a = %q : tensor<6x8x4xf32>, %b = %kh : tensor<10x8x4xf32>, %c = %vh : tensor<10x8x4xf32>, %d = %s : tensor<8xf32>) -> (tensor<8x6x4xf32>, tensor<8x6xf32>) {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %scale = stablehlo.constant dense<0.5> : tensor<8x6x10xf32>
        %products = stablehlo.dot_general %a, %b, batching_dims = [1] x [1], contracting_dims = [2] x [2] : (tensor<6x8x4xf32>, tensor<10x8x4xf32>) -> tensor<8x6x10xf32>
        %scaled = stablehlo.multiply %products, %scale : tensor<8x6x10xf32>
        %slopes = stablehlo.broadcast_in_dim %d, dims = [0] : (tensor<8xf32>) -> tensor<8x6x10xf32>
        %columns = stablehlo.iota dim = 2 : tensor<8x6x10xf32>
        %bias = stablehlo.multiply %slopes, %columns : tensor<8x6x10xf32>
        %scores = stablehlo.add %scaled, %bias : tensor<8x6x10xf32>
        %exp = stablehlo.exponential %scores : tensor<8x6x10xf32>
        %sum = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<8x6x10xf32>, tensor<f32>) -> tensor<8x6xf32>
        %spread = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<8x6xf32>) -> tensor<8x6x10xf32>
        %p = stablehlo.divide %exp, %spread : tensor<8x6x10xf32>
        %0 = stablehlo.dot_general %p, %c, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<8x6x10xf32>, tensor<10x8x4xf32>) -> tensor<8x6x4xf32>
        st.yield %0, %sum : tensor<8x6x4xf32>, tensor<8x6xf32>
      }
      st.write %o#0 to @o : tensor<8x6x4xf32>
      st.write %o#1 to @l : tensor<8x6xf32>
    }

    // A product that contracts the rows has a result for each head. An iota along the heads cannot be split, so its
    // kernel keeps the copy.
    // CHECK-LABEL: st.task @forward1
    // CHECK: %[[COPY:.*]] = st.kernel "copy"
    // CHECK: %[[EACH:.*]] = stablehlo.reshape %[[COPY]]
    // CHECK: st.kernel "attention" ({{.*}}, %{{.*}} = %{{.*}} : tensor<10x2x4xf32>) -> tensor<2x4x10x4xf32>
    // CHECK: stablehlo.dot_general %{{.*}}, batching_dims = [0, 1] x [1, 2], contracting_dims = [2] x [0] : {{.*}} -> tensor<2x4x10x4xf32>
    // CHECK: st.kernel "attention" ({{.*}}, %{{.*}} = %[[EACH]] : tensor<10x8x4xf32>) -> tensor<8x6x4xf32>
    st.task @forward1 forward stage 0 (%mb) {
      %q = st.read @q : tensor<6x8x4xf32>
      %k = st.read @k : tensor<10x2x4xf32>
      %kc = st.kernel "copy" (%a = %k : tensor<10x2x4xf32>) -> tensor<10x2x4x4xf32> {
        %0 = stablehlo.broadcast_in_dim %a, dims = [0, 1, 3] : (tensor<10x2x4xf32>) -> tensor<10x2x4x4xf32>
        st.yield %0 : tensor<10x2x4x4xf32>
      }
      %kh = stablehlo.reshape %kc : (tensor<10x2x4x4xf32>) -> tensor<10x8x4xf32>
      %dk = st.kernel "attention" (%a = %q : tensor<6x8x4xf32>, %b = %kh : tensor<10x8x4xf32>) -> tensor<8x10x4xf32> {
        %products = stablehlo.dot_general %a, %b, batching_dims = [1] x [1], contracting_dims = [2] x [2] : (tensor<6x8x4xf32>, tensor<10x8x4xf32>) -> tensor<8x6x10xf32>
        %tanh = stablehlo.tanh %products : tensor<8x6x10xf32>
        %0 = stablehlo.dot_general %tanh, %a, batching_dims = [0] x [1], contracting_dims = [1] x [0] : (tensor<8x6x10xf32>, tensor<6x8x4xf32>) -> tensor<8x10x4xf32>
        st.yield %0 : tensor<8x10x4xf32>
      }
      st.write %dk to @dk : tensor<8x10x4xf32>
      %w = st.kernel "attention" (%a = %q : tensor<6x8x4xf32>, %b = %kh : tensor<10x8x4xf32>) -> tensor<8x6x4xf32> {
        %products = stablehlo.dot_general %a, %b, batching_dims = [1] x [1], contracting_dims = [2] x [2] : (tensor<6x8x4xf32>, tensor<10x8x4xf32>) -> tensor<8x6x10xf32>
        %heads = stablehlo.iota dim = 0 : tensor<8x6x10xf32>
        %scores = stablehlo.multiply %products, %heads : tensor<8x6x10xf32>
        %0 = stablehlo.dot_general %scores, %b, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<8x6x10xf32>, tensor<10x8x4xf32>) -> tensor<8x6x4xf32>
        st.yield %0 : tensor<8x6x4xf32>
      }
      st.write %w to @w : tensor<8x6x4xf32>
    }

    // Two kernels share keys, and the second reads a result of the first without a reshape.
    // CHECK-LABEL: st.task @forward2
    // CHECK: %[[ROWS:.*]]:2 = st.kernel "attention" ({{.*}}) -> (tensor<2x4x6x4xf32>, tensor<2x4x6xf32>)
    // CHECK-NOT: stablehlo.reshape %[[ROWS]]#1
    // CHECK: st.kernel "attention" ({{.*}}, %{{.*}} = %[[ROWS]]#1 : tensor<2x4x6xf32>) -> tensor<2x4x10x4xf32>
    st.task @forward2 forward stage 0 (%mb) {
      %q = st.read @q : tensor<6x8x4xf32>
      %k = st.read @k : tensor<10x2x4xf32>
      %kc = st.kernel "copy" (%a = %k : tensor<10x2x4xf32>) -> tensor<10x2x4x4xf32> {
        %0 = stablehlo.broadcast_in_dim %a, dims = [0, 1, 3] : (tensor<10x2x4xf32>) -> tensor<10x2x4x4xf32>
        st.yield %0 : tensor<10x2x4x4xf32>
      }
      %kh = stablehlo.reshape %kc : (tensor<10x2x4x4xf32>) -> tensor<10x8x4xf32>
      %rows:2 = st.kernel "attention" (%a = %q : tensor<6x8x4xf32>, %b = %kh : tensor<10x8x4xf32>) -> (tensor<8x6x4xf32>, tensor<8x6xf32>) {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %products = stablehlo.dot_general %a, %b, batching_dims = [1] x [1], contracting_dims = [2] x [2] : (tensor<6x8x4xf32>, tensor<10x8x4xf32>) -> tensor<8x6x10xf32>
        %sum = stablehlo.reduce(%products init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<8x6x10xf32>, tensor<f32>) -> tensor<8x6xf32>
        %spread = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<8x6xf32>) -> tensor<8x6x10xf32>
        %scores = stablehlo.subtract %products, %spread : tensor<8x6x10xf32>
        %0 = stablehlo.dot_general %scores, %b, batching_dims = [0] x [1], contracting_dims = [2] x [0] : (tensor<8x6x10xf32>, tensor<10x8x4xf32>) -> tensor<8x6x4xf32>
        st.yield %0, %sum : tensor<8x6x4xf32>, tensor<8x6xf32>
      }
      %dk = st.kernel "attention" (%a = %q : tensor<6x8x4xf32>, %b = %kh : tensor<10x8x4xf32>, %c = %rows#1 : tensor<8x6xf32>) -> tensor<8x10x4xf32> {
        %products = stablehlo.dot_general %a, %b, batching_dims = [1] x [1], contracting_dims = [2] x [2] : (tensor<6x8x4xf32>, tensor<10x8x4xf32>) -> tensor<8x6x10xf32>
        %spread = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<8x6xf32>) -> tensor<8x6x10xf32>
        %scores = stablehlo.subtract %products, %spread : tensor<8x6x10xf32>
        %0 = stablehlo.dot_general %scores, %a, batching_dims = [0] x [1], contracting_dims = [1] x [0] : (tensor<8x6x10xf32>, tensor<6x8x4xf32>) -> tensor<8x10x4xf32>
        st.yield %0 : tensor<8x10x4xf32>
      }
      st.write %dk to @dk2 : tensor<8x10x4xf32>
    }
  }
}
