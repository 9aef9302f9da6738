// RUN: st-opt %s --inline-custom-gradients | FileCheck %s
// RUN: st-opt %s --differentiate | FileCheck %s --check-prefix=GRADIENT

// The value is that of the forward region; the gradient is that of the backward region: three times
// the cotangent, although the function is the square.
// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[Y:.*]] = stablehlo.multiply %arg0, %arg0
// CHECK-NEXT: return %[[Y]]
// GRADIENT-LABEL: func.func @main
// GRADIENT-NOT: st.custom_gradient
// GRADIENT: %[[ONE:.*]] = stablehlo.constant dense<1.0
// GRADIENT: %[[Y:.*]] = stablehlo.multiply %arg0, %arg0
// GRADIENT: %[[THREE:.*]] = stablehlo.constant dense<3.0
// GRADIENT: %[[G:.*]] = stablehlo.multiply %[[ONE]], %[[THREE]]
// GRADIENT: return %[[Y]], %[[G]]
func.func @main(%w: tensor<f32> {st.name = "w", st.role = "parameter"}) -> (tensor<f32> {st.role = "loss"}) {
  %y = st.custom_gradient(%w) forward {
  ^bb0(%a: tensor<f32>):
    %s = stablehlo.multiply %a, %a : tensor<f32>
    stablehlo.return %s : tensor<f32>
  } backward {
  ^bb0(%ct: tensor<f32>):
    %three = stablehlo.constant dense<3.0> : tensor<f32>
    %d = stablehlo.multiply %ct, %three : tensor<f32>
    stablehlo.return %d : tensor<f32>
  } : (tensor<f32>) -> tensor<f32>
  return %y : tensor<f32>
}
