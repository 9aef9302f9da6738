// RUN: st-opt %s --lift-constants | FileCheck %s
// RUN: st-opt %s --lift-constants --plan-memory --convert-kernels-to-gpu | FileCheck --check-prefix=GPU %s

// Numbers that differ between kernels become inputs, equal ones stay; one function remains, although the kernels
// are of different layers. Initial values of reductions stay, too.
// CHECK-LABEL: st.task @forward0
// CHECK: %[[ONE:.*]] = stablehlo.constant dense<1> : tensor<ui32>
// CHECK: st.kernel "loop" (%[[X:.*]] = %{{.*}} : tensor<4xui32>, %[[C:.*]] = %[[ONE]] : tensor<ui32>)
// CHECK-NEXT: %[[TWO:.*]] = stablehlo.constant dense<2> : tensor<ui32>
// CHECK-NEXT: stablehlo.broadcast_in_dim %[[C]]
// CHECK: %[[FOUR:.*]] = stablehlo.constant dense<4> : tensor<ui32>
// CHECK: st.kernel "loop" (%{{.*}} = %{{.*}} : tensor<4xui32>, %{{.*}} = %[[FOUR]] : tensor<ui32>)
// CHECK: st.kernel "reduce" (%{{.*}} = %{{[^,]*}} : tensor<4xui32>) ->
// CHECK-NEXT: stablehlo.constant dense<0>
// CHECK: st.kernel "reduce" (%{{.*}} = %{{[^,]*}} : tensor<4xui32>) ->
// CHECK-NEXT: stablehlo.constant dense<7>

// GPU: gpu.func @loop_0
// GPU-NOT: gpu.func @loop_
// GPU: gpu.func @reduce_1
// GPU: gpu.func @reduce_2
// GPU-NOT: gpu.func
module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @a "a" role "batch" global tensor<4xui32> slice <@mesh, [{}]> local tensor<4xui32> micro_dim -1
    st.buffer @x "step" slots 1 : tensor<4xui32>
    st.buffer @y "step" slots 1 : tensor<4xui32>
    st.buffer @s "step" slots 1 : tensor<ui32>
    st.buffer @t "step" slots 1 : tensor<ui32>
    st.task @forward0 forward stage 0 (%mb) {
      %a = st.read @a : tensor<4xui32>
      %x = st.kernel "loop" (%v = %a : tensor<4xui32>) -> tensor<4xui32> {
        %c = stablehlo.constant dense<1> : tensor<ui32>
        %two = stablehlo.constant dense<2> : tensor<ui32>
        %b = stablehlo.broadcast_in_dim %c, dims = [] {st.block = 0 : i64} : (tensor<ui32>) -> tensor<4xui32>
        %d = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<ui32>) -> tensor<4xui32>
        %p = stablehlo.multiply %v, %d : tensor<4xui32>
        %q = stablehlo.add %p, %b {st.block = 0 : i64} : tensor<4xui32>
        st.yield %q : tensor<4xui32>
      }
      st.write %x to @x : tensor<4xui32>
      %y = st.kernel "loop" (%v = %a : tensor<4xui32>) -> tensor<4xui32> {
        %c = stablehlo.constant dense<4> : tensor<ui32>
        %two = stablehlo.constant dense<2> : tensor<ui32>
        %b = stablehlo.broadcast_in_dim %c, dims = [] {st.block = 1 : i64} : (tensor<ui32>) -> tensor<4xui32>
        %d = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<ui32>) -> tensor<4xui32>
        %p = stablehlo.multiply %v, %d : tensor<4xui32>
        %q = stablehlo.add %p, %b {st.block = 1 : i64} : tensor<4xui32>
        st.yield %q : tensor<4xui32>
      }
      st.write %y to @y : tensor<4xui32>
      %s = st.kernel "reduce" (%v = %a : tensor<4xui32>) -> tensor<ui32> {
        %c = stablehlo.constant dense<0> : tensor<ui32>
        %r = stablehlo.reduce(%v init: %c) applies stablehlo.add across dimensions = [0] : (tensor<4xui32>, tensor<ui32>) -> tensor<ui32>
        st.yield %r : tensor<ui32>
      }
      st.write %s to @s : tensor<ui32>
      %t = st.kernel "reduce" (%v = %a : tensor<4xui32>) -> tensor<ui32> {
        %c = stablehlo.constant dense<7> : tensor<ui32>
        %r = stablehlo.reduce(%v init: %c) applies stablehlo.add across dimensions = [0] : (tensor<4xui32>, tensor<ui32>) -> tensor<ui32>
        st.yield %r : tensor<ui32>
      }
      st.write %t to @t : tensor<ui32>
    }
    st.schedule "sequential" [@forward0 0]
  }
}
