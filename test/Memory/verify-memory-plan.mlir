// RUN: st-opt --verify-memory-plan --split-input-file --verify-diagnostics %s

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh attributes {st.arena_bytes = 256 : i64} {
    st.task @forward0 forward stage 0 (%mb) {
      // expected-note @+1 {{that value is defined here}}
      %0 = st.recv from @group1 channel 0 {st.addresses = [#st.address<offset = 0>]} : tensor<8xf32>
      // expected-error @+1 {{result 0 at [16, 48) overwrites a value at [0, 32) that is still needed}}
      %1 = st.recv from @group1 channel 1 {st.addresses = [#st.address<offset = 16>]} : tensor<8xf32>
      st.send %0 to @group1 channel 2 : tensor<8xf32>
    }
  }
}

// -----

// The reversal reads elements after it has written others over them.

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh attributes {st.arena_bytes = 256 : i64} {
    st.state @w "w" role "parameter" of "" global tensor<8xf32> slice <@mesh, [{}]> local tensor<8xf32> at <offset = 0>
    st.task @update update stage 0 (%mb) {
      // expected-note @+1 {{that value is defined here}}
      %0 = st.read @w {st.addresses = [#st.address<offset = 0>]} : tensor<8xf32>
      // expected-error @+1 {{result 0 at [0, 32) overwrites a value at [0, 32) that is still needed}}
      %1 = st.kernel "copy" (%a = %0 : tensor<8xf32>) -> tensor<8xf32> attributes {st.addresses = [#st.address<offset = 0>]} {
        %2 = stablehlo.reverse %a, dims = [0] : tensor<8xf32>
        st.yield %2 : tensor<8xf32>
      }
      st.write %1 to @w : tensor<8xf32>
    }
  }
}

// -----

// Element by element this is valid.

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh attributes {st.arena_bytes = 256 : i64} {
    st.state @w "w" role "parameter" of "" global tensor<8xf32> slice <@mesh, [{}]> local tensor<8xf32> at <offset = 0>
    st.task @update update stage 0 (%mb) {
      %0 = st.read @w {st.addresses = [#st.address<offset = 0>]} : tensor<8xf32>
      %1 = st.kernel "loop" (%a = %0 : tensor<8xf32>) -> tensor<8xf32> attributes {st.addresses = [#st.address<offset = 0>]} {
        %2 = stablehlo.negate %a : tensor<8xf32>
        st.yield %2 : tensor<8xf32>
      }
      st.write %1 to @w : tensor<8xf32>
    }
  }
}

// -----

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh attributes {st.arena_bytes = 256 : i64} {
    st.state @w "w" role "parameter" of "" global tensor<8xf32> slice <@mesh, [{}]> local tensor<8xf32> at <offset = 64>
    // expected-note @+1 {{at [0, 32)}}
    st.state @b "b" role "parameter" of "" global tensor<8xf32> slice <@mesh, [{}]> local tensor<8xf32> at <offset = 0>
    st.task @update update stage 0 (%mb) {
      // expected-error @+1 {{result 0 at [0, 32) is in storage that no write of this value targets}}
      %0 = st.recv from @group1 channel 0 {st.addresses = [#st.address<offset = 0>]} : tensor<8xf32>
      st.write %0 to @w : tensor<8xf32>
    }
  }
}

// -----

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh attributes {st.arena_bytes = 256 : i64} {
    st.buffer @x "step" slots 1 : tensor<8xf32> at <offset = 0>
    st.buffer @y "step" slots 1 : tensor<8xf32> at <offset = 64>
    st.task @update update stage 0 (%mb) {
      // expected-note @+1 {{that value is defined here}}
      %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<8xf32>
      %1 = st.read @y {st.addresses = [#st.address<offset = 64>]} : tensor<8xf32>
      // expected-error @+1 {{overwrites a value at [0, 32) that is still needed}}
      st.write %1 to @x : tensor<8xf32>
      st.send %0 to @group1 channel 0 : tensor<8xf32>
    }
  }
}

// -----

module {
  st.mesh @mesh <[], micro=2>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh attributes {st.arena_bytes = 256 : i64} {
    // expected-note @+1 {{at [0, 96)}}
    st.input @x "x" role "batch" global tensor<16xf32> slice <@mesh, [{"micro"}]> local tensor<8xf32> micro_dim 0 at <offset = 0, stride = 64, slots = 2>
    // expected-error @+1 {{at [64, 96) overlaps other storage}}
    st.buffer @y "step" slots 1 : tensor<8xf32> at <offset = 64>
  }
}

// -----

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh attributes {st.arena_bytes = 64 : i64} {
    // expected-error @+1 {{is at [48, 80), outside the arena of 64 bytes}}
    st.buffer @y "step" slots 1 : tensor<8xf32> at <offset = 48>
  }
}

// -----

module {
  st.mesh @mesh <[], micro=1>
  // expected-error @+1 {{has no st.arena_bytes; expected plan-memory to have run}}
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  }
}

// -----

// The host has a separate arena.

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh attributes {st.arena_bytes = 64 : i64, st.host_arena_bytes = 96 : i64} {
    st.buffer @a "step" slots 1 : tensor<8xf32> at <offset = 0>
    // expected-note @+1 {{at [0, 32)}}
    st.buffer @x "stash" slots 1 space "host" : tensor<8xf32> at <offset = 0>
    // expected-error @+1 {{at [16, 48) overlaps other storage}}
    st.buffer @y "stash" slots 1 space "host" : tensor<8xf32> at <offset = 16>
  }
}

// -----

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh attributes {st.arena_bytes = 256 : i64} {
    // expected-error @+1 {{is at [0, 32), outside the arena of 0 bytes on the host}}
    st.buffer @x "stash" slots 1 space "host" : tensor<8xf32> at <offset = 0>
  }
}

// -----

// A value read from the host takes a place on the device.

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh attributes {st.arena_bytes = 256 : i64, st.host_arena_bytes = 64 : i64} {
    st.buffer @x "stash" slots 1 space "host" : tensor<8xf32> at <offset = 0>
    st.task @backward0 backward stage 0 (%mb) {
      // expected-note @+1 {{that value is defined here}}
      %0 = st.recv from @group1 channel 0 {st.addresses = [#st.address<offset = 0>]} : tensor<8xf32>
      // expected-error @+1 {{result 0 at [0, 32) overwrites a value at [0, 32) that is still needed}}
      %1 = st.read @x[%mb] {st.addresses = [#st.address<offset = 0>]} : tensor<8xf32>
      st.send %0 to @group1 channel 1 : tensor<8xf32>
      st.send %1 to @group1 channel 2 : tensor<8xf32>
    }
  }
}
