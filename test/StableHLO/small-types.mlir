// RUN: st-opt %s | FileCheck %s
// RUN: st-opt %s | st-opt | FileCheck %s
// RUN: st-opt %s --mlir-print-op-generic | st-opt | FileCheck %s

// Element types of 8 bits and less that JAX prints but no device supports.

// CHECK-LABEL: @small
// CHECK-SAME: %arg0: tensor<4xf32>, %arg1: tensor<4xi4>, %arg2: tensor<2xui2>
func.func @small(%x: tensor<4xf32>, %i: tensor<4xi4>, %u: tensor<2xui2>) -> (tensor<4xf8E4M3FN>, tensor<4xf8E5M2>, tensor<4xf4E2M1FN>, tensor<4xui4>, tensor<2xi8>) {
  // CHECK: stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  %0 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
  // CHECK: stablehlo.convert %{{.*}} : (tensor<4xf8E4M3FN>) -> tensor<4xf8E5M2>
  %1 = stablehlo.convert %0 : (tensor<4xf8E4M3FN>) -> tensor<4xf8E5M2>
  // CHECK: stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xf4E2M1FN>
  %2 = stablehlo.convert %x : (tensor<4xf32>) -> tensor<4xf4E2M1FN>
  // CHECK: stablehlo.convert %arg1 : (tensor<4xi4>) -> tensor<4xui4>
  %3 = stablehlo.convert %i : (tensor<4xi4>) -> tensor<4xui4>
  // CHECK: stablehlo.convert %arg2 : (tensor<2xui2>) -> tensor<2xi8>
  %4 = stablehlo.convert %u : (tensor<2xui2>) -> tensor<2xi8>
  return %0, %1, %2, %3, %4 : tensor<4xf8E4M3FN>, tensor<4xf8E5M2>, tensor<4xf4E2M1FN>, tensor<4xui4>, tensor<2xi8>
}
