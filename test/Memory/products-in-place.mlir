// RUN: st-opt --plan-memory --verify-memory-plan %s | FileCheck %s
//
// The attribute's older name has the same effect.
// RUN: sed s/st.no_alias/st.apart/ %s | st-opt --plan-memory --verify-memory-plan | FileCheck %s

// A product that updates a state tile by tile works in place, unless it multiplies the old state, or has `st.no_alias`.

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    // CHECK: st.state @w {{.*}} at <offset = 0>
    st.state @w "w" role "parameter" of "" global tensor<8x8xf32> slice <@mesh, [{}, {}]> local tensor<8x8xf32>
    // CHECK: st.state @u {{.*}} at <offset = 256>
    st.state @u "u" role "parameter" of "" global tensor<8x8xf32> slice <@mesh, [{}, {}]> local tensor<8x8xf32>
    // CHECK: st.state @v {{.*}} at <offset = 512>
    st.state @v "v" role "parameter" of "" global tensor<8x8xf32> slice <@mesh, [{}, {}]> local tensor<8x8xf32>
    st.buffer @g "step" slots 1 : tensor<8x8xf32>
    // CHECK-LABEL: st.task @update
    st.task @update update stage 0 (%mb) {
      %w = st.read @w : tensor<8x8xf32>
      %u = st.read @u : tensor<8x8xf32>
      %v = st.read @v : tensor<8x8xf32>
      %g = st.read @g : tensor<8x8xf32>
      // CHECK: st.kernel "matmul"
      // CHECK-SAME: st.addresses = [#st.address<offset = 0>, #st.address<offset = [[S:[0-9]+]]>]
      %nw, %s = st.kernel "matmul" (%l = %g : tensor<8x8xf32>, %a = %w : tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
        %0 = stablehlo.dot_general %l, %l, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
        %1 = stablehlo.subtract %a, %0 : tensor<8x8xf32>
        st.yield %1, %0 : tensor<8x8xf32>, tensor<8x8xf32>
      }
      // CHECK: st.kernel "matmul"
      // CHECK-NOT: st.addresses = [#st.address<offset = 256>]
      %nu = st.kernel "matmul" (%l = %u : tensor<8x8xf32>, %r = %s : tensor<8x8xf32>, %a = %u : tensor<8x8xf32>) -> tensor<8x8xf32> {
        %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
        %1 = stablehlo.subtract %a, %0 : tensor<8x8xf32>
        st.yield %1 : tensor<8x8xf32>
      }
      // CHECK: st.kernel "matmul"
      // CHECK-NOT: st.addresses = [#st.address<offset = 512>]
      %nv = st.kernel "matmul" (%l = %g : tensor<8x8xf32>, %a = %v : tensor<8x8xf32>) -> tensor<8x8xf32> attributes {st.no_alias} {
        %0 = stablehlo.dot_general %l, %l, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
        %1 = stablehlo.subtract %a, %0 : tensor<8x8xf32>
        st.yield %1 : tensor<8x8xf32>
      }
      st.write %nw to @w : tensor<8x8xf32>
      // CHECK: st.write {{.*}} to @u
      st.write %nu to @u : tensor<8x8xf32>
      // CHECK: st.write {{.*}} to @v
      st.write %nv to @v : tensor<8x8xf32>
    }
  }
}
