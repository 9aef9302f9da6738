// A second run changes nothing.
// RUN: st-opt %s --simplify -o %t.once && FileCheck %s < %t.once
// RUN: st-opt %t.once --simplify | diff %t.once -

// JAX's output for a pair of private functions, one of them in a loop: they are inlined, equal
// values computed once, the constant folded, transposes and broadcasts merged, and the count that
// only counts itself removed.
// CHECK: func.func public @main(%arg0: tensor<4x8xf32>
// CHECK-SAME: -> tensor<8xf32>
// CHECK-NOT: call
// CHECK-NOT: transpose
// CHECK: %[[C:.*]] = stablehlo.constant dense<6.000000e+00> : tensor<4x8xf32>
// CHECK: %[[S:.*]] = stablehlo.multiply %arg0, %[[C]]
// CHECK: stablehlo.while
// CHECK: stablehlo.add
// CHECK-NOT: func.func
func.func public @main(%x: tensor<4x8xf32>, %count: tensor<i32> {tf.aliasing_output = 1 : i32})
    -> (tensor<8xf32>, tensor<i32>) {
  %two = stablehlo.constant dense<2.0> : tensor<f32>
  %three = stablehlo.constant dense<3.0> : tensor<f32>
  %six = stablehlo.multiply %two, %three : tensor<f32>
  %row = stablehlo.broadcast_in_dim %six, dims = [] : (tensor<f32>) -> tensor<1x8xf32>
  %all = stablehlo.broadcast_in_dim %row, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<4x8xf32>
  %there = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %back = stablehlo.transpose %there, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %0 = stablehlo.multiply %back, %all : tensor<4x8xf32>
  %1 = stablehlo.multiply %x, %all : tensor<4x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<4x8xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
  %n = stablehlo.constant dense<5> : tensor<i32>
  %4:2 = stablehlo.while(%i = %n, %v = %3) : tensor<i32>, tensor<8xf32>
  cond {
    %none = stablehlo.constant dense<0> : tensor<i32>
    %p = stablehlo.compare GT, %i, %none, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.subtract %i, %one : tensor<i32>
    %w = func.call @twice(%v) : (tensor<8xf32>) -> tensor<8xf32>
    stablehlo.return %j, %w : tensor<i32>, tensor<8xf32>
  }
  %one = stablehlo.constant dense<1> : tensor<i32>
  %next = stablehlo.add %count, %one : tensor<i32>
  return %4#1, %next : tensor<8xf32>, tensor<i32>
}
func.func private @twice(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @sum(%x, %x) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @sum(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.add %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// Results without elements are constants, whatever computes them.
// CHECK-LABEL: func.func public @empty
// CHECK-NEXT: %[[NONE:.*]] = stablehlo.constant dense<> : tensor<0x0xf32>
// CHECK-NEXT: return %[[NONE]]
func.func public @empty(%a: tensor<0x4xf32>, %b: tensor<4x0xf32>) -> tensor<0x0xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<0x4xf32>, tensor<4x0xf32>) -> tensor<0x0xf32>
  return %0 : tensor<0x0xf32>
}
