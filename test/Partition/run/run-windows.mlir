// Pooling, run unsharded and sharded.
//
// RUN: st-translate --interpret %s > %t.whole
// RUN: st-opt --propagate-shardings --insert-reshards --global-to-local %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.parts
// RUN: diff %t.whole %t.parts

st.mesh @mesh <["a"=2, "b"=2], micro=2>
func.func @main() -> (tensor<4x4x3xf32>, tensor<4x8x6xf32>, tensor<4x8x6xf32>, tensor<4x8x2xf32>) {
  %i = stablehlo.iota dim = 1 : tensor<4x8x6xf32>
  %j = stablehlo.iota dim = 2 : tensor<4x8x6xf32>
  %ij = stablehlo.multiply %i, %j : tensor<4x8x6xf32>
  %x0 = stablehlo.subtract %ij, %i : tensor<4x8x6xf32>
  %x = st.constrain %x0 to <@mesh, [{"micro"}, {"a"}, {}]> : tensor<4x8x6xf32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>

  // Adjacent windows are computed separately.
  // CHECK: "stablehlo.reduce_window"
  // CHECK: (tensor<2x4x6xf32>, tensor<f32>) -> tensor<2x2x3xf32>
  %0 = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 1, 2, 2>, window_strides = array<i64: 1, 2, 2>}> ({
  ^bb0(%c: tensor<f32>, %d: tensor<f32>):
    %e = stablehlo.maximum %c, %d : tensor<f32>
    stablehlo.return %e : tensor<f32>
  }) : (tensor<4x8x6xf32>, tensor<f32>) -> tensor<4x4x3xf32>

  // For overlapping windows, devices read a row of each neighbour.
  %x2 = st.constrain %x0 to <@mesh, [{"micro"}, {"a"}, {"b"}]> : tensor<4x8x6xf32>
  // CHECK: st.collective_permute {{.*}} [0, 1] over ["a"] of @mesh : tensor<2x1x3xf32>
  // CHECK: st.collective_permute {{.*}} [1, 0] over ["a"] of @mesh : tensor<2x1x3xf32>
  // CHECK: "stablehlo.reduce_window"
  // CHECK: (tensor<2x6x3xf32>, tensor<f32>) -> tensor<2x4x3xf32>
  %1 = "stablehlo.reduce_window"(%x2, %zero) <{window_dimensions = array<i64: 1, 3, 1>, padding = dense<[[0, 0], [1, 1], [0, 0]]> : tensor<3x2xi64>}> ({
  ^bb0(%c: tensor<f32>, %d: tensor<f32>):
    %e = stablehlo.add %c, %d : tensor<f32>
    stablehlo.return %e : tensor<f32>
  }) : (tensor<4x8x6xf32>, tensor<f32>) -> tensor<4x8x6xf32>

  // The gradient goes to where the maximum was.
  %s = stablehlo.iota dim = 1 : tensor<4x4x3xf32>
  // CHECK: "stablehlo.select_and_scatter"
  // CHECK: (tensor<2x4x6xf32>, tensor<2x2x3xf32>, tensor<f32>) -> tensor<2x4x6xf32>
  %2 = "stablehlo.select_and_scatter"(%x, %s, %zero) <{window_dimensions = array<i64: 1, 2, 2>, window_strides = array<i64: 1, 2, 2>}> ({
  ^bb0(%c: tensor<f32>, %d: tensor<f32>):
    %e = stablehlo.compare GE, %c, %d : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %e : tensor<i1>
  }, {
  ^bb0(%c: tensor<f32>, %d: tensor<f32>):
    %e = stablehlo.add %c, %d : tensor<f32>
    stablehlo.return %e : tensor<f32>
  }) : (tensor<4x8x6xf32>, tensor<4x4x3xf32>, tensor<f32>) -> tensor<4x8x6xf32>

  // Partial sums are pooled directly, because sums of windows are linear.
  %w0 = stablehlo.iota dim = 0 : tensor<6x6xf32>
  %w = st.constrain %w0 to <@mesh, [{"b"}, {}]> : tensor<6x6xf32>
  %x3 = st.constrain %x0 to <@mesh, [{"micro"}, {}, {"b"}]> : tensor<4x8x6xf32>
  %y = stablehlo.dot_general %x3, %w, contracting_dims = [2] x [0] : (tensor<4x8x6xf32>, tensor<6x6xf32>) -> tensor<4x8x6xf32>
  // CHECK: dot_general
  // CHECK-NOT: st.all_reduce
  // CHECK: "stablehlo.reduce_window"
  // CHECK: st.all_reduce {{.*}} sum over ["b"]
  %3 = "stablehlo.reduce_window"(%y, %zero) <{window_dimensions = array<i64: 1, 1, 3>, window_strides = array<i64: 1, 1, 3>}> ({
  ^bb0(%c: tensor<f32>, %d: tensor<f32>):
    %e = stablehlo.add %c, %d : tensor<f32>
    stablehlo.return %e : tensor<f32>
  }) : (tensor<4x8x6xf32>, tensor<f32>) -> tensor<4x8x2xf32>
  %4 = stablehlo.abs %3 : tensor<4x8x2xf32>
  return %0, %1, %2, %4 : tensor<4x4x3xf32>, tensor<4x8x6xf32>, tensor<4x8x6xf32>, tensor<4x8x2xf32>
}
