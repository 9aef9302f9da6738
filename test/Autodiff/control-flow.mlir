// RUN: st-opt %s -split-input-file --differentiate | FileCheck %s

// The loop saves the operand of the product for each trip. The backward loop starts at the last
// trip and sums the gradient of the factor.
// CHECK-LABEL: func.func @main
// CHECK: %[[L:.*]]:4 = stablehlo.while({{.*}}) : tensor<i32>, tensor<f32>, tensor<f32>, tensor<4xf32>
// CHECK: do {
// CHECK: stablehlo.dynamic_update_slice {{.*}} : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
// CHECK: %[[B:.*]]:3 = stablehlo.while({{.*}}) : tensor<i32>, tensor<f32>, tensor<f32>
// CHECK: compare LT
// CHECK: do {
// CHECK: %[[T:.*]] = stablehlo.subtract
// CHECK: stablehlo.dynamic_slice %[[L]]#3, %[[T]], sizes = [1]
// CHECK: return %[[L]]#1, %[[B]]#2
func.func @main(%w: tensor<f32> {st.name = "w", st.role = "parameter"}) -> (tensor<f32> {st.role = "loss"}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0:3 = stablehlo.while(%i = %zero, %x = %one, %v = %w) : tensor<i32>, tensor<f32>, tensor<f32>
  cond {
    %n = stablehlo.constant dense<4> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %step = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %step : tensor<i32>
    %y = stablehlo.multiply %x, %v : tensor<f32>
    stablehlo.return %j, %y, %v : tensor<i32>, tensor<f32>, tensor<f32>
  }
  return %0#1 : tensor<f32>
}

// -----

// Values of the forward branch that the backward branch needs are results of the forward op.
// CHECK-LABEL: func.func @main
// CHECK: %[[F:.*]]:2 = "stablehlo.if"(%arg1)
// CHECK: %[[E:.*]] = stablehlo.exponential %arg0
// CHECK: stablehlo.return %[[E]], %[[E]]
// CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0.0
// CHECK: stablehlo.return %arg0, %[[ZERO]]
// CHECK: %[[G:.*]] = "stablehlo.if"(%arg1)
// CHECK: stablehlo.return %[[F]]#1
// CHECK: return %[[F]]#0, %[[G]]
func.func @main(%w: tensor<f32> {st.name = "w", st.role = "parameter"}, %p: tensor<i1>)
    -> (tensor<f32> {st.role = "loss"}) {
  %0 = "stablehlo.if"(%p) ({
    %1 = stablehlo.exponential %w : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }, {
    stablehlo.return %w : tensor<f32>
  }) : (tensor<i1>) -> tensor<f32>
  return %0 : tensor<f32>
}
