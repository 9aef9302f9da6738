// Exponentials of rows are not kept in addition to logits, which a product stores with their bias: the logits and the rows'
// maxima are kept. The bits are the same, because the kept conversion is repeated. Operands of products stay, and so do values
// that depend on more than the kept ones.
//
// RUN: st-opt --rematerialise="policy=selective reuse-products" %s | FileCheck %s
// RUN: st-opt --rematerialise=policy=selective %s | FileCheck --check-prefix=KEPT %s
// RUN: st-opt --rematerialise="policy=none reuse-products" %s | FileCheck --check-prefix=KEPT %s
// KEPT: st.write %{{.*}} to @exp
// KEPT: st.write %{{.*}} to @tanh
// KEPT: st.write %{{.*}} to @sum

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.state @w "w" role "parameter" of "" global tensor<8x64xf32> slice <@mesh, [{}, {}]> local tensor<8x64xf32>
    st.state @b "b" role "parameter" of "" global tensor<64xf32> slice <@mesh, [{}]> local tensor<64xf32>
    st.input @x "x" role "batch" global tensor<4x8xf32> slice <@mesh, [{}, {}]> local tensor<4x8xf32> micro_dim -1
    st.input @y "y" role "batch" global tensor<4x64xf32> slice <@mesh, [{}, {}]> local tensor<4x64xf32> micro_dim -1
    st.buffer @g "accumulator" slots 1 : tensor<64x64xf32>
    st.buffer @h "accumulator" slots 1 : tensor<4x64xf32>
    st.buffer @exp "stash" slots 1 : tensor<4x64xf32>
    st.buffer @tanh "stash" slots 1 : tensor<4x64xf32>
    st.buffer @sum "stash" slots 1 : tensor<4x64xf32>

    // CHECK: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      %w = st.read @w : tensor<8x64xf32>
      %b = st.read @b : tensor<64xf32>
      %x = st.read @x : tensor<4x8xf32>
      %y = st.read @y : tensor<4x64xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %product = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {st.block = 0 : i64} : (tensor<4x8xf32>, tensor<8x64xf32>) -> tensor<4x64xf32>
      %spread = stablehlo.broadcast_in_dim %b, dims = [1] {st.block = 0 : i64} : (tensor<64xf32>) -> tensor<4x64xf32>
      // CHECK: %[[LOGITS:.*]] = stablehlo.add %{{.*}}, %{{.*}} : tensor<4x64xf32>
      %logits = stablehlo.add %product, %spread {st.block = 0 : i64} : tensor<4x64xf32>
      // CHECK: st.write %[[LOGITS]] to @
      // CHECK: %[[MAX:.*]] = stablehlo.reduce
      // CHECK: st.write %[[MAX]] to @
      %max = stablehlo.reduce(%logits init: %low) applies stablehlo.maximum across dimensions = [1] {st.block = 0 : i64} : (tensor<4x64xf32>, tensor<f32>) -> tensor<4xf32>
      %rows = stablehlo.broadcast_in_dim %max, dims = [0] {st.block = 0 : i64} : (tensor<4xf32>) -> tensor<4x64xf32>
      %below = stablehlo.subtract %logits, %rows {st.block = 0 : i64} : tensor<4x64xf32>
      %exp = stablehlo.exponential %below {st.block = 0 : i64} : tensor<4x64xf32>
      // CHECK: st.write %{{.*}} to @tanh
      // CHECK: st.write %{{.*}} to @sum
      // CHECK-NOT: to @exp
      st.write %exp to @exp[%mb] : tensor<4x64xf32>
      %tanh = stablehlo.tanh %logits {st.block = 0 : i64} : tensor<4x64xf32>
      st.write %tanh to @tanh[%mb] : tensor<4x64xf32>
      %sum = stablehlo.multiply %logits, %y {st.block = 0 : i64} : tensor<4x64xf32>
      st.write %sum to @sum[%mb] : tensor<4x64xf32>
    }
    // CHECK: st.task @backward0
    st.task @backward0 backward stage 0 (%mb) {
      // CHECK: %[[AGAIN:.*]] = stablehlo.exponential
      // CHECK: stablehlo.multiply %[[AGAIN]]
      %exp = st.read @exp[%mb] : tensor<4x64xf32>
      %tanh = st.read @tanh[%mb] : tensor<4x64xf32>
      %sum = st.read @sum[%mb] : tensor<4x64xf32>
      %d = stablehlo.multiply %exp, %sum : tensor<4x64xf32>
      %dq = stablehlo.dot_general %tanh, %d, contracting_dims = [0] x [0] : (tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<64x64xf32>
      st.write %dq to @g accumulate sum : tensor<64x64xf32>
      st.write %d to @h accumulate sum : tensor<4x64xf32>
    }
  }
}
