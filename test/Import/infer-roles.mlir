// RUN: st-opt %s --infer-roles --split-input-file | FileCheck %s

// Momentum and the new parameter are returned in another order than they were passed, so the
// aliases of buffers cross; the update of each determines what it replaces. Arguments without names
// get those of the results.
// CHECK: @main(%arg0: tensor<4xf32> {st.init = {kind = "ones"}, st.name = "w", st.role = "parameter", tf.aliasing_output = 2 : i32}
// CHECK-SAME: %arg1: tensor<4xf32> {st.init = {kind = "zeros"}, st.name = "w.state", st.of = "w", st.role = "optimizer_state", tf.aliasing_output = 1 : i32}
// CHECK-SAME: %arg2: tensor<8x4xf32> {st.name = "arg2", st.role = "batch"}
// CHECK-SAME: %arg3: tensor<f32> {st.name = "learning_rate", st.role = "scalar"}
// CHECK-SAME: -> (tensor<f32> {st.name = "loss", st.role = "loss"}
// CHECK-SAME: tensor<4xf32> {st.name = "w.state", st.of = "w", st.role = "optimizer_state"}
// CHECK-SAME: tensor<4xf32> {st.name = "w", st.role = "parameter"})
func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 1 : i32}, %m: tensor<4xf32> {tf.aliasing_output = 2 : i32},
                %x: tensor<8x4xf32>, %rate: tensor<f32>)
    -> (tensor<f32>, tensor<4xf32> {jax.result_info = "result[1]['w']"}, tensor<4xf32> {jax.result_info = "result[2]['w']"}) {
  %wide = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %y = stablehlo.multiply %x, %wide : tensor<8x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  %g = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %m1 = stablehlo.add %m, %g : tensor<4xf32>
  %rates = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %d = stablehlo.multiply %m1, %rates : tensor<4xf32>
  %w1 = stablehlo.subtract %w, %d : tensor<4xf32>
  return %loss, %m1, %w1 : tensor<f32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Names from locations; a donated argument without an alias; the number of the step, which runners feed as f32; a random
// key; a result in addition to the loss.
// CHECK: @main(%arg0: tensor<4xf32> {{.*}}st.name = "dense.w", st.role = "parameter", tf.aliasing_output = 0 : i32}
// CHECK-SAME: %arg1: tensor<4xf32> {{.*}}st.name = "dense.w.mu", st.of = "dense.w", st.role = "optimizer_state", tf.aliasing_output = 1 : i32}
// CHECK-SAME: %arg2: tensor<f32> {st.name = "step", st.role = "scalar"}
// CHECK-SAME: %arg3: tensor<2xui32> {st.name = "rng_key", st.role = "key"}
// CHECK-SAME: %arg4: tensor<4xf32> {st.name = "x", st.role = "batch"}
// CHECK-SAME: tensor<f32> {st.name = "loss", st.role = "loss"}, tensor<f32> {st.name = "accuracy", st.role = "metric"}
// CHECK: stablehlo.convert %arg2 : (tensor<f32>) -> tensor<i32>
func.func @main(%w: tensor<4xf32> {jax.buffer_donor = true} loc("state.params['dense']['w']"),
                %m: tensor<4xf32> {jax.buffer_donor = true} loc("state.opt_state[0].mu['dense']['w']"),
                %i: tensor<i32> loc("step"), %key: tensor<2xui32> loc("key"), %x: tensor<4xf32> loc("batch['x']"))
    -> (tensor<4xf32>, tensor<4xf32>, tensor<f32> {jax.result_info = "result[1]['loss']"},
        tensor<f32> {jax.result_info = "result[1]['accuracy']"}) {
  %y = stablehlo.multiply %x, %w : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %m1 = stablehlo.add %m, %x : tensor<4xf32>
  %w1 = stablehlo.subtract %w, %m1 : tensor<4xf32>
  %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
  %k = stablehlo.slice %key [0:1] : (tensor<2xui32>) -> tensor<1xui32>
  %k0 = stablehlo.reshape %k : (tensor<1xui32>) -> tensor<ui32>
  %kf = stablehlo.convert %k0 : (tensor<ui32>) -> tensor<f32>
  %a = stablehlo.add %f, %kf : tensor<f32>
  return %w1, %m1, %loss, %a : tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>
}

// -----

// A function without state and loss is not a training step.
// CHECK: @main(%arg0: tensor<4xf32> {st.name = "arg0", st.role = "batch"}, %arg1: tensor<f32> {st.name = "arg1", st.role = "batch"})
// CHECK-SAME: -> (tensor<4xf32> {st.name = "result0", st.role = "metric"})
func.func @main(%x: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {
  %0 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.add %x, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Functions are not fed keys: two integers keep their names.
// CHECK: @main(%arg0: tensor<2xui32> {st.name = "counts", st.role = "batch"}, %arg1: tensor<4xf32> {st.name = "x", st.role = "batch"})
func.func @main(%c: tensor<2xui32> loc("counts"), %x: tensor<4xf32> loc("x")) -> (tensor<2xui32>, tensor<4xf32>) {
  %0 = stablehlo.add %c, %c : tensor<2xui32>
  return %0, %x : tensor<2xui32>, tensor<4xf32>
}

// -----

// A result with the name of a state, as the placeholders of factored moments have it.
// CHECK: @main(%arg0: tensor<4xf32> {st.init = {kind = "ones"}, st.name = "w", st.role = "parameter"
// CHECK-SAME: -> (tensor<f32> {st.name = "loss", st.role = "loss"}, tensor<1xf32> {st.name = "w_1", st.role = "metric"}
// CHECK-SAME: tensor<4xf32> {st.name = "w", st.role = "parameter"})
func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 2 : i32} loc("p['w']"), %x: tensor<4xf32> loc("x"))
    -> (tensor<f32> {jax.result_info = "result[0]"}, tensor<1xf32> {jax.result_info = "result[1].v_row['w']"},
        tensor<4xf32> {jax.result_info = "result[2]['w']"}) {
  %y = stablehlo.multiply %x, %w : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %nothing = stablehlo.constant dense<0.0> : tensor<1xf32>
  %w1 = stablehlo.subtract %w, %x : tensor<4xf32>
  return %loss, %nothing, %w1 : tensor<f32>, tensor<1xf32>, tensor<4xf32>
}
