// RUN: st-opt %s --join-reductions | FileCheck %s

// A sum of a cotangent and a sum of the cotangent times a value become one kernel at the place of the first sum.
// Reshapes of its inputs move with it. A sum over other dimensions, a sum of other values, and a sum that needs a later
// value stay.
// CHECK-LABEL: st.task @backward0
// CHECK: %[[G2:.*]] = stablehlo.reshape %[[G:.*]] : (tensor<64x8xf32>) -> tensor<4x16x8xf32>
// CHECK: %[[X2:.*]] = stablehlo.reshape %[[X:.*]] : (tensor<64x8xf32>) -> tensor<4x16x8xf32>
// CHECK: %[[S:.*]]:2 = st.kernel "reduce" (%[[A:.*]] = %[[G2]] : tensor<4x16x8xf32>, %[[B:.*]] = %[[X2]] : tensor<4x16x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK: %[[ONE:.*]] = stablehlo.reduce(%[[A]] init
// CHECK: %[[XG:.*]] = stablehlo.multiply %[[A]], %[[B]]
// CHECK: %[[TWO:.*]] = stablehlo.reduce(%[[XG]] init
// CHECK: st.yield %[[ONE]], %[[TWO]]
// CHECK: st.write %[[S]]#0 to @a
// CHECK: st.kernel "reduce" (%{{.*}} = %{{.*}} : tensor<4x16x8xf32>) -> tensor<4x16xf32>
// CHECK: st.kernel "reduce" (%{{.*}} = %{{.*}} : tensor<4x16x8xf32>, %{{.*}} = %[[S]]#0 : tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK: st.kernel "reduce" (%{{.*}} = %{{.*}} : tensor<4x16x8xf32>) -> tensor<4x8xf32>
// CHECK: st.write %[[S]]#1 to @b
module {
  st.mesh @mesh <["tensor"=1], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @g "step" slots 1 : tensor<64x8xf32>
    st.buffer @x "step" slots 1 : tensor<64x8xf32>
    st.buffer @a "step" slots 1 : tensor<4x8xf32>
    st.buffer @b "step" slots 1 : tensor<4x8xf32>
    st.buffer @c "step" slots 1 : tensor<4x8xf32>
    st.buffer @d "step" slots 1 : tensor<4x8xf32>
    st.buffer @e "step" slots 1 : tensor<4x16xf32>
    st.task @backward0 backward stage 0 (%mb) {
      %g = st.read @g : tensor<64x8xf32>
      %x = st.read @x : tensor<64x8xf32>
      %g1 = stablehlo.reshape %g : (tensor<64x8xf32>) -> tensor<4x16x8xf32>
      %0 = st.kernel "reduce" (%a = %g1 : tensor<4x16x8xf32>) -> tensor<4x8xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x16x8xf32>, tensor<f32>) -> tensor<4x8xf32>
        st.yield %s : tensor<4x8xf32>
      }
      st.write %0 to @a : tensor<4x8xf32>
      %1 = st.kernel "reduce" (%a = %g1 : tensor<4x16x8xf32>) -> tensor<4x16xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<4x16x8xf32>, tensor<f32>) -> tensor<4x16xf32>
        st.yield %s : tensor<4x16xf32>
      }
      st.write %1 to @e : tensor<4x16xf32>
      %2 = st.kernel "reduce" (%a = %g1 : tensor<4x16x8xf32>, %n = %0 : tensor<4x8xf32>) -> tensor<4x8xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %wide = stablehlo.broadcast_in_dim %n, dims = [0, 2] : (tensor<4x8xf32>) -> tensor<4x16x8xf32>
        %d = stablehlo.subtract %a, %wide : tensor<4x16x8xf32>
        %s = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x16x8xf32>, tensor<f32>) -> tensor<4x8xf32>
        st.yield %s : tensor<4x8xf32>
      }
      st.write %2 to @c : tensor<4x8xf32>
      %x2 = stablehlo.reshape %x : (tensor<64x8xf32>) -> tensor<4x16x8xf32>
      %3 = st.kernel "reduce" (%a = %x2 : tensor<4x16x8xf32>) -> tensor<4x8xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %s = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x16x8xf32>, tensor<f32>) -> tensor<4x8xf32>
        st.yield %s : tensor<4x8xf32>
      }
      st.write %3 to @d : tensor<4x8xf32>
      %g2 = stablehlo.reshape %g : (tensor<64x8xf32>) -> tensor<4x16x8xf32>
      %4 = st.kernel "reduce" (%a = %g2 : tensor<4x16x8xf32>, %b = %x2 : tensor<4x16x8xf32>) -> tensor<4x8xf32> {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %p = stablehlo.multiply %a, %b : tensor<4x16x8xf32>
        %s = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x16x8xf32>, tensor<f32>) -> tensor<4x8xf32>
        st.yield %s : tensor<4x8xf32>
      }
      st.write %4 to @b : tensor<4x8xf32>
    }
  }
}
