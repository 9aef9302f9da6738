// The user's options decide: a loss that is not differentiated yet.
// RUN: st-opt %s --infer-roles="roles=arg0-1=parameter,arg2=batch:x,result1=loss" | FileCheck %s
// RUN: not st-opt %s --infer-roles="roles=arg7=batch" 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not st-opt %s --infer-roles="roles=arg0=loss" 2>&1 | FileCheck %s --check-prefix=ROLE
// RUN: not st-opt %s --infer-roles="roles=w=batch" 2>&1 | FileCheck %s --check-prefix=PLACE

// COUNT: error: roles: "arg7=batch": the function has 3 arguments
// ROLE: error: roles: "arg0=loss": expected one of parameter, optimizer_state, batch, key, scalar
// PLACE: error: roles: "w=batch": expected argN=ROLE or resultN=ROLE

// CHECK: @main(%arg0: tensor<4xf32> {{.*}}st.name = "arg0", st.role = "parameter"}
// CHECK-SAME: %arg1: tensor<4xf32> {{.*}}st.name = "arg1", st.role = "parameter"}
// CHECK-SAME: %arg2: tensor<4xf32> {st.name = "x", st.role = "batch"}
// CHECK-SAME: -> (tensor<f32> {st.name = "result0", st.role = "metric"}, tensor<f32> {st.name = "loss", st.role = "loss"})
func.func @main(%w: tensor<4xf32>, %b: tensor<4xf32>, %x: tensor<4xf32>) -> (tensor<f32>, tensor<f32>) {
  %0 = stablehlo.multiply %w, %x : tensor<4xf32>
  %1 = stablehlo.add %0, %b : tensor<4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %2, %3 : tensor<f32>, tensor<f32>
}
