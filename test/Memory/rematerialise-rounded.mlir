// A norm's backward pass reads differences from the mean in f32: its 16-bit input and the mean are kept instead. A value that
// depends on two such tensors would save nothing, and stays.
//
// RUN: st-opt --rematerialise="policy=selective reuse-products" %s | FileCheck %s
// RUN: st-opt --rematerialise=policy=selective %s | FileCheck --check-prefix=KEPT %s
// KEPT: st.write %{{.*}} to @below
// KEPT: st.write %{{.*}} to @both

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.state @w "w" role "parameter" of "" global tensor<4x64xf32> slice <@mesh, [{}, {}]> local tensor<4x64xf32>
    st.input @x "x" role "batch" global tensor<4x64xf32> slice <@mesh, [{}, {}]> local tensor<4x64xf32> micro_dim -1
    st.input @y "y" role "batch" global tensor<4x64xf32> slice <@mesh, [{}, {}]> local tensor<4x64xf32> micro_dim -1
    st.buffer @g "accumulator" slots 1 : tensor<4x64xf32>
    st.buffer @below "stash" slots 1 : tensor<4x64xf32>
    st.buffer @both "stash" slots 1 : tensor<4x64xf32>

    // CHECK: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      %w = st.read @w : tensor<4x64xf32>
      %x = st.read @x : tensor<4x64xf32>
      %y = st.read @y : tensor<4x64xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %part = stablehlo.constant dense<0.015625> : tensor<4xf32>
      %scaled = stablehlo.multiply %x, %w {st.block = 0 : i64} : tensor<4x64xf32>
      // CHECK: %[[X16:.*]] = stablehlo.convert %{{.*}} : (tensor<4x64xf32>) -> tensor<4x64xbf16>
      %x16 = stablehlo.convert %scaled {st.block = 0 : i64} : (tensor<4x64xf32>) -> tensor<4x64xbf16>
      // CHECK: st.write %[[X16]] to @
      %wide = stablehlo.convert %x16 {st.block = 0 : i64} : (tensor<4x64xbf16>) -> tensor<4x64xf32>
      // CHECK: %[[SUM:.*]] = stablehlo.reduce
      // CHECK: st.write %[[SUM]] to @
      %sum = stablehlo.reduce(%wide init: %zero) applies stablehlo.add across dimensions = [1] {st.block = 0 : i64} : (tensor<4x64xf32>, tensor<f32>) -> tensor<4xf32>
      %mean = stablehlo.multiply %sum, %part {st.block = 0 : i64} : tensor<4xf32>
      %rows = stablehlo.broadcast_in_dim %mean, dims = [0] {st.block = 0 : i64} : (tensor<4xf32>) -> tensor<4x64xf32>
      // CHECK-NOT: to @below
      %below = stablehlo.subtract %wide, %rows {st.block = 0 : i64} : tensor<4x64xf32>
      st.write %below to @below[%mb] : tensor<4x64xf32>
      %other = stablehlo.multiply %y, %w {st.block = 0 : i64} : tensor<4x64xf32>
      %tanh = stablehlo.tanh %other {st.block = 0 : i64} : tensor<4x64xf32>
      %y16 = stablehlo.convert %tanh {st.block = 0 : i64} : (tensor<4x64xf32>) -> tensor<4x64xbf16>
      %ywide = stablehlo.convert %y16 {st.block = 0 : i64} : (tensor<4x64xbf16>) -> tensor<4x64xf32>
      // CHECK: st.write %{{.*}} to @both
      %sum16 = stablehlo.convert %ywide {st.block = 0 : i64} : (tensor<4x64xf32>) -> tensor<4x64xf16>
      %sumwide = stablehlo.convert %sum16 {st.block = 0 : i64} : (tensor<4x64xf16>) -> tensor<4x64xf32>
      %both = stablehlo.multiply %sumwide, %ywide {st.block = 0 : i64} : tensor<4x64xf32>
      st.write %both to @both[%mb] : tensor<4x64xf32>
    }
    // CHECK: st.task @backward0
    st.task @backward0 backward stage 0 (%mb) {
      // CHECK: stablehlo.convert %{{.*}} : (tensor<4x64xbf16>) -> tensor<4x64xf32>
      // CHECK: %[[AGAIN:.*]] = stablehlo.subtract
      // CHECK: stablehlo.multiply %[[AGAIN]]
      %below = st.read @below[%mb] : tensor<4x64xf32>
      %both = st.read @both[%mb] : tensor<4x64xf32>
      %d = stablehlo.multiply %below, %both : tensor<4x64xf32>
      st.write %d to @g accumulate sum : tensor<4x64xf32>
    }
  }
}
