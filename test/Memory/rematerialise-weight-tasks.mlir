// Gradients of weights in separate tasks: the backward task recomputes once, and passes on the values that the
// weight task reads; that stash is then held from one to the other.
//
// RUN: st-opt --rematerialise --schedule-pipeline %s | FileCheck %s

module attributes {st.recompute = "full", st.schedule = "gpipe"} {
  st.mesh @mesh <[], micro=4>
  // CHECK-LABEL: st.program @group0
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    // CHECK: st.state
    // CHECK-NEXT: st.buffer @g
    // CHECK-NEXT: st.buffer @handed "stash" slots 1
    // The layer's input is kept for every micro-batch in flight.
    // CHECK-NEXT: st.buffer @stash0 "stash" slots 4
    st.state @w "w" role "parameter" of "" global tensor<8x8xf32> slice <@mesh, [{}, {}]> local tensor<8x8xf32>
    st.buffer @g "accumulator" slots 1 : tensor<8x8xf32>
    st.buffer @handed "stash" slots 1 : tensor<8x8xf32>
    st.buffer @own "stash" slots 1 : tensor<8x8xf32>
    // CHECK: st.task @forward0
    // CHECK-NEXT: %[[X:.*]] = st.recv
    // CHECK-NEXT: st.write %[[X]] to @stash0
    // CHECK-NOT: st.write
    st.task @forward0 forward stage 0 (%mb) {
      %x = st.recv from @group1 channel 0 : tensor<8x8xf32>
      %w = st.read @w : tensor<8x8xf32>
      %a = stablehlo.exponential %x {st.block = 1 : i64} : tensor<8x8xf32>
      st.write %a to @own[%mb] : tensor<8x8xf32>
      %b = stablehlo.tanh %x {st.block = 1 : i64} : tensor<8x8xf32>
      st.write %b to @handed[%mb] : tensor<8x8xf32>
      %c = stablehlo.multiply %a, %b {st.block = 1 : i64} : tensor<8x8xf32>
      st.send %c to @group1 channel 1 : tensor<8x8xf32>
    }
    // CHECK: st.task @backward0
    // CHECK: st.recv
    // CHECK-DAG: stablehlo.exponential
    // CHECK-DAG: %[[B:.*]] = stablehlo.tanh
    // CHECK: st.write %[[B]] to @handed[%{{.*}}]
    // CHECK: st.task @weight0
    // CHECK-NOT: stablehlo.tanh
    // CHECK: st.read @handed
    st.task @backward0 backward stage 0 (%mb) {
      %d = st.recv from @group1 channel 2 : tensor<8x8xf32>
      %a = st.read @own[%mb] : tensor<8x8xf32>
      %da = stablehlo.multiply %d, %a : tensor<8x8xf32>
      st.send %da to @group1 channel 3 : tensor<8x8xf32>
    }
    st.task @weight0 weight stage 0 (%mb) {
      %b = st.read @handed[%mb] : tensor<8x8xf32>
      %dw = stablehlo.dot_general %b, %b, contracting_dims = [0] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      st.write %dw to @g accumulate sum : tensor<8x8xf32>
    }
  }
  st.program @group1 stages [1] devices [1] first_rank 1 mesh @mesh {
    st.task @forward1 forward stage 1 (%mb) {
      %x = stablehlo.constant dense<1.0> : tensor<8x8xf32>
      st.send %x to @group0 channel 0 : tensor<8x8xf32>
    }
    st.task @backward1 backward stage 1 (%mb) {
      %x = st.recv from @group0 channel 1 : tensor<8x8xf32>
      st.send %x to @group0 channel 2 : tensor<8x8xf32>
    }
    st.task @weight1 weight stage 1 (%mb) {
      %x = st.recv from @group0 channel 3 : tensor<8x8xf32>
    }
  }
}
