// RUN: st-opt %s --convert-in-update | FileCheck %s

// The update converts a weight that the forward pass reads in 16 bits, with its new value, into the buffer where the backward
// pass finds it; a weight that only the forward pass reads gets a buffer. Ops that read a state and another value, sums, and ops
// on a state that two tasks write or a copy makes stay unchanged.
// CHECK: st.buffer @stash0 "stash"
// CHECK: st.buffer @converted "step" slots 1 : tensor<4xbf16>
// CHECK-LABEL: st.task @forward0
// CHECK: %[[W16:.*]] = st.kernel "loop" (%{{.*}} = %{{.*}} : tensor<8x4xf32>) -> tensor<8x4xbf16> attributes {cuda.left_by_update}
// CHECK: st.write %[[W16]] to @stash0[%{{.*}}] : tensor<8x4xbf16>
// CHECK: %[[B16:.*]] = st.kernel "loop" (%{{.*}} = %{{.*}} : tensor<4xf32>) -> tensor<4xbf16> attributes {cuda.left_by_update}
// CHECK-NEXT: stablehlo.convert
// CHECK-NEXT: st.yield
// CHECK-NEXT: }
// CHECK-NEXT: st.write %[[B16]] to @converted : tensor<4xbf16>
// CHECK-NOT: left_by_update
// CHECK-LABEL: st.task @update
// CHECK: %[[W:.*]]:2 = st.kernel "loop" (%{{.*}} = %{{.*}} : tensor<8x4xf32>, %{{.*}} = %{{.*}} : tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xbf16>)
// CHECK: %[[NEW:.*]] = stablehlo.subtract
// CHECK: %[[NARROW:.*]] = stablehlo.convert %[[NEW]] : (tensor<8x4xf32>) -> tensor<8x4xbf16>
// CHECK: st.yield %[[NEW]], %[[NARROW]]
// CHECK: %[[B:.*]]:2 = st.kernel "loop"
// CHECK: st.write %[[W]]#0 to @w
// CHECK: st.write %[[B]]#0 to @b
// CHECK: st.write %[[W]]#1 to @stash0[%{{.*}}] : tensor<8x4xbf16>
// CHECK: st.write %[[B]]#1 to @converted : tensor<4xbf16>
// CHECK: st.schedule
module {
  st.mesh @mesh <["tensor"=1], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.state @w "w" role "parameter" of "" global tensor<8x4xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<8x4xf32>
    st.state @b "b" role "parameter" of "" global tensor<4xf32> slice #st.sharding<@mesh, [{}]> local tensor<4xf32>
    st.state @copied "copied" role "parameter" of "" global tensor<4xf32> slice #st.sharding<@mesh, [{}]> local tensor<4xf32>
    st.state @twice "twice" role "parameter" of "" global tensor<4xf32> slice #st.sharding<@mesh, [{}]> local tensor<4xf32>
    st.buffer @g "accumulator" slots 1 : tensor<8x4xf32>
    st.buffer @h "accumulator" slots 1 : tensor<4xf32>
    st.buffer @stash0 "stash" slots 1 : tensor<8x4xbf16>
    st.buffer @sum "step" slots 1 : tensor<8xf32>
    st.buffer @c16 "step" slots 1 : tensor<4xbf16>
    st.buffer @t16 "step" slots 1 : tensor<4xbf16>
    st.buffer @both "step" slots 1 : tensor<4xf32>
    st.task @forward0 forward stage 0 (%mb) {
      %w = st.read @w : tensor<8x4xf32>
      %b = st.read @b : tensor<4xf32>
      %c = st.read @copied : tensor<4xf32>
      %t = st.read @twice : tensor<4xf32>
      %0 = st.kernel "loop" (%a = %w : tensor<8x4xf32>) -> tensor<8x4xbf16> {
        %n = stablehlo.convert %a : (tensor<8x4xf32>) -> tensor<8x4xbf16>
        st.yield %n : tensor<8x4xbf16>
      }
      st.write %0 to @stash0[%mb] : tensor<8x4xbf16>
      %1 = st.kernel "loop" (%a = %b : tensor<4xf32>) -> tensor<4xbf16> {
        %n = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xbf16>
        st.yield %n : tensor<4xbf16>
      }
      %2 = st.kernel "loop" (%a = %w : tensor<8x4xf32>) -> tensor<8xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>
        st.yield %s : tensor<8xf32>
      }
      st.write %2 to @sum : tensor<8xf32>
      %3 = st.kernel "loop" (%a = %c : tensor<4xf32>) -> tensor<4xbf16> {
        %n = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xbf16>
        st.yield %n : tensor<4xbf16>
      }
      st.write %3 to @c16 : tensor<4xbf16>
      %4 = st.kernel "loop" (%a = %t : tensor<4xf32>) -> tensor<4xbf16> {
        %n = stablehlo.convert %a : (tensor<4xf32>) -> tensor<4xbf16>
        st.yield %n : tensor<4xbf16>
      }
      st.write %4 to @t16 : tensor<4xbf16>
      %5 = st.kernel "loop" (%a = %b : tensor<4xf32>, %d = %1 : tensor<4xbf16>) -> tensor<4xf32> {
        %n = stablehlo.convert %d : (tensor<4xbf16>) -> tensor<4xf32>
        %s = stablehlo.add %a, %n : tensor<4xf32>
        st.yield %s : tensor<4xf32>
      }
      st.write %5 to @both : tensor<4xf32>
      st.write %t to @twice : tensor<4xf32>
    }
    st.task @backward0 backward stage 0 (%mb) {
      %0 = st.read @stash0[%mb] : tensor<8x4xbf16>
    }
    st.task @update update stage 0 (%mb) {
      %w = st.read @w : tensor<8x4xf32>
      %b = st.read @b : tensor<4xf32>
      %c = st.read @copied : tensor<4xf32>
      %t = st.read @twice : tensor<4xf32>
      %g = st.read @g : tensor<8x4xf32>
      %h = st.read @h : tensor<4xf32>
      %0 = st.kernel "loop" (%a = %w : tensor<8x4xf32>, %d = %g : tensor<8x4xf32>) -> tensor<8x4xf32> {
        %n = stablehlo.subtract %a, %d : tensor<8x4xf32>
        st.yield %n : tensor<8x4xf32>
      }
      %1 = st.kernel "loop" (%a = %b : tensor<4xf32>, %d = %h : tensor<4xf32>) -> tensor<4xf32> {
        %n = stablehlo.subtract %a, %d : tensor<4xf32>
        st.yield %n : tensor<4xf32>
      }
      %2 = st.kernel "copy" (%a = %c : tensor<4xf32>) -> tensor<4xf32> {
        %n = stablehlo.reverse %a, dims = [0] : tensor<4xf32>
        st.yield %n : tensor<4xf32>
      }
      %3 = st.kernel "loop" (%a = %t : tensor<4xf32>, %d = %h : tensor<4xf32>) -> tensor<4xf32> {
        %n = stablehlo.subtract %a, %d : tensor<4xf32>
        st.yield %n : tensor<4xf32>
      }
      st.write %0 to @w : tensor<8x4xf32>
      st.write %1 to @b : tensor<4xf32>
      st.write %2 to @copied : tensor<4xf32>
      st.write %3 to @twice : tensor<4xf32>
    }
    st.schedule "sequential" [@forward0 0, @backward0 0, @update 0]
  }
}
