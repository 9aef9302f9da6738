// RUN: not st-opt %s --lift-constants 2>&1 | FileCheck %s

// CHECK: 'st.kernel' op already has an address: run lift-constants before plan-memory
st.mesh @mesh <[], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.buffer @x "accumulator" slots 1 : tensor<4xf32> at <offset = 0>
  st.task @forward0 forward stage 0 (%mb) {
    %x = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<4xf32>
    %y = st.kernel "loop" (%v = %x : tensor<4xf32>) -> tensor<4xf32> attributes {st.addresses = [#st.address<offset = 64>]} {
      %0 = stablehlo.tanh %v : tensor<4xf32>
      st.yield %0 : tensor<4xf32>
    }
  }
}
