// RUN: st-opt %s -split-input-file --differentiate | FileCheck %s

// A reduction by a computation without a gradient rule is differentiated as combinations of
// neighbours, the last of which takes the initial value.
// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.reduce(
// CHECK: %[[EVEN:.*]] = stablehlo.slice %{{.*}} [0:4:2]
// CHECK: %[[ODD:.*]] = stablehlo.slice %{{.*}} [1:4:2]
// CHECK: stablehlo.atan2 %[[EVEN]], %[[ODD]] : tensor<2xf32>
// CHECK: stablehlo.atan2 %{{.*}}, %{{.*}} : tensor<1xf32>
// CHECK: stablehlo.atan2 %{{.*}}, %{{.*}} : tensor<f32>
func.func @main(%w: tensor<4xf32> {st.name = "w", st.role = "parameter"}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%w init: %zero) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %h = stablehlo.atan2 %a, %b : tensor<f32>
    stablehlo.return %h : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

// A cumulative product is a scan: its number of products is linear in the operand's size and does
// not depend on the windows.
// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.reduce_window
// CHECK: stablehlo.multiply %{{.*}}, %{{.*}} : tensor<2xf32>
// CHECK: stablehlo.multiply %{{.*}}, %{{.*}} : tensor<1xf32>
// CHECK: stablehlo.multiply %{{.*}}, %{{.*}} : tensor<1xf32>
// CHECK: return
func.func @main(%w: tensor<4xf32> {st.name = "w", st.role = "parameter"}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%w, %one) <{window_dimensions = array<i64: 4>, padding = dense<[[3, 0]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.multiply %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

// A sort that needs a gradient also sorts the positions, once and with the same stability.
// CHECK-LABEL: func.func @main
// CHECK: %[[SORT:.*]]:3 = "stablehlo.sort"(%{{.*}}, %{{.*}}, %{{.*}}) <{dimension = 0 : i64, is_stable = false}>
// CHECK-NOT: stablehlo.sort
// CHECK: "stablehlo.scatter"(%{{.*}}, %[[SORT]]#2, %{{.*}})
func.func @main(%w: tensor<4xf32> {st.name = "w", st.role = "parameter"}, %x: tensor<4xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %s:2 = "stablehlo.sort"(%x, %w) <{dimension = 0 : i64, is_stable = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  %m = stablehlo.multiply %s#1, %x : tensor<4xf32>
  %0 = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
