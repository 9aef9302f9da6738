// RUN: st-opt %s --remove-dead-state --split-input-file | FileCheck %s

// The loss reads w, whose update reads m; d is read by its own update and by e's, and nothing reads
// e. The aliases of the others are renumbered.
// CHECK: func.func @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<4xf32>)
// CHECK-SAME: -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>)
// CHECK-COUNT-1: stablehlo.add
// CHECK: return
func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %d: tensor<8xf32> {tf.aliasing_output = 0 : i32},
                %e: tensor<8xf32> {tf.aliasing_output = 2 : i32}, %m: tensor<4xf32> {tf.aliasing_output = 3 : i32},
                %x: tensor<4xf32>)
    -> (tensor<8xf32>, tensor<4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>) {
  %d1 = stablehlo.multiply %d, %d : tensor<8xf32>
  %e1 = stablehlo.multiply %e, %d1 : tensor<8xf32>
  %w1 = stablehlo.add %w, %m : tensor<4xf32>
  %m1 = stablehlo.multiply %m, %x : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %d1, %w1, %e1, %m1, %loss : tensor<8xf32>, tensor<4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<f32>
}

// -----

// Only state: all of it stays.
// CHECK: func.func @main(%arg0: tensor<4xf32> {tf.aliasing_output = 0 : i32})
func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
  %0 = stablehlo.add %w, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}
