// RUN: st-opt --unstack-state %s | FileCheck %s
// RUN: st-opt --unstack-state %s | st-opt --unstack-state | FileCheck %s

// Rows become arguments; their new values are results, in the order of the stacks, after the others. State that is
// stacked like its parameter is unstacked too, a count is not.
// CHECK-LABEL: func.func @main
// CHECK-SAME: %[[W0:[^:]*]]: tensor<1x4xf32> {st.name = "w.0", st.role = "parameter", st.stack = {name = "w", row = 0 : i64, rows = 2 : i64}, tf.aliasing_output = 2 : i32}
// CHECK-SAME: %[[W1:[^:]*]]: tensor<1x4xf32> {st.name = "w.1", st.role = "parameter", st.stack = {name = "w", row = 1 : i64, rows = 2 : i64}, tf.aliasing_output = 3 : i32}
// CHECK-SAME: %[[M0:[^:]*]]: tensor<1x4xf32> {st.name = "w.mu.0", st.of = "w.0", st.role = "optimizer_state", st.stack = {name = "w.mu", of = "w", row = 0 : i64, rows = 2 : i64}, tf.aliasing_output = 4 : i32}
// CHECK-SAME: %[[M1:[^:]*]]: tensor<1x4xf32> {{.*}}tf.aliasing_output = 5 : i32}
// CHECK-SAME: %[[TABLE:[^:]*]]: tensor<2x4xf32> {st.name = "table", st.role = "parameter", tf.aliasing_output = 1 : i32}
// CHECK-SAME: -> (tensor<f32> {st.role = "loss"}, tensor<2x4xf32> {st.role = "parameter"}, tensor<1x4xf32> {{{.*}}st.name = "w.0"
func.func @main(%w: tensor<2x4xf32> {st.name = "w", st.role = "parameter", tf.aliasing_output = 1 : i32},
                %m: tensor<2x4xf32> {st.name = "w.mu", st.role = "optimizer_state", st.of = "w", tf.aliasing_output = 2 : i32},
                %table: tensor<2x4xf32> {st.name = "table", st.role = "parameter", tf.aliasing_output = 3 : i32},
                %x: tensor<4xf32> {st.name = "x", st.role = "batch"})
    -> (tensor<f32> {st.role = "loss"}, tensor<2x4xf32> {st.name = "w", st.role = "parameter"},
        tensor<2x4xf32> {st.name = "w.mu", st.role = "optimizer_state"}, tensor<2x4xf32> {st.role = "parameter"}) {
  // CHECK-DAG: %[[RATE:.*]] = stablehlo.constant dense<1.000000e-01> : tensor<1x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rate = stablehlo.constant dense<0.1> : tensor<2x4xf32>
  // CHECK-NOT: stablehlo.slice %[[W0]]
  // CHECK: %[[R0:.*]] = stablehlo.reshape %[[W0]]
  // CHECK: %[[R1:.*]] = stablehlo.reshape %[[W1]]
  %s0 = stablehlo.slice %w [0:1, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %s1 = stablehlo.slice %w [1:2, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %r0 = stablehlo.reshape %s0 : (tensor<1x4xf32>) -> tensor<4xf32>
  %r1 = stablehlo.reshape %s1 : (tensor<1x4xf32>) -> tensor<4xf32>
  %y0 = stablehlo.multiply %x, %r0 : tensor<4xf32>
  %y1 = stablehlo.multiply %y0, %r1 : tensor<4xf32>
  // A table stays stacked if only one of its rows is read separately.
  %t0 = stablehlo.slice %table [0:1, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
  %t1 = stablehlo.reshape %t0 : (tensor<1x4xf32>) -> tensor<4xf32>
  %y2 = stablehlo.multiply %y1, %t1 : tensor<4xf32>
  %loss = stablehlo.reduce(%y2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %g0 = stablehlo.reshape %y0 : (tensor<4xf32>) -> tensor<1x4xf32>
  %g1 = stablehlo.reshape %y1 : (tensor<4xf32>) -> tensor<1x4xf32>
  // CHECK-NOT: stablehlo.concatenate
  // CHECK: %[[G0:.*]] = stablehlo.reshape %{{.*}} -> tensor<1x4xf32>
  // CHECK: %[[G1:.*]] = stablehlo.reshape %{{.*}} -> tensor<1x4xf32>
  %g = stablehlo.concatenate %g0, %g1, dim = 0 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
  // The norm of the gradient is computed from those of its rows.
  // CHECK: %[[N0:.*]] = stablehlo.reduce{{.*}} across dimensions = [0, 1] : (tensor<1x4xf32>
  // CHECK: %[[N1:.*]] = stablehlo.reduce{{.*}} across dimensions = [0, 1] : (tensor<1x4xf32>
  // CHECK: stablehlo.add %[[N0]], %[[N1]] : tensor<f32>
  %gg = stablehlo.multiply %g, %g : tensor<2x4xf32>
  %norm = stablehlo.reduce(%gg init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
  %scale = stablehlo.broadcast_in_dim %norm, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
  %scaled = stablehlo.multiply %g, %scale : tensor<2x4xf32>
  %new_m = stablehlo.add %m, %scaled : tensor<2x4xf32>
  %step = stablehlo.multiply %new_m, %rate : tensor<2x4xf32>
  // CHECK-DAG: stablehlo.subtract %[[W0]], %{{.*}} : tensor<1x4xf32>
  // CHECK-DAG: stablehlo.subtract %[[W1]], %{{.*}} : tensor<1x4xf32>
  %new_w = stablehlo.subtract %w, %step : tensor<2x4xf32>
  %new_table = stablehlo.reverse %table, dims = [0] : tensor<2x4xf32>
  // CHECK: return
  return %loss, %new_w, %new_m, %new_table : tensor<f32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}
