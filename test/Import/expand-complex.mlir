// Complex values as pairs of reals; linear ops are applied to both parts.
// RUN: st-opt --expand-complex --canonicalize %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x2xf32>, %[[T:.*]]: tensor<4xf32>) -> (tensor<2x4x2xf32>, tensor<2x4xf32>)
// CHECK-NOT: complex
func.func @main(%x: tensor<2x4xcomplex<f32>>, %t: tensor<4xf32>) -> (tensor<2x4xcomplex<f32>>, tensor<2x4xf32>) {
  // CHECK-DAG: stablehlo.slice %[[X]] [0:2, 0:4, 0:1]
  // CHECK-DAG: stablehlo.slice %[[X]] [0:2, 0:4, 1:2]
  // CHECK-DAG: stablehlo.cosine %[[T]]
  // CHECK-DAG: stablehlo.sine %[[T]]
  %c = stablehlo.cosine %t : tensor<4xf32>
  %s = stablehlo.sine %t : tensor<4xf32>
  %z = stablehlo.complex %c, %s : tensor<4xcomplex<f32>>
  %b = stablehlo.broadcast_in_dim %z, dims = [1] : (tensor<4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
  // CHECK-COUNT-4: stablehlo.multiply
  // CHECK: stablehlo.concatenate
  %y = stablehlo.multiply %x, %b : tensor<2x4xcomplex<f32>>
  %i = stablehlo.imag %b : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
  return %y, %i : tensor<2x4xcomplex<f32>>, tensor<2x4xf32>
}

// An op without a formula stays, between its parts.
// CHECK-LABEL: func.func @stays
func.func @stays(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: %[[Z:.*]] = stablehlo.complex
  // CHECK: stablehlo.remainder %[[Z]], %[[Z]]
  %z = stablehlo.complex %a, %a : tensor<4xcomplex<f32>>
  %f = stablehlo.remainder %z, %z : tensor<4xcomplex<f32>>
  %r = stablehlo.real %f : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// Loops and branches carry the parts; counters keep their positions among them.
// CHECK-LABEL: func.func @regions
// CHECK-NOT: complex
func.func @regions(%a: tensor<4xf32>, %n: tensor<i32>, %p: tensor<i1>) -> tensor<4xf32> {
  %z = stablehlo.complex %a, %a : tensor<4xcomplex<f32>>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  // CHECK: stablehlo.while(%[[RE:.*]] = %arg0, %[[IM:.*]] = %arg0, %[[I:.*]] = %{{.*}}) : tensor<4xf32>, tensor<4xf32>, tensor<i32>
  %w:2 = stablehlo.while(%v = %z, %i = %zero) : tensor<4xcomplex<f32>>, tensor<i32>
    cond {
    %less = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  } do {
    // CHECK: stablehlo.add %[[RE]], %arg0
    // CHECK: stablehlo.add %[[IM]], %arg0
    %sum = stablehlo.add %v, %z : tensor<4xcomplex<f32>>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %sum, %next : tensor<4xcomplex<f32>>, tensor<i32>
  }
  // CHECK: "stablehlo.if"(%arg2)
  // CHECK: stablehlo.return %{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xf32>
  // CHECK: (tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>)
  %b = "stablehlo.if"(%p) ({
    %m = stablehlo.negate %w#0 : tensor<4xcomplex<f32>>
    stablehlo.return %m : tensor<4xcomplex<f32>>
  }, {
    stablehlo.return %z : tensor<4xcomplex<f32>>
  }) : (tensor<i1>) -> tensor<4xcomplex<f32>>
  %r = stablehlo.imag %b : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
