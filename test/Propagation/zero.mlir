// RUN: st-opt --propagate-shardings --assign-stages --insert-reshards --global-to-local %s | FileCheck %s

// The momentum is sharded over replicas of the weight: the gradient is reduce-scattered, the update is computed on
// shards, and the new weight is gathered once.

#replicated = #st.sharding<@mesh, [{}, {}]>
#rows = #st.sharding<@mesh, [{"data"}, {}]>
#scalar = #st.sharding<@mesh, []>
module attributes {st.stages = 1 : i64, st.devices = [array<i64: 0, 1>]} {
  st.mesh @mesh <["data"=2], micro=1>
  // CHECK-LABEL: func.func @main
  func.func @main(%x: tensor<8x4xf32> {st.name = "x", st.role = "batch", st.sharding = #rows},
                  %w: tensor<4x4xf32> {st.name = "w", st.role = "parameter", st.sharding = #replicated, tf.aliasing_output = 1 : i32},
                  %m: tensor<4x4xf32> {st.name = "w.momentum", st.role = "optimizer_state", st.of = "w", st.sharding = #rows, tf.aliasing_output = 2 : i32})
      -> (tensor<f32> {st.role = "loss"}, tensor<4x4xf32> {st.name = "w", st.role = "parameter"}, tensor<4x4xf32> {st.name = "w.momentum", st.role = "optimizer_state"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
    %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
    // The gradient is accumulated before it is reduced.
    // CHECK: %[[SUM:.*]] = st.accumulate %{{.*}} sum over micro {{.*}} : tensor<4x4xf32>
    // CHECK: %[[G:.*]] = st.reduce_scatter %[[SUM]] sum dim 0 over ["data"] {{.*}} -> tensor<2x4xf32>
    %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    // CHECK: %[[M:.*]] = stablehlo.add %arg2, %[[G]] {{.*}} : tensor<2x4xf32>
    %new_m = stablehlo.add %m, %g : tensor<4x4xf32>
    // CHECK: %[[PART:.*]] = st.all_slice %arg1 dim 0 over ["data"]
    // CHECK: %[[W:.*]] = stablehlo.subtract %[[PART]], %[[M]] {{.*}} : tensor<2x4xf32>
    // CHECK-NOT: st.accumulate
    %new_w = stablehlo.subtract %w, %new_m : tensor<4x4xf32>
    // CHECK: %[[NEW:.*]] = st.all_gather %[[W]] dim 0 over ["data"] {{.*}} -> tensor<4x4xf32>
    // CHECK-NOT: st.all_gather
    // CHECK: return %{{.*}}, %[[NEW]], %[[M]]
    return %loss, %new_w, %new_m : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}
