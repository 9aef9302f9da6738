// RUN: st-opt --group-kernels %s | FileCheck %s

// Equal kernels with small results move next to each other if their operands are available there. A kernel that reads a
// later value, a kernel with large results and a product stay. Reshapes move with their users.
// CHECK-LABEL: st.task @update
// CHECK: st.kernel "reduce" (%{{.*}} = %[[G0:.*]] : tensor<4096xf32>)
// CHECK: st.kernel "reduce" (%{{.*}} = %[[G1:.*]] : tensor<4096xf32>)
// CHECK: %[[N0:.*]] = st.kernel "loop" (%{{.*}} = %{{.*}} : tensor<f32>) -> tensor<f32>
// CHECK: %[[N1:.*]] = st.kernel "loop" (%{{.*}} = %{{.*}} : tensor<f32>) -> tensor<f32>
// CHECK: %[[LARGE:.*]] = st.kernel "loop" (%{{.*}} = %{{.*}} : tensor<4096xf32>, %{{.*}} = %[[N0]] : tensor<f32>) -> tensor<4096xf32>
// CHECK-NEXT: stablehlo.broadcast_in_dim
// CHECK: st.kernel "reduce" (%{{.*}} = %[[LARGE]] : tensor<4096xf32>)
// CHECK: st.kernel "loop" (%{{.*}} = %[[LARGE]] : tensor<4096xf32>, %{{.*}} = %[[N1]] : tensor<f32>) -> tensor<4096xf32>
// CHECK: %[[P0:.*]] = st.kernel "reduce" (%{{.*}} = %{{.*}} : tensor<64x64xf32>) -> tensor<64xf32>
// CHECK: %[[H1:.*]] = stablehlo.reshape %[[G1]]
// CHECK-NEXT: st.kernel "reduce" (%{{.*}} = %[[H1]] : tensor<64x64xf32>) -> tensor<64xf32>
// CHECK: st.kernel "reduce" (%{{.*}} = %[[P0]] : tensor<64xf32>) -> tensor<f32>
module {
  st.mesh @mesh <["tensor"=1], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @g0 "accumulator" slots 1 : tensor<4096xf32>
    st.buffer @g1 "accumulator" slots 1 : tensor<4096xf32>
    st.buffer @n "step" slots 1 : tensor<f32>
    st.buffer @o "step" slots 1 : tensor<4096xf32>
    st.buffer @p "step" slots 1 : tensor<f32>
    st.buffer @q "step" slots 1 : tensor<64xf32>
    st.task @update update stage 0 (%mb) {
      %g0 = st.read @g0 : tensor<4096xf32>
      %g1 = st.read @g1 : tensor<4096xf32>
      %0 = st.kernel "reduce" (%a = %g0 : tensor<4096xf32>) -> tensor<f32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
        st.yield %s : tensor<f32>
      }
      %1 = st.kernel "loop" (%a = %0 : tensor<f32>) -> tensor<f32> {
        %r = stablehlo.sqrt %a : tensor<f32>
        st.yield %r : tensor<f32>
      }
      %2 = st.kernel "loop" (%a = %g0 : tensor<4096xf32>, %f = %1 : tensor<f32>) -> tensor<4096xf32> {
        %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4096xf32>
        %r = stablehlo.multiply %a, %b : tensor<4096xf32>
        st.yield %r : tensor<4096xf32>
      }
      %3 = st.kernel "reduce" (%a = %g1 : tensor<4096xf32>) -> tensor<f32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
        st.yield %s : tensor<f32>
      }
      %4 = st.kernel "loop" (%a = %3 : tensor<f32>) -> tensor<f32> {
        %r = stablehlo.sqrt %a : tensor<f32>
        st.yield %r : tensor<f32>
      }
      %5 = st.kernel "reduce" (%a = %2 : tensor<4096xf32>) -> tensor<f32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4096xf32>, tensor<f32>) -> tensor<f32>
        st.yield %s : tensor<f32>
      }
      %6 = st.kernel "loop" (%a = %2 : tensor<4096xf32>, %f = %4 : tensor<f32>) -> tensor<4096xf32> {
        %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<4096xf32>
        %r = stablehlo.multiply %a, %b : tensor<4096xf32>
        st.yield %r : tensor<4096xf32>
      }
      %h0 = stablehlo.reshape %g0 : (tensor<4096xf32>) -> tensor<64x64xf32>
      %7 = st.kernel "reduce" (%a = %h0 : tensor<64x64xf32>) -> tensor<64xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
        st.yield %s : tensor<64xf32>
      }
      %8 = st.kernel "reduce" (%a = %7 : tensor<64xf32>) -> tensor<f32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
        st.yield %s : tensor<f32>
      }
      %h1 = stablehlo.reshape %g1 : (tensor<4096xf32>) -> tensor<64x64xf32>
      %9 = st.kernel "reduce" (%a = %h1 : tensor<64x64xf32>) -> tensor<64xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
        st.yield %s : tensor<64xf32>
      }
      st.write %8 to @p : tensor<f32>
      st.write %9 to @q : tensor<64xf32>
      st.write %5 to @n : tensor<f32>
      st.write %6 to @o : tensor<4096xf32>
    }
  }
}
