// RUN: st-opt --plan-memory %s | st-opt --verify-memory-plan | FileCheck %s

module attributes {st.target = #st.target<backend = "dtu", device = "test", alignment = 64, scratch_bytes = 65536, memory_bytes = 100000>} {
  st.mesh @mesh <[], micro=2>
  // CHECK-LABEL: st.program @group0
  // CHECK-SAME: st.arena_bytes = 1408
  // CHECK-SAME: st.memory = {activations = 512 : i64, gradients = 64 : i64, inputs = 256 : i64, optimizer = 64 : i64, parameters = 128 : i64, workspace = 384 : i64}
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    // CHECK: st.state @w {{.*}} at <offset = 0>
    st.state @w "w" role "parameter" of "" global tensor<4x4xf32> slice <@mesh, [{}, {}]> local tensor<4x4xf32>
    // CHECK: st.state @b {{.*}} at <offset = 64>
    st.state @b "b" role "parameter" of "" global tensor<4xf32> slice <@mesh, [{}]> local tensor<4xf32>
    // CHECK: st.state @m {{.*}} at <offset = 128>
    st.state @m "w.momentum" role "optimizer_state" of "w" global tensor<4x4xf32> slice <@mesh, [{}, {}]> local tensor<4x4xf32>
    // Both micro-batches of an input are present from the start.
    // CHECK: st.input @x {{.*}} at <offset = 192, stride = 128, slots = 2>
    st.input @x "x" role "batch" global tensor<16x4xf32> slice <@mesh, [{"micro"}, {}]> local tensor<8x4xf32> micro_dim 0
    // CHECK: st.output @loss {{.*}} at <offset = 448>
    st.output @loss "loss" role "loss" global tensor<f32> slice <@mesh, []> local tensor<f32>
    // CHECK: st.buffer @g "accumulator" slots 1 : tensor<4x4xf32> at <offset = 512>
    st.buffer @g "accumulator" slots 1 : tensor<4x4xf32>
    // CHECK: st.buffer @h {{.*}} at <offset = 576, stride = 128, slots = 2>
    st.buffer @h "stash" slots 2 : tensor<8x4xf32>
    // CHECK: st.buffer @k {{.*}} at <offset = 832, stride = 128, slots = 2>
    st.buffer @k "stash" slots 2 : tensor<32xf32>

    // CHECK-LABEL: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      // A read has the address of its storage, a reshape that of its operand.
      // CHECK: st.read @x{{.*}} {st.addresses = [#st.address<offset = 192, stride = 128, slots = 2>]}
      %x = st.read @x[%mb] : tensor<8x4xf32>
      %flat = stablehlo.reshape %x : (tensor<8x4xf32>) -> tensor<32xf32>
      // CHECK: stablehlo.reshape {{.*}}st.addresses = [#st.address<offset = 192, stride = 128, slots = 2>]
      // The first result is computed in its slot of the stash, even if it is written with another shape. The
      // second lives until the third has read it; the fourth reuses its memory.
      // CHECK: st.kernel "loop"
      // CHECK-SAME: st.addresses = [#st.address<offset = 832, stride = 128, slots = 2>, #st.address<offset = 1152>]
      %a, %t = st.kernel "loop" (%i = %x : tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
        %0 = stablehlo.tanh %i : tensor<8x4xf32>
        %1 = stablehlo.negate %0 : tensor<8x4xf32>
        st.yield %0, %1 : tensor<8x4xf32>, tensor<8x4xf32>
      }
      %aflat = stablehlo.reshape %a : (tensor<8x4xf32>) -> tensor<32xf32>
      st.write %aflat to @k[%mb] : tensor<32xf32>
      // CHECK: st.kernel "copy" {{.*}}st.addresses = [#st.address<offset = 1280>]
      %u = st.kernel "copy" (%i = %t : tensor<8x4xf32>) -> tensor<4x8xf32> {
        %0 = stablehlo.transpose %i, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
        st.yield %0 : tensor<4x8xf32>
      }
      // CHECK: st.kernel "copy" {{.*}}st.addresses = [#st.address<offset = 1152>]
      %v = st.kernel "copy" (%i = %u : tensor<4x8xf32>) -> tensor<8x4xf32> {
        %0 = stablehlo.transpose %i, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
        st.yield %0 : tensor<8x4xf32>
      }
      // A value that is written twice is in one of the places and is copied to the other. Equal
      // constants share a place.
      // CHECK: stablehlo.constant {st.addresses = [#st.address<offset = [[C:[0-9]+]]>]}
      %c = stablehlo.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
      // CHECK: st.kernel "matmul" {{.*}}st.addresses = [#st.address<offset = 576, stride = 128, slots = 2>]
      %w = st.read @w : tensor<4x4xf32>
      %y = st.kernel "matmul" (%l = %v : tensor<8x4xf32>, %r = %w : tensor<4x4xf32>) -> tensor<8x4xf32> {
        %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
        st.yield %0 : tensor<8x4xf32>
      }
      st.write %y to @h[%mb] : tensor<8x4xf32>
      %d = stablehlo.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
      // CHECK: stablehlo.constant {st.addresses = [#st.address<offset = [[C]]>]}
    }

    // CHECK-LABEL: st.task @update
    st.task @update update stage 0 (%mb) {
      %w = st.read @w : tensor<4x4xf32>
      %b = st.read @b : tensor<4xf32>
      %g = st.read @g : tensor<4x4xf32>
      %m = st.read @m : tensor<4x4xf32>
      // Parameter and momentum are updated in place. The bias is not: every row of the product reads it.
      // CHECK: st.kernel "loop"
      // CHECK-SAME: st.addresses = [#st.address<offset = 0>, #st.address<offset = 128>]
      %nw, %nm = st.kernel "loop" (%p = %w : tensor<4x4xf32>, %q = %m : tensor<4x4xf32>, %r = %g : tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
        %0 = stablehlo.add %q, %r : tensor<4x4xf32>
        %1 = stablehlo.subtract %p, %0 : tensor<4x4xf32>
        st.yield %1, %0 : tensor<4x4xf32>, tensor<4x4xf32>
      }
      // CHECK: st.kernel "loop"
      // CHECK-SAME: st.addresses = [#st.address<offset = 1152>]
      %nb = st.kernel "loop" (%p = %b : tensor<4xf32>, %q = %g : tensor<4x4xf32>) -> tensor<4xf32> {
        %0 = stablehlo.broadcast_in_dim %p, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
        %1 = stablehlo.add %0, %q : tensor<4x4xf32>
        %z = stablehlo.constant dense<0.0> : tensor<f32>
        %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
        st.yield %2 : tensor<4xf32>
      }
      st.write %nw to @w : tensor<4x4xf32>
      st.write %nm to @m : tensor<4x4xf32>
      st.write %nb to @b : tensor<4xf32>
    }
  }
}
