// RUN: st-opt %s | FileCheck %s
// RUN: st-opt %s | st-opt | FileCheck %s
// RUN: st-opt %s --mlir-print-op-generic | st-opt | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = st.custom_gradient(%arg0, %arg1) forward {
// CHECK: ^bb0(%[[A:.*]]: tensor<4xf32>, %{{.*}}: tensor<4xi32>):
// CHECK: stablehlo.return %{{.*}}, %[[A]] : tensor<4xf32>, tensor<4xf32>
// CHECK: } backward {
// CHECK: ^bb0(%{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>):
// CHECK: } : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>, %n: tensor<4xi32>) -> tensor<4xf32> {
  %y = st.custom_gradient(%x, %n) forward {
  ^bb0(%a: tensor<4xf32>, %k: tensor<4xi32>):
    %e = stablehlo.exponential %a : tensor<4xf32>
    stablehlo.return %e, %a : tensor<4xf32>, tensor<4xf32>
  } backward {
  ^bb0(%a: tensor<4xf32>, %ct: tensor<4xf32>):
    %d = stablehlo.multiply %ct, %a : tensor<4xf32>
    stablehlo.return %d : tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
