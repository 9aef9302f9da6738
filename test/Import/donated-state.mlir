// RUN: st-opt %s --split-input-file --simplify --infer-roles | FileCheck %s

// Pairs each donated argument with the result that replaces it, if types do not determine the pairs.

// Nesterov's: x' = y - g, y' = x' + m (x' - x). Only y reaches x', but with the two exchanged x would
// be useless, so the aliases hold.
// CHECK: func.func public @main(%arg0: tensor<4xf32> {{{[^%]*}}st.role = "optimizer_state"
// CHECK-SAME: %arg1: tensor<4xf32> {{{[^%]*}}st.role = "parameter"
// CHECK-SAME: -> (tensor<4xf32> {{{.*}}st.role = "optimizer_state"}, tensor<4xf32> {{{.*}}st.role = "parameter"}
func.func public @main(%x: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %y: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.multiply %y, %b : tensor<4xf32>
  %loss = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %x1 = stablehlo.subtract %y, %b : tensor<4xf32>
  %d = stablehlo.subtract %x1, %x : tensor<4xf32>
  %y1 = stablehlo.add %x1, %d : tensor<4xf32>
  return %x1, %y1, %loss : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}

// -----

// A heavy ball keeps the previous weights: exchanged, they would never change.
// CHECK: func.func public @main(%arg0: tensor<4xf32> {{{[^%]*}}st.role = "parameter"
// CHECK-SAME: %arg1: tensor<4xf32> {{{[^%]*}}st.role = "optimizer_state"
// CHECK-SAME: -> (tensor<4xf32> {{{.*}}st.role = "parameter"}, tensor<4xf32> {{{.*}}st.role = "optimizer_state"}
func.func public @main(%w: tensor<4xf32> {jax.buffer_donor = true}, %before: tensor<4xf32> {jax.buffer_donor = true}, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.multiply %w, %b : tensor<4xf32>
  %loss = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %step = stablehlo.subtract %w, %before : tensor<4xf32>
  %down = stablehlo.subtract %step, %b : tensor<4xf32>
  %w1 = stablehlo.add %w, %down : tensor<4xf32>
  return %w1, %w, %loss : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}

// -----

// Momentum before the weights in the arguments and after them in the results: dependences decide.
// CHECK: func.func public @main(%arg0: tensor<4xf32> {{{[^%]*}}st.role = "optimizer_state"
// CHECK-SAME: %arg1: tensor<4xf32> {{{[^%]*}}st.role = "parameter"
// CHECK-SAME: -> (tensor<4xf32> {{{.*}}st.role = "parameter"}, tensor<4xf32> {{{.*}}st.role = "optimizer_state"}
func.func public @main(%m: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %w: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.multiply %w, %b : tensor<4xf32>
  %loss = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %m1 = stablehlo.add %m, %b : tensor<4xf32>
  %w1 = stablehlo.subtract %w, %m1 : tensor<4xf32>
  return %w1, %m1, %loss : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}

// -----

// Names decide: the result called a replaces a, regardless of the rest.
// CHECK: func.func public @main(%arg0: tensor<4xf32> {{{[^%]*}}st.name = "a", st.role = "parameter"
// CHECK-SAME: -> (tensor<4xf32> {{{.*}}st.name = "b"{{.*}}}, tensor<4xf32> {{{.*}}st.name = "a"{{.*}}}
func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32, jax.arg_info = "s['a']"}, %b: tensor<4xf32> {tf.aliasing_output = 1 : i32, jax.arg_info = "s['b']"}, %c: tensor<4xf32>)
    -> (tensor<4xf32> {jax.result_info = "result[0]['b']"}, tensor<4xf32> {jax.result_info = "result[0]['a']"}, tensor<f32> {jax.result_info = "result[1]"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %p = stablehlo.multiply %a, %b : tensor<4xf32>
  %loss = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %x = stablehlo.subtract %a, %c : tensor<4xf32>
  %y = stablehlo.add %b, %c : tensor<4xf32>
  return %x, %y, %loss : tensor<4xf32>, tensor<4xf32>, tensor<f32>
}
