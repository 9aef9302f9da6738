// RUN: st-opt %s --stop-softmax-gradients --split-input-file | FileCheck %s
// RUN: st-opt %s --stop-softmax-gradients --differentiate --canonicalize --split-input-file | FileCheck %s --check-prefix=GRADIENT

// CHECK-LABEL: @main
// CHECK: applies stablehlo.maximum across dimensions = [1] {st.stop_gradient}
// Softmax with a masked row maximum, whose gradient has no comparison with the maximum.
// GRADIENT-LABEL: @main
// GRADIENT-NOT: stablehlo.compare EQ
func.func @main(%x: tensor<4x8xf32> {st.name = "x", st.role = "parameter"}, %mask: tensor<4x8xi1> {st.role = "batch"})
    -> (tensor<f32> {st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %floor = stablehlo.constant dense<-1.0e30> : tensor<4xf32>
  %max = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %finite = stablehlo.is_finite %max : (tensor<4xf32>) -> tensor<4xi1>
  %bounded = stablehlo.select %finite, %max, %floor : tensor<4xi1>, tensor<4xf32>
  %floored = stablehlo.maximum %floor, %bounded : tensor<4xf32>
  %column = stablehlo.reshape %floored : (tensor<4xf32>) -> tensor<4x1xf32>
  %0 = stablehlo.broadcast_in_dim %column, dims = [0, 1] : (tensor<4x1xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<4x8xf32>
  %2 = stablehlo.exponential %1 : tensor<4x8xf32>
  %3 = stablehlo.select %mask, %2, %zeros : tensor<4x8xi1>, tensor<4x8xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %6 = stablehlo.divide %3, %5 : tensor<4x8xf32>
  %7 = stablehlo.multiply %6, %x : tensor<4x8xf32>
  %8 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  return %8 : tensor<f32>
}

// -----

// Log-softmax and log-sum-exp of the same rows.
// CHECK-LABEL: @main
// CHECK: applies stablehlo.maximum across dimensions = [1] {st.stop_gradient}
// GRADIENT-LABEL: @main
// GRADIENT-NOT: stablehlo.compare EQ
func.func @main(%x: tensor<4x8xf32> {st.name = "x", st.role = "parameter"}) -> (tensor<f32> {st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %max = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %0 = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<4x8xf32>
  %2 = stablehlo.exponential %1 : tensor<4x8xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = stablehlo.log %3 : tensor<4xf32>
  %5 = stablehlo.add %4, %max : tensor<4xf32>
  %6 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %7 = stablehlo.subtract %1, %6 : tensor<4x8xf32>
  %8 = stablehlo.broadcast_in_dim %5, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %9 = stablehlo.multiply %7, %8 : tensor<4x8xf32>
  %10 = stablehlo.reduce(%9 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  return %10 : tensor<f32>
}

// -----

// The sum itself depends on the maximum.
// CHECK-LABEL: @main
// CHECK-NOT: st.stop_gradient
// GRADIENT-LABEL: @main
// GRADIENT: stablehlo.compare EQ
func.func @main(%x: tensor<4x8xf32> {st.name = "x", st.role = "parameter"}) -> (tensor<f32> {st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %max = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %0 = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<4x8xf32>
  %2 = stablehlo.exponential %1 : tensor<4x8xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}

// -----

// Each element is divided by the sum of another row.
// CHECK-LABEL: @main
// CHECK-NOT: st.stop_gradient
// GRADIENT-LABEL: @main
// GRADIENT: stablehlo.compare EQ
func.func @main(%x: tensor<4x4xf32> {st.name = "x", st.role = "parameter"}) -> (tensor<f32> {st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %max = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  %0 = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<4x4xf32>
  %2 = stablehlo.exponential %1 : tensor<4x4xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
  %5 = stablehlo.divide %2, %4 : tensor<4x4xf32>
  %6 = stablehlo.reduce(%5 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
  return %6 : tensor<f32>
}

// -----

// The subtracted value differs within a row.
// CHECK-LABEL: @main
// CHECK-NOT: st.stop_gradient
// GRADIENT-LABEL: @main
// GRADIENT: stablehlo.compare EQ
func.func @main(%x: tensor<4x8xf32> {st.name = "x", st.role = "parameter"}, %mask: tensor<4x8xi1> {st.role = "batch"})
    -> (tensor<f32> {st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<4x8xf32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %max = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %0 = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %some = stablehlo.select %mask, %0, %zeros : tensor<4x8xi1>, tensor<4x8xf32>
  %1 = stablehlo.subtract %x, %some : tensor<4x8xf32>
  %2 = stablehlo.exponential %1 : tensor<4x8xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %5 = stablehlo.divide %2, %4 : tensor<4x8xf32>
  %6 = stablehlo.multiply %5, %x : tensor<4x8xf32>
  %7 = stablehlo.reduce(%6 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  return %7 : tensor<f32>
}

// -----

// A constant is added to the sums.
// CHECK-LABEL: @main
// CHECK-NOT: st.stop_gradient
// GRADIENT-LABEL: @main
// GRADIENT: stablehlo.compare EQ
func.func @main(%x: tensor<4x8xf32> {st.name = "x", st.role = "parameter"}) -> (tensor<f32> {st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %max = stablehlo.reduce(%x init: %lowest) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %0 = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<4x8xf32>
  %2 = stablehlo.exponential %1 : tensor<4x8xf32>
  %3 = stablehlo.reduce(%2 init: %one) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %5 = stablehlo.divide %2, %4 : tensor<4x8xf32>
  %6 = stablehlo.multiply %5, %x : tensor<4x8xf32>
  %7 = stablehlo.reduce(%6 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  return %7 : tensor<f32>
}
