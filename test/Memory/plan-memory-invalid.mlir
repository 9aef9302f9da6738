// RUN: st-opt --plan-memory --split-input-file --verify-diagnostics %s

// Two ranks share device 0.

module attributes {st.target = #st.target<backend = "dtu", device = "test", alignment = 64, scratch_bytes = 65536, memory_bytes = 5242880>} {
  st.mesh @mesh <["tensor"=2], micro=1>
  // expected-error @+1 {{needs 8 MiB on device 0, which has 5 MiB: 3 MiB too much; use more shards, more stages or more micro-batches of a smaller size}}
  st.program @group0 stages [0] devices [0, 0] first_rank 0 mesh @mesh {
    st.state @w "w" role "parameter" of "" global tensor<1048576xf32> slice <@mesh, [{}]> local tensor<1048576xf32>
  }
}

// -----

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @x "step" slots 1 : tensor<8xf32>
    st.buffer @y "step" slots 1 : tensor<8xf32>
    st.task @update update stage 0 (%mb) {
      // expected-note @+1 {{read here}}
      %x = st.read @x : tensor<8xf32>
      %y = st.read @y : tensor<8xf32>
      // expected-error @+1 {{overwrites @x while the task still needs what it read from there}}
      st.write %y to @x : tensor<8xf32>
      st.write %x to @y : tensor<8xf32>
    }
  }
}
