// RUN: st-opt %s --expand-ops --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: @functions
func.func @functions(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-DAG: %[[ONE:.*]] = stablehlo.constant dense<1.000000e+00>
  // CHECK-DAG: %[[ERF:.*]] = chlo.erf %arg0
  // CHECK: %[[ERFC:.*]] = stablehlo.subtract %[[ONE]], %[[ERF]]
  %0 = chlo.erfc %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: %[[SQUARE:.*]] = stablehlo.multiply %arg0, %arg0
  %1 = chlo.square %x : tensor<4xf32> -> tensor<4xf32>
  // CHECK: return %[[ERFC]], %[[SQUARE]]
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: @composite
func.func @composite(%x: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: call @twice(%arg0)
  %0 = stablehlo.composite "my.twice" %x {decomposition = @twice} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @twice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func private @nothing(tensor<4xf32>) -> tensor<4xf32>
func.func @no_body(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has no decomposition @nothing with a body}}
  %0 = stablehlo.composite "my.nothing" %x {decomposition = @nothing} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
