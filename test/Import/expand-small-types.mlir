// Small integers keep their low bits, and small floats are rounded after each op that computes.
// RUN: st-opt --expand-small-types --canonicalize %s | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<4xui8>, %[[Y:.*]]: tensor<4xui8>) -> (tensor<4xui8>, tensor<4xui8>)
// CHECK-NOT: ui4
// CHECK-NOT: f8E4M3FN
func.func @main(%x: tensor<4xui4>, %y: tensor<4xf8E4M3FN>) -> (tensor<4xui4>, tensor<4xf8E4M3FN>) {
  // CHECK: stablehlo.and %[[X]]
  // CHECK: "stablehlo.gather"
  // CHECK: %[[SUM:.*]] = stablehlo.add {{.*}} : tensor<4xui8>
  // CHECK: stablehlo.and %[[SUM]]
  %0 = stablehlo.add %x, %x : tensor<4xui4>
  // CHECK: stablehlo.multiply {{.*}} : tensor<4xf32>
  // CHECK: stablehlo.round_nearest_even
  %1 = stablehlo.multiply %y, %y : tensor<4xf8E4M3FN>
  return %0, %1 : tensor<4xui4>, tensor<4xf8E4M3FN>
}

// Moved numbers are already rounded; a reduction is rounded once.
// CHECK-LABEL: func.func @moves
// CHECK-NOT: shift
// CHECK: stablehlo.reduce
// CHECK-NOT: stablehlo.round_nearest_even
// CHECK: return
func.func @moves(%x: tensor<4xi8>) -> tensor<2xi8> {
  %0 = stablehlo.constant dense<[1, -2, 3, -8]> : tensor<4xi4>
  %1 = stablehlo.reshape %0 : (tensor<4xi4>) -> tensor<2x2xi4>
  %zero = stablehlo.constant dense<-8> : tensor<i4>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<2x2xi4>, tensor<i4>) -> tensor<2xi4>
  %3 = stablehlo.convert %2 : (tensor<2xi4>) -> tensor<2xi8>
  return %3 : tensor<2xi8>
}

// A conversion from floats to a small integer saturates.
// CHECK-LABEL: func.func @saturates
// CHECK-DAG: %[[LEAST:.*]] = stablehlo.constant dense<-8.000000e+00>
// CHECK-DAG: %[[MOST:.*]] = stablehlo.constant dense<7.000000e+00>
// CHECK-DAG: %[[NONE:.*]] = stablehlo.constant dense<0.000000e+00>
// CHECK-DAG: %[[ALL:.*]] = stablehlo.constant dense<1.500000e+01>
// CHECK: stablehlo.clamp %[[LEAST]], %arg0, %[[MOST]]
// CHECK: stablehlo.clamp %[[NONE]], %arg0, %[[ALL]]
func.func @saturates(%x: tensor<4xf32>) -> (tensor<4xi8>, tensor<4xui8>) {
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xi4>
  %1 = stablehlo.convert %0 : (tensor<4xi4>) -> tensor<4xi8>
  %2 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xui4>
  %3 = stablehlo.convert %2 : (tensor<4xui4>) -> tensor<4xui8>
  return %1, %3 : tensor<4xi8>, tensor<4xui8>
}
