// RUN: st-opt --offload-stash %s | FileCheck %s
// RUN: st-opt --offload-stash --plan-memory %s | st-opt --verify-memory-plan | FileCheck %s --check-prefix=PLAN

// Among the stashes that only backward tasks read, the one with the longest wait is offloaded first: the task computes
// @first before @second and reads it after @second. One stash of 1024 bytes in two slots may stay.

module attributes {st.offload = 2048 : i64, st.target = #st.target<backend = "dtu", device = "test", alignment = 64, scratch_bytes = 65536, memory_bytes = 100000, host_bytes = 100000>} {
  st.mesh @mesh <[], micro=2>
  // PLAN: st.host_arena_bytes = 4096
  // PLAN-SAME: st.memory = {activations = 4096 : i64, {{.*}}host = 4096 : i64
  st.program @group0 stages [0, 1] devices [0] first_rank 0 mesh @mesh {
    st.state @w "w" role "parameter" of "" global tensor<256xf32> slice <@mesh, [{}]> local tensor<256xf32>
    st.input @x "x" role "batch" global tensor<512xf32> slice <@mesh, [{"micro"}]> local tensor<256xf32> micro_dim 0
    st.buffer @g "accumulator" slots 1 : tensor<256xf32>
    // CHECK: st.buffer @first "stash" slots 2 space "host" : tensor<256xf32>
    // PLAN: st.buffer @first "stash" slots 2 space "host" : tensor<256xf32> at <offset = 0, stride = 1024, slots = 2>
    st.buffer @first "stash" slots 2 : tensor<256xf32>
    // CHECK: st.buffer @second "stash" slots 2 space "host"
    st.buffer @second "stash" slots 2 : tensor<256xf32>
    // CHECK: st.buffer @third "stash" slots 2 : tensor<256xf32>
    st.buffer @third "stash" slots 2 : tensor<256xf32>
    // Values computed only from parameters stay, and so do those that another forward task reads.
    // CHECK: st.buffer @ofWeight "stash" slots 1 : tensor<256xf32>
    st.buffer @ofWeight "stash" slots 1 : tensor<256xf32>
    // CHECK: st.buffer @next "stash" slots 1 : tensor<256xf32>
    st.buffer @next "stash" slots 1 : tensor<256xf32>

    // CHECK-LABEL: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      %x = st.read @x[%mb] : tensor<256xf32>
      %w = st.read @w : tensor<256xf32>
      %a = st.kernel "loop" (%i = %x : tensor<256xf32>) -> tensor<256xf32> {
        %0 = stablehlo.tanh %i : tensor<256xf32>
        st.yield %0 : tensor<256xf32>
      }
      // A write copies: the value has a separate place, without slots.
      // PLAN-LABEL: st.task @forward0
      // PLAN: st.kernel "loop" {{.*}}st.addresses = [#st.address<offset = {{[0-9]+}}>]
      // PLAN: st.write {{.*}} to @first
      st.write %a to @first[%mb] : tensor<256xf32>
      %b = st.kernel "loop" (%i = %a : tensor<256xf32>) -> tensor<256xf32> {
        %0 = stablehlo.cosine %i : tensor<256xf32>
        st.yield %0 : tensor<256xf32>
      }
      st.write %b to @second[%mb] : tensor<256xf32>
      %c, %v = st.kernel "loop" (%i = %b : tensor<256xf32>, %j = %w : tensor<256xf32>) -> (tensor<256xf32>, tensor<256xf32>) {
        %0 = stablehlo.sine %i : tensor<256xf32>
        %1 = stablehlo.sine %j : tensor<256xf32>
        st.yield %0, %1 : tensor<256xf32>, tensor<256xf32>
      }
      st.write %c to @third[%mb] : tensor<256xf32>
      st.write %c to @next[%mb] : tensor<256xf32>
      %u = st.kernel "loop" (%i = %w : tensor<256xf32>) -> tensor<256xf32> {
        %0 = stablehlo.tanh %i : tensor<256xf32>
        st.yield %0 : tensor<256xf32>
      }
      st.write %u to @ofWeight[%mb] : tensor<256xf32>
    }
    st.task @forward1 forward stage 1 (%mb) {
      %0 = st.read @next[%mb] : tensor<256xf32>
      st.send %0 to @group1 channel 0 : tensor<256xf32>
    }
    // A read is placed where the copy before it is first used; those of the device stay first.
    // CHECK-LABEL: st.task @backward0
    // CHECK-NEXT: %[[SECOND:.*]] = st.read @second
    // CHECK-NEXT: %[[THIRD:.*]] = st.read @third
    // CHECK-NEXT: st.read @ofWeight
    // CHECK-NEXT: st.kernel "loop" ({{.*}} = %[[THIRD]]
    // CHECK: %[[FIRST:.*]] = st.read @first
    // CHECK-NEXT: %[[SUM:.*]] = st.kernel "loop" ({{.*}} = %[[SECOND]]
    // CHECK: st.kernel "loop" ({{.*}} = %[[SUM]] : tensor<256xf32>, {{.*}} = %[[FIRST]]
    // PLAN: st.read @first{{.*}} {st.addresses = [#st.address<offset = {{[0-9]+}}>]}
    st.task @backward0 backward stage 0 (%mb) {
      %first = st.read @first[%mb] : tensor<256xf32>
      %second = st.read @second[%mb] : tensor<256xf32>
      %third = st.read @third[%mb] : tensor<256xf32>
      %v = st.read @ofWeight[%mb] : tensor<256xf32>
      %a = st.kernel "loop" (%i = %third : tensor<256xf32>, %j = %v : tensor<256xf32>) -> tensor<256xf32> {
        %0 = stablehlo.multiply %i, %j : tensor<256xf32>
        st.yield %0 : tensor<256xf32>
      }
      %b = st.kernel "loop" (%i = %second : tensor<256xf32>, %j = %a : tensor<256xf32>) -> tensor<256xf32> {
        %0 = stablehlo.multiply %i, %j : tensor<256xf32>
        st.yield %0 : tensor<256xf32>
      }
      %c = st.kernel "loop" (%i = %b : tensor<256xf32>, %j = %first : tensor<256xf32>) -> tensor<256xf32> {
        %0 = stablehlo.multiply %i, %j : tensor<256xf32>
        st.yield %0 : tensor<256xf32>
      }
      st.write %c to @g accumulate sum : tensor<256xf32>
    }
    st.schedule "1f1b" [@forward0 0, @forward1 0, @forward0 1, @forward1 1, @backward0 0, @backward0 1]
  }
}
