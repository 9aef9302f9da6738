// Parameters have the addresses of the arena's other program. All other memory follows that program's part.
//
// RUN: st-opt --plan-memory %s | st-opt --verify-memory-plan | FileCheck %s

module attributes {st.target = #st.target<backend = "dtu", device = "test", alignment = 64, scratch_bytes = 65536, memory_bytes = 100000>} {
  st.mesh @mesh <[], micro=1>
  // CHECK-LABEL: st.program @group0
  // CHECK-SAME: st.arena_bytes = 512
  // CHECK-SAME: st.memory = {activations = 0 : i64, gradients = 0 : i64, inputs = 64 : i64, optimizer = 192 : i64, parameters = 128 : i64, workspace = 128 : i64}
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh attributes {st.resident = {b = 192 : i64, w = 0 : i64}, st.resident_end = 300 : i64} {
    // CHECK: st.state @w {{.*}} at <offset = 0>
    st.state @w "w" role "parameter" of "" global tensor<4x4xf32> slice <@mesh, [{}, {}]> local tensor<4x4xf32>
    // CHECK: st.state @b {{.*}} at <offset = 192>
    st.state @b "b" role "parameter" of "" global tensor<4x4xf32> slice <@mesh, [{}, {}]> local tensor<4x4xf32>
    // CHECK: st.input @x {{.*}} at <offset = 320>
    st.input @x "x" role "batch" global tensor<4x4xf32> slice <@mesh, [{}, {}]> local tensor<4x4xf32> micro_dim -1
    // CHECK: st.output @y {{.*}} at <offset = 384>
    st.output @y "y" role "metric" global tensor<4x4xf32> slice <@mesh, [{}, {}]> local tensor<4x4xf32>
    // CHECK: st.read @w {st.addresses = [#st.address<offset = 0>]}
    // CHECK: st.kernel "loop"
    // CHECK-SAME: st.addresses = [#st.address<offset = 448>]
    st.task @forward0 forward stage 0 (%mb) {
      %w = st.read @w : tensor<4x4xf32>
      %b = st.read @b : tensor<4x4xf32>
      %x = st.read @x : tensor<4x4xf32>
      %0 = st.kernel "loop" (%i = %w : tensor<4x4xf32>, %j = %x : tensor<4x4xf32>) -> tensor<4x4xf32> {
        %1 = stablehlo.add %i, %j : tensor<4x4xf32>
        st.yield %1 : tensor<4x4xf32>
      }
      %2 = st.kernel "loop" (%i = %0 : tensor<4x4xf32>, %j = %b : tensor<4x4xf32>) -> tensor<4x4xf32> {
        %3 = stablehlo.add %i, %j : tensor<4x4xf32>
        st.yield %3 : tensor<4x4xf32>
      }
      st.write %2 to @y : tensor<4x4xf32>
    }
    st.schedule "sequential" [@forward0 0]
  }
}
