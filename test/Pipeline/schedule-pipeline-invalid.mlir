// RUN: st-opt --schedule-pipeline --split-input-file --verify-diagnostics %s

// Each group waits before it sends.

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.task @update update stage 0 (%mb) {
      // expected-error @+1 {{waits forever: @group0 waits in @update, micro-batch 0, for @group1 on channel 1}}
      %0 = st.recv from @group1 channel 1 : tensor<2xf32>
      st.send %0 to @group1 channel 0 : tensor<2xf32>
    }
  }
  st.program @group1 stages [1] devices [1] first_rank 1 mesh @mesh {
    st.task @update update stage 1 (%mb) {
      // expected-note @+1 {{@group1 waits in @update, micro-batch 0, for @group0 on channel 0}}
      %0 = st.recv from @group0 channel 0 : tensor<2xf32>
      st.send %0 to @group0 channel 1 : tensor<2xf32>
    }
  }
}

// -----

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.task @update update stage 0 (%mb) {
      %0 = stablehlo.constant dense<0.0> : tensor<2xf32>
      // expected-error @+1 {{to @group1 on channel 0 of micro-batch 0 is never received}}
      st.send %0 to @group1 channel 0 : tensor<2xf32>
    }
  }
  st.program @group1 stages [1] devices [1] first_rank 1 mesh @mesh {
  }
}

// -----

// The first group sends once per step, the second expects a message per micro-batch.

module {
  st.mesh @mesh <[], micro=2>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.task @prologue prologue stage 0 (%mb) {
      %0 = stablehlo.constant dense<0.0> : tensor<2xf32>
      st.send %0 to @group1 channel 0 : tensor<2xf32>
      // expected-note @+1 {{sent here}}
      st.send %0 to @group1 channel 0 : tensor<2xf32>
    }
  }
  st.program @group1 stages [1] devices [1] first_rank 1 mesh @mesh {
    st.task @forward1 forward stage 1 (%mb) {
      // expected-error @+1 {{expects 'tensor<2xf32>' of micro-batch 1, gets 'tensor<2xf32>' of micro-batch 0}}
      %0 = st.recv from @group0 channel 0 : tensor<2xf32>
    }
  }
}

// -----

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    // expected-note@+1 {{the buffer is here}}
    st.buffer @stash0 "stash" slots 1 : tensor<2xf32>
    // expected-error @+1 {{of micro-batch 0 reads @stash0 before any task has written it}}
    st.task @forward0 forward stage 0 (%mb) {
      %0 = st.read @stash0[%mb] : tensor<2xf32>
    }
  }
}

// -----

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    // expected-note @+1 {{the first is here; expected one per stage}}
    st.task @a forward stage 0 (%mb) {
    }
    // expected-error @+1 {{is a second task of phase forward}}
    st.task @b forward stage 0 (%mb) {
    }
  }
}

// -----

// expected-error @+1 {{unknown schedule "zigzag", expected sequential, gpipe, 1f1b, interleaved, zb-h1, zb-h2 or zb-v}}
module attributes {st.schedule = "zigzag"} {
  st.mesh @mesh <[], micro=1>
}
