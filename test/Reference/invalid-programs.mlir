// RUN: st-translate --interpret --split-input-file --verify-diagnostics %s

st.mesh @mesh <[], micro=1>

st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-error@below {{no input 'w'}}
  st.state @w "w" role "parameter" of "" global tensor<2xf32> slice #st.sharding<@mesh, [{}]> local tensor<2xf32>
}

// -----

st.mesh @mesh <[], micro=1>

st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.task @forward0 forward stage 0 (%mb) {
    // expected-error@below {{deadlock: @group0 waits in @forward0 of micro-batch 0 for @group1 over channel 3}}
    %0 = st.recv from @group1 channel 3 : tensor<2xf32>
    st.send %0 to @group1 channel 4 : tensor<2xf32>
  }
}
st.program @group1 stages [1] devices [1] first_rank 1 mesh @mesh {
  st.task @forward1 forward stage 1 (%mb) {
    // expected-note@below {{@group1 waits in @forward1 of micro-batch 0 for @group0 over channel 4}}
    %0 = st.recv from @group0 channel 4 : tensor<2xf32>
    st.send %0 to @group0 channel 3 : tensor<2xf32>
  }
}

// -----

// expected-error@below {{2 messages from @group0 to @group1 over channel 0 were never received}}
module {
  st.mesh @mesh <[], micro=2>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.task @forward0 forward stage 0 (%mb) {
      %0 = stablehlo.constant dense<1.0> : tensor<2xf32>
      st.send %0 to @group1 channel 0 : tensor<2xf32>
    }
  }
  st.program @group1 stages [1] devices [1] first_rank 1 mesh @mesh {
  }
}

// -----

st.mesh @mesh <[], micro=1>

st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-note@+1 {{the storage is here}}
  st.buffer @stash "stash" slots 1 : tensor<2xf32>
  st.task @forward0 forward stage 0 (%mb) {
    // expected-error@below {{reads @stash before anything was written to it}}
    %0 = st.read @stash[%mb] : tensor<2xf32>
  }
}

// -----

// A stash that is overwritten while a backward task still needs it.
st.mesh @mesh <[], micro=2>

st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-note@+1 {{the storage is here}}
  st.buffer @stash "stash" slots 1 : tensor<2xf32>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = stablehlo.constant dense<1.0> : tensor<2xf32>
    st.write %0 to @stash[%mb] : tensor<2xf32>
  }
  st.task @backward0 backward stage 0 (%mb) {
    // expected-error@below {{reads micro-batch 0 of @stash, but its slot holds micro-batch 1}}
    %0 = st.read @stash[%mb] : tensor<2xf32>
  }
  st.schedule "gpipe" [@forward0 0, @forward0 1, @backward0 0, @backward0 1]
}

// -----

st.mesh @mesh <[], micro=3>

st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-note@+1 {{the storage is here}}
  st.buffer @stash "stash" slots 2 : tensor<2xf32>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = stablehlo.constant dense<1.0> : tensor<2xf32>
    st.write %0 to @stash[%mb] : tensor<2xf32>
  }
  st.task @backward0 backward stage 0 (%mb) {
    // expected-error@below {{reads micro-batch 0 of @stash, but its slot holds micro-batch 2}}
    %0 = st.read @stash[%mb] : tensor<2xf32>
  }
  st.schedule "gpipe" [@forward0 0, @forward0 1, @forward0 2, @backward0 0, @backward0 1, @backward0 2]
}

// -----

st.mesh @mesh <[], micro=2>

st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  // expected-error@below {{no task wrote this output}}
  st.output @loss "loss" role "loss" global tensor<f32> slice #st.sharding<@mesh, []> local tensor<f32>
}

// -----

// expected-note@+1 {{the mesh is here}}
st.mesh @mesh <[], micro=1>

// expected-error@below {{has 2 devices, expected 1, one per position of the mesh}}
st.program @group0 stages [0] devices [0, 1] first_rank 0 mesh @mesh {
}
