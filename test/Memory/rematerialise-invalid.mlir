// RUN: st-opt --rematerialise --split-input-file --verify-diagnostics %s
// RUN: not st-opt --rematerialise=policy=full --split-input-file %s 2>&1 | FileCheck %s
// CHECK: error: the module's st.recompute is 64 : i64, which contradicts the option policy=full

// expected-error @+1 {{the module's st.recompute is "most"; expected "none", "selective", "full", "fit" or a number of bytes}}
module attributes {st.recompute = "most"} {
}

// -----

// expected-error @+1 {{the module's st.recompute is -1 : i64; expected "none"}}
module attributes {st.recompute = -1 : i64} {
}

// -----

// Received values cannot be recomputed.

module attributes {st.recompute = 64 : i64} {
  st.mesh @mesh <[], micro=2>
  // expected-error @+1 {{recompute is {"bytes": 64}, but a micro-batch's stash takes at least 128 bytes on a device of this group}}
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @x "stash" slots 1 : tensor<32xf32>
    st.buffer @y "stash" slots 1 : tensor<32xf32>
    st.task @forward0 forward stage 0 (%mb) {
      %x = st.recv from @group1 channel 0 : tensor<32xf32>
      st.write %x to @x[%mb] : tensor<32xf32>
      %y = stablehlo.tanh %x : tensor<32xf32>
      st.write %y to @y[%mb] : tensor<32xf32>
    }
    st.task @backward0 backward stage 0 (%mb) {
      %x = st.read @x[%mb] : tensor<32xf32>
      %y = st.read @y[%mb] : tensor<32xf32>
      %z = stablehlo.multiply %x, %y : tensor<32xf32>
      st.send %z to @group1 channel 1 : tensor<32xf32>
    }
  }
}

// -----

// The message is about the group that needs most, so that its number is enough for all groups.

module attributes {st.recompute = 64 : i64} {
  st.mesh @mesh <[], micro=2>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @x "stash" slots 1 : tensor<32xf32>
    st.task @forward0 forward stage 0 (%mb) {
      %x = st.recv from @group1 channel 0 : tensor<32xf32>
      st.write %x to @x[%mb] : tensor<32xf32>
    }
    st.task @backward0 backward stage 0 (%mb) {
      %x = st.read @x[%mb] : tensor<32xf32>
      st.send %x to @group1 channel 1 : tensor<32xf32>
    }
  }
  // expected-error @+1 {{recompute is {"bytes": 64}, but a micro-batch's stash takes at least 256 bytes on a device of this group}}
  st.program @group1 stages [1] devices [1] first_rank 1 mesh @mesh {
    st.buffer @x "stash" slots 1 : tensor<64xf32>
    st.task @forward1 forward stage 1 (%mb) {
      %x = st.recv from @group0 channel 2 : tensor<64xf32>
      st.write %x to @x[%mb] : tensor<64xf32>
    }
    st.task @backward1 backward stage 1 (%mb) {
      %x = st.read @x[%mb] : tensor<64xf32>
      st.send %x to @group0 channel 3 : tensor<64xf32>
    }
  }
}

// -----

// There is no layer between others.

// expected-warning @+1 {{recompute is "full", but nothing is recomputed: no layer (st.block) between others}}
module attributes {st.recompute = "full"} {
  st.mesh @mesh <[], micro=2>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  }
}

// -----

// expected-warning @+1 {{recompute is "selective", but nothing is recomputed: no product of activations depends on another one}}
module attributes {st.recompute = "selective"} {
  st.mesh @mesh <[], micro=2>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  }
}

// -----

// Slots are assigned to stashes that this would change.

// expected-error @+1 {{rematerialise: found an st.schedule in each st.program}}
module attributes {st.recompute = "full"} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.schedule "sequential" []
  }
}

// -----

// A loop is not changed.

module attributes {st.recompute = "full"} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.state @w "w" role "parameter" of "" global tensor<f32> slice <@mesh, []> local tensor<f32>
    st.buffer @stacked "stash" slots 1 : tensor<8xf32>
    st.buffer @y "stash" slots 1 : tensor<8xf32>
    st.buffer @z "stash" slots 1 : tensor<8xf32>
    st.task @forward0 forward stage 0 (%mb) {
      %x = st.recv from @group1 channel 0 : tensor<8xf32>
      // expected-remark @+1 {{is not recomputed: the values that its trips stack for the backward pass stay in memory}}
      %stacked = stablehlo.while(%iter = %x) : tensor<8xf32>
        cond {
          %false = stablehlo.constant dense<false> : tensor<i1>
          stablehlo.return %false : tensor<i1>
        } do {
          stablehlo.return %iter : tensor<8xf32>
        }
      st.write %stacked to @stacked[%mb] : tensor<8xf32>
      %y = stablehlo.tanh %stacked {st.block = 1 : i64} : tensor<8xf32>
      st.write %y to @y[%mb] : tensor<8xf32>
      %z = stablehlo.exponential %stacked {st.block = 1 : i64} : tensor<8xf32>
      st.write %z to @z[%mb] : tensor<8xf32>
      st.send %z to @group1 channel 1 : tensor<8xf32>
    }
    st.task @backward0 backward stage 0 (%mb) {
      %stacked = st.read @stacked[%mb] : tensor<8xf32>
      %y = st.read @y[%mb] : tensor<8xf32>
      %z = st.read @z[%mb] : tensor<8xf32>
      %0 = stablehlo.multiply %stacked, %y : tensor<8xf32>
      %1 = stablehlo.multiply %0, %z : tensor<8xf32>
      st.send %1 to @group1 channel 2 : tensor<8xf32>
    }
  }
}

// -----

module attributes {st.recompute = "fit"} {
  st.mesh @mesh <[], micro=1>
  // expected-error @+1 {{has no st.stash_budget; expected the driver to have set it}}
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  }
}
