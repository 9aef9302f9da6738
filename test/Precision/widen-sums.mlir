// RUN: st-opt %s --widen-sums -split-input-file | FileCheck %s

// The gradient of a weight is a product: its result is f32, not rounded, through the transpose and the sum of two uses.
// A sum over rows and a sum of updates are computed in f32; that of an activation is rounded after. A product with
// another user does not change.
// CHECK-LABEL: @main
// CHECK: %[[A:.*]] = stablehlo.dot_general {{.*}} : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xf32>
// CHECK-NEXT: %[[T:.*]] = stablehlo.transpose %[[A]], dims = [1, 0] : (tensor<4x2xf32>) -> tensor<2x4xf32>
// CHECK-NEXT: %[[B:.*]] = stablehlo.dot_general {{.*}} -> tensor<2x4xf32>
// CHECK-NEXT: %[[W:.*]] = stablehlo.add %[[T]], %[[B]] : tensor<2x4xf32>
// CHECK: %[[DY:.*]] = stablehlo.convert %arg2 : (tensor<8x2xbf16>) -> tensor<8x2xf32>
// CHECK: %[[ROWS:.*]] = stablehlo.reduce(%[[DY]] init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<8x2xf32>, tensor<f32>) -> tensor<2xf32>
// CHECK: %[[SUMS:.*]] = stablehlo.reduce({{.*}} -> tensor<8xf32>
// CHECK-NEXT: %[[ROUNDED:.*]] = stablehlo.convert %[[SUMS]] : (tensor<8xf32>) -> tensor<8xbf16>
// CHECK: "stablehlo.scatter"({{.*}}) <{
// CHECK-NEXT: ^bb0(%[[L:.*]]: tensor<f32>, %{{.*}}: tensor<f32>):
// CHECK-NEXT: stablehlo.add %[[L]], %{{.*}} : tensor<f32>
// CHECK: (tensor<4x2xf32>, tensor<8x1xi32>, tensor<8x2xf32>) -> tensor<4x2xf32>
// CHECK: %[[BOTH:.*]] = stablehlo.dot_general {{.*}} -> tensor<4x2xbf16>
// CHECK: %[[C:.*]] = stablehlo.convert %[[BOTH]] : (tensor<4x2xbf16>) -> tensor<4x2xf32>
// CHECK: return %{{.*}}, %{{.*}}, %[[ROUNDED]], %[[BOTH]], %[[W]], %[[ROWS]], %{{.*}}, %[[C]]
func.func @main(%w: tensor<2x4xf32> {st.name = "w", st.role = "parameter"}, %x: tensor<8x4xbf16> {st.name = "x", st.role = "batch"},
                %dy: tensor<8x2xbf16> {st.name = "dy", st.role = "batch"}, %ids: tensor<8x1xi32> {st.name = "ids", st.role = "batch"})
    -> (tensor<f32> {st.name = "loss", st.role = "loss"}, tensor<2xbf16> {st.name = "m", st.role = "metric"},
        tensor<8xbf16> {st.name = "n", st.role = "metric"}, tensor<4x2xbf16> {st.name = "o", st.role = "metric"},
        tensor<2x4xf32> {st.name = "w", st.role = "gradient"}, tensor<2xf32> {st.name = "b", st.role = "gradient"},
        tensor<4x2xf32> {st.name = "t", st.role = "gradient"}, tensor<4x2xf32> {st.name = "c", st.role = "gradient"}) {
  %loss = stablehlo.constant dense<0.0> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %zeros = stablehlo.constant dense<0.0> : tensor<4x2xbf16>
  %0 = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4x2xbf16>) -> tensor<2x4xbf16>
  %2 = stablehlo.dot_general %dy, %x, contracting_dims = [0] x [0] : (tensor<8x2xbf16>, tensor<8x4xbf16>) -> tensor<2x4xbf16>
  %3 = stablehlo.add %1, %2 : tensor<2x4xbf16>
  %4 = stablehlo.convert %3 : (tensor<2x4xbf16>) -> tensor<2x4xf32>
  %5 = stablehlo.reduce(%dy init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x2xbf16>, tensor<bf16>) -> tensor<2xbf16>
  %6 = stablehlo.convert %5 : (tensor<2xbf16>) -> tensor<2xf32>
  %7 = stablehlo.reduce(%dy init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x2xbf16>, tensor<bf16>) -> tensor<8xbf16>
  %8 = "stablehlo.scatter"(%zeros, %ids, %dy) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
    %sum = stablehlo.add %a, %b : tensor<bf16>
    stablehlo.return %sum : tensor<bf16>
  }) : (tensor<4x2xbf16>, tensor<8x1xi32>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  %9 = stablehlo.convert %8 : (tensor<4x2xbf16>) -> tensor<4x2xf32>
  %10 = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<8x4xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  %11 = stablehlo.convert %10 : (tensor<4x2xbf16>) -> tensor<4x2xf32>
  return %loss, %5, %7, %10, %4, %6, %9, %11 : tensor<f32>, tensor<2xbf16>, tensor<8xbf16>, tensor<4x2xbf16>, tensor<2x4xf32>, tensor<2xf32>, tensor<4x2xf32>, tensor<4x2xf32>
}
