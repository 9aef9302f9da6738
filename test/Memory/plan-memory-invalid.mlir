// RUN: st-opt --plan-memory --split-input-file --verify-diagnostics %s

// Two ranks share device 0.

module attributes {st.target = #st.target<backend = "dtu", device = "test", alignment = 64, scratch_bytes = 65536, memory_bytes = 5242880>} {
  st.mesh @mesh <["tensor"=2], micro=1>
  // expected-error @+1 {{device group group0: device 0 needs 8388608 bytes for its 2 ranks and has 5242880 (a rank: activations 0, gradients 0, inputs 0, optimizer 0, parameters 4194304, workspace 0); it needs 2 times as many shards (sharding_size) or stages (stage_cnt)}}
  st.program @group0 stages [0] devices [0, 0] first_rank 0 mesh @mesh {
    st.state @w "w" role "parameter" of "" global tensor<1048576xf32> slice <@mesh, [{}]> local tensor<1048576xf32>
  }
}

// -----

// Four micro-batches of four rows; two are in flight on the first of two groups.

module attributes {st.target = #st.target<backend = "dtu", device = "test", alignment = 64, scratch_bytes = 65536, memory_bytes = 16384>} {
  st.mesh @mesh <[], micro=4>
  // expected-error @+1 {{device group group0: device 0 needs 25600 bytes and has 16384 (a rank: activations 24576, gradients 0, inputs 1024, optimizer 0, parameters 0, workspace 0); 8 micro-batches (accum_degree) of 2 rows per device fit}}
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @ids "ids" role "batch" global tensor<16x16xi32> slice <@mesh, [{"micro"}, {}]> local tensor<4x16xi32> micro_dim 0
    st.buffer @stash "stash" slots 2 : tensor<4x768xf32>
  }
  st.program @group1 stages [1] devices [1] first_rank 1 mesh @mesh {
  }
}

// -----

// Optimizer state that each of two replicas holds completely.

module attributes {st.target = #st.target<backend = "dtu", device = "test", alignment = 64, scratch_bytes = 65536, memory_bytes = 10240>} {
  st.mesh @mesh <["data"=2], micro=1>
  // expected-error @+1 {{and has 10240 (a rank: activations 0, gradients 0, inputs 0, optimizer 8192, parameters 4096, workspace 0); "zero": 1 in the parallel file frees enough}}
  st.program @group0 stages [0] devices [0, 1] first_rank 0 mesh @mesh {
    st.state @w "w" role "parameter" of "" global tensor<1024xf32> slice <@mesh, [{}]> local tensor<1024xf32>
    st.state @m "w.exp_avg" role "optimizer_state" of "w" global tensor<1024xf32> slice <@mesh, [{}]> local tensor<1024xf32>
    st.state @v "w.exp_avg_sq" role "optimizer_state" of "w" global tensor<1024xf32> slice <@mesh, [{}]> local tensor<1024xf32>
  }
}

// -----

// Stashes of four micro-batches in flight, of one row each. Without the core of attention they take 4 x 1000 bytes less,
// which is not enough; layer inputs alone take 4 x 3000 less, less 1500 for the recomputed layer.

module attributes {st.target = #st.target<backend = "dtu", device = "test", alignment = 64, scratch_bytes = 65536, memory_bytes = 10240>} {
  st.mesh @mesh <[], micro=4>
  // expected-error @+1 {{needs 16384 bytes and has 10240 (a rank: activations 16384, gradients 0, inputs 0, optimizer 0, parameters 0, workspace 0); "recompute": "full" in the parallel file frees about 10500 bytes, which is enough}}
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @stash "stash" slots 4 : tensor<1024xf32>
    st.task @forward0 forward stage 0 (%mb) attributes {st.recompute_saves = {full = array<i64: 3000, 1500>, selective = array<i64: 1000, 500>}} {
      %x = st.recv from @group1 channel 0 : tensor<1024xf32>
      st.write %x to @stash[%mb] : tensor<1024xf32>
    }
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
      // expected-error @+1 {{overwrites @x while the task still needs a value that it read from there}}
      st.write %y to @x : tensor<8xf32>
      st.write %x to @y : tensor<8xf32>
    }
  }
}

// -----

// The same, on a device with a host, without a record of what recomputation saves.

module attributes {st.target = #st.target<backend = "dtu", device = "test", alignment = 64, scratch_bytes = 65536, memory_bytes = 10240, host_bytes = 100000>} {
  st.mesh @mesh <[], micro=4>
  // expected-error @+1 {{needs 24576 bytes and has 10240 (a rank: activations 24576, gradients 0, inputs 0, optimizer 0, parameters 0, workspace 0); "offload": true in the parallel file moves about 20480 bytes to the host, which is enough}}
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @stash0 "stash" slots 4 : tensor<1024xf32>
    st.buffer @stash1 "stash" slots 2 : tensor<1024xf32>
    st.task @forward0 forward stage 0 (%mb) {
      %x = st.recv from @group1 channel 0 : tensor<1024xf32>
      st.write %x to @stash0[%mb] : tensor<1024xf32>
      %y = st.recv from @group1 channel 1 : tensor<1024xf32>
      st.write %y to @stash1[%mb] : tensor<1024xf32>
    }
    st.task @backward0 backward stage 0 (%mb) {
      %x = st.read @stash0[%mb] : tensor<1024xf32>
      %y = st.read @stash1[%mb] : tensor<1024xf32>
      st.send %x to @group1 channel 2 : tensor<1024xf32>
      st.send %y to @group1 channel 3 : tensor<1024xf32>
    }
  }
}

// -----

// The host's memory is limited too.

module attributes {st.target = #st.target<backend = "dtu", device = "test", alignment = 64, scratch_bytes = 65536, memory_bytes = 10240, host_bytes = 4096>} {
  st.mesh @mesh <[], micro=2>
  // expected-error @+1 {{device group group0: device 0 offloads 8192 bytes, but its host memory holds 4096; a larger {"bytes": n} of offload in the parallel file keeps more on the device}}
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @stash "stash" slots 2 space "host" : tensor<1024xf32>
  }
}
