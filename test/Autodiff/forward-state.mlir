// RUN: st-opt %s --differentiate --add-optimizer="kind=sgd momentum=0 weight-decay=0" | FileCheck %s
// RUN: st-compile %s --optimizer=sgd -q --compile-to=import -o - | FileCheck %s --check-prefix=LAYERS

// A forward pass may replace state itself, such as the running mean of a batch norm. The optimizer adds its results
// after it. Layers of a program with roles are marked like those of a printed step.

// CHECK: func.func @main(%arg0: tensor<4xf32> {{{.*}}st.name = "layer.0.w", st.role = "parameter", tf.aliasing_output = 2 : i32}
// CHECK-SAME: %arg2: tensor<4xf32> {{{.*}}st.name = "mean", st.role = "optimizer_state", tf.aliasing_output = 1 : i32}
// CHECK: %[[MOVED:.*]] = stablehlo.add %arg2
// CHECK: return %{{[^,]*}}, %[[MOVED]], %{{[^,]*}}, %{{[^ ]*}} :

// LAYERS: stablehlo.multiply %{{.*}}, %arg0 {st.block = 1 : i64}
// LAYERS: stablehlo.multiply %{{.*}}, %arg1 {st.block = 2 : i64}
module {
  func.func @main(%w0: tensor<4xf32> {st.init = {kind = "ones"}, st.name = "layer.0.w", st.role = "parameter"},
                  %w1: tensor<4xf32> {st.init = {kind = "ones"}, st.name = "layer.1.w", st.role = "parameter"},
                  %mean: tensor<4xf32> {st.init = {kind = "zeros"}, st.name = "mean", st.role = "optimizer_state", tf.aliasing_output = 1 : i32},
                  %x: tensor<4xf32> {st.name = "x", st.role = "batch"})
      -> (tensor<f32> {st.name = "loss", st.role = "loss"}, tensor<4xf32> {st.name = "mean", st.role = "optimizer_state"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.multiply %x, %w0 : tensor<4xf32>
    %1 = stablehlo.multiply %0, %w1 : tensor<4xf32>
    %2 = stablehlo.add %mean, %1 : tensor<4xf32>
    %3 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %3, %2 : tensor<f32>, tensor<4xf32>
  }
}
