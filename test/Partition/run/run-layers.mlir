// Layers run unsharded and sharded give the same numbers. Everything is a small integer, so the order
// of summation does not matter.
//
// RUN: st-translate --interpret %s > %t.whole
// RUN: st-opt --propagate-shardings --insert-reshards --global-to-local %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.parts
// RUN: diff %t.whole %t.parts

st.mesh @mesh <["data"=2, "tensor"=2], micro=2>
func.func @main() -> (tensor<8x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>, tensor<4x2xf32>) {
  // The batch over micro and data, weights over tensor.
  %i = stablehlo.iota dim = 0 : tensor<8x4xf32>
  %j = stablehlo.iota dim = 1 : tensor<8x4xf32>
  %x0 = stablehlo.subtract %i, %j : tensor<8x4xf32>
  %x = st.constrain %x0 to <@mesh, [{"micro", "data"}, {}]> : tensor<8x4xf32>
  %w0 = stablehlo.constant dense<[[1.0, -2.0, 0.0, 3.0], [2.0, 1.0, 1.0, -1.0], [0.0, 1.0, -3.0, 2.0], [1.0, 1.0, 2.0, 0.0]]> : tensor<4x4xf32>
  %w = st.constrain %w0 to <@mesh, [{}, {"tensor"}]> : tensor<4x4xf32>
  %v = st.constrain %w0 to <@mesh, [{"tensor"}, {}]> : tensor<4x4xf32>

  // A layer split by outputs, then one by its contracted dimension: only one reduction.
  // CHECK: dot_general {{.*}} : (tensor<2x4xf32>, tensor<4x2xf32>) -> tensor<2x2xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // CHECK-NEXT: abs
  %1 = stablehlo.abs %0 : tensor<8x4xf32>
  // CHECK-NEXT: dot_general {{.*}} : (tensor<2x2xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  // CHECK: st.all_reduce {{.*}} sum over ["tensor"]
  %3 = stablehlo.abs %2 : tensor<8x4xf32>

  // A weight gradient: summed over data, and over micro in a loop.
  %dw = stablehlo.dot_general %x, %3, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>

  // Counters know their global position: a causal mask.
  // CHECK: st.axis_index "data"
  // CHECK: st.axis_index "micro"
  %row = stablehlo.iota dim = 0 : tensor<8x4xi32>
  %column = stablehlo.iota dim = 1 : tensor<8x4xi32>
  %mask = stablehlo.compare GE, %row, %column : (tensor<8x4xi32>, tensor<8x4xi32>) -> tensor<8x4xi1>
  %zeros = stablehlo.constant dense<0.0> : tensor<8x4xf32>
  %4 = stablehlo.select %mask, %3, %zeros : tensor<8x4xi1>, tensor<8x4xf32>

  // Dimensions that merge, split and move.
  // CHECK: st.accumulate
  %5 = stablehlo.reshape %dw : (tensor<4x4xf32>) -> tensor<2x2x4xf32>
  %6 = stablehlo.transpose %5, dims = [1, 2, 0] : (tensor<2x2x4xf32>) -> tensor<2x4x2xf32>
  %7 = st.constrain %6 to <@mesh, [{"tensor"}, {"data"}, {}]> : tensor<2x4x2xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %8 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2x4x2xf32>, tensor<f32>) -> tensor<4x2xf32>
  return %3, %dw, %4, %8 : tensor<8x4xf32>, tensor<4x4xf32>, tensor<8x4xf32>, tensor<4x2xf32>
}
