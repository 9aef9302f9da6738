// RUN: st-opt --offload-stash --split-input-file --verify-diagnostics %s

// expected-error @+1 {{the module's st.offload is 0 : i64, but target dtu-x has no link to a host's memory}}
module attributes {st.offload = 0 : i64, st.target = #st.target<backend = "dtu", device = "dtu-x", alignment = 64, scratch_bytes = 65536, memory_bytes = 100000>} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.schedule "sequential" []
  }
}

// -----

// expected-error @+1 {{the module's st.offload is "much"; expected a number of bytes from 0}}
module attributes {st.offload = "much"} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.schedule "sequential" []
  }
}

// -----

// expected-warning @+1 {{offload has no effect: no activation waits for a backward task}}
module attributes {st.offload = 0 : i64} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @next "stash" slots 1 : tensor<256xf32>
    st.task @forward0 forward stage 0 (%mb) {
      %0 = st.recv from @group1 channel 0 : tensor<256xf32>
      st.write %0 to @next[%mb] : tensor<256xf32>
    }
    st.task @forward1 forward stage 1 (%mb) {
      %0 = st.read @next[%mb] : tensor<256xf32>
      st.send %0 to @group1 channel 1 : tensor<256xf32>
    }
    st.schedule "sequential" [@forward0 0, @forward1 0]
  }
}
