// Convolutions of an image split by rows, run unsharded and sharded: devices exchange the rows at the edges
// of their parts, and the gradient of the kernel is summed over parts of the image.
//
// REQUIRES: jax
// RUN: st-opt --propagate-shardings --insert-reshards --global-to-local %s -o %t.local
// RUN: FileCheck %s --input-file=%t.local --implicit-check-not=all_gather
// RUN: %python %S/../../Reference/Inputs/random_inputs.py %t.in x=f32:2x16x6x3 w=f32:3x3x3x4 dy=f32:2x16x6x4 dz=f32:2x8x3x4
// RUN: st-translate --interpret --inputs=%t.in --outputs=%t.whole %s
// RUN: st-translate --interpret --inputs=%t.in --outputs=%t.parts %t.local
// RUN: %python %S/../../Reference/Inputs/compare.py %t.whole %t.parts 1e-5 | FileCheck %s --check-prefix=SAME
// SAME: 6 tensors agree

st.mesh @mesh <["a"=2, "b"=2], micro=1>
func.func @main(%x: tensor<2x16x6x3xf32> {st.name = "x", st.role = "batch", st.sharding = #st.sharding<@mesh, [{}, {"a", "b"}, {}, {}]>},
                %w: tensor<3x3x3x4xf32> {st.name = "w", st.role = "parameter"},
                %dy: tensor<2x16x6x4xf32> {st.name = "dy", st.role = "batch", st.sharding = #st.sharding<@mesh, [{}, {"a", "b"}, {}, {}]>},
                %dz: tensor<2x8x3x4xf32> {st.name = "dz", st.role = "batch", st.sharding = #st.sharding<@mesh, [{}, {"a", "b"}, {}, {}]>})
    -> (tensor<2x16x6x4xf32> {st.name = "y"}, tensor<2x8x3x4xf32> {st.name = "z"}, tensor<2x16x6x3xf32> {st.name = "dx"},
        tensor<3x3x3x4xf32> {st.name = "dw"}, tensor<3x3x3x4xf32> {st.name = "dv"}, tensor<2x8x3x3xf32> {st.name = "m"}) {
  // A row from each neighbour.
  // CHECK: st.collective_permute {{.*}} [0, 1, 1, 2, 2, 3] over ["a", "b"] of @mesh : tensor<2x1x6x3xf32>
  // CHECK: st.collective_permute {{.*}} [1, 0, 2, 1, 3, 2] over ["a", "b"] of @mesh : tensor<2x1x6x3xf32>
  // CHECK: stablehlo.convolution{{.*}}pad = {{\[\[}}0, 0], [1, 1]]{{.*}} (tensor<2x6x6x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x4x6x4xf32>
  %y = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x6x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x16x6x4xf32>
  // With a stride, only the next row.
  // CHECK: st.collective_permute {{.*}} [1, 0, 2, 1, 3, 2] over ["a", "b"] of @mesh : tensor<2x1x6x3xf32>
  // CHECK: stablehlo.convolution{{.*}}stride = [2, 2], pad = {{\[\[}}0, 0], [0, 1]]{{.*}} (tensor<2x5x6x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x2x3x4xf32>
  %z = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x6x3xf32>, tensor<3x3x3x4xf32>) -> tensor<2x8x3x4xf32>
  // The gradient of the image with stride 2.
  // CHECK: stablehlo.convolution{{.*}} -> tensor<2x4x6x3xf32>
  %dx = stablehlo.convolution(%dz, %w) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2], reverse = [true, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x3x4xf32>, tensor<3x3x3x4xf32>) -> tensor<2x16x6x3xf32>
  // Gradients of kernels: sums over devices.
  // CHECK: stablehlo.convolution{{.*}} (tensor<2x6x6x3xf32>, tensor<2x4x6x4xf32>) -> tensor<3x3x3x4xf32>
  %dw = stablehlo.convolution(%x, %dy) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x6x3xf32>, tensor<2x16x6x4xf32>) -> tensor<3x3x3x4xf32>
  // CHECK: stablehlo.convolution{{.*}} (tensor<2x5x6x3xf32>, tensor<2x2x3x4xf32>) -> tensor<3x3x3x4xf32>
  %dv = stablehlo.convolution(%x, %dz) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[0, 1], [0, 1]], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x6x3xf32>, tensor<2x8x3x4xf32>) -> tensor<3x3x3x4xf32>
  // Out of bounds a maximum reads its initial value.
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  // CHECK: stablehlo.select
  // CHECK: "stablehlo.reduce_window"
  // CHECK: (tensor<2x5x6x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %m = "stablehlo.reduce_window"(%x, %low) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, padding = dense<[[0, 0], [1, 0], [1, 0], [0, 0]]> : tensor<4x2xi64>}> ({
  ^bb0(%c: tensor<f32>, %d: tensor<f32>):
    %e = stablehlo.maximum %c, %d : tensor<f32>
    stablehlo.return %e : tensor<f32>
  }) : (tensor<2x16x6x3xf32>, tensor<f32>) -> tensor<2x8x3x3xf32>
  // CHECK: st.all_reduce
  // CHECK: return
  return %y, %z, %dx, %dw, %dv, %m : tensor<2x16x6x4xf32>, tensor<2x8x3x4xf32>, tensor<2x16x6x3xf32>, tensor<3x3x3x4xf32>, tensor<3x3x3x4xf32>, tensor<2x8x3x3xf32>
}
