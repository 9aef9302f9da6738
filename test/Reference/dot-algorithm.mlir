// A product with an algorithm of one component rounds its operands to bf16; that of three components does not.
// 1.0009765625 = 1 + 2^-10 rounds to 1 in bf16, and 1.005859375 = 1 + 3 * 2^-9 to 1.0078125.
//
// RUN: st-translate --interpret %s | FileCheck %s
// RUN: st-opt --expand-ops %s | st-translate --interpret - | FileCheck %s
// CHECK: result0 = dense<2.0078125>
// CHECK: result1 = dense<2.00683594>

func.func @main() -> (tensor<1x1xf32>, tensor<1x1xf32>) {
  %x = stablehlo.constant dense<[[1.0009765625, 1.005859375]]> : tensor<1x2xf32>
  %h = stablehlo.constant dense<1.0> : tensor<2x1xbf16>
  %y = stablehlo.constant dense<1.0> : tensor<2x1xf32>
  %0 = stablehlo.dot_general %x, %h, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<1x2xf32>, tensor<2x1xbf16>) -> tensor<1x1xf32>
  %1 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 3, rhs_component_count = 3, num_primitive_operations = 6, allow_imprecise_accumulation = false> : (tensor<1x2xf32>, tensor<2x1xf32>) -> tensor<1x1xf32>
  return %0, %1 : tensor<1x1xf32>, tensor<1x1xf32>
}
