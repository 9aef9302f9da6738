// Convolutions, run unsharded and sharded. All sums are exact.
//
// RUN: st-translate --interpret %s > %t.whole
// RUN: st-opt --propagate-shardings --insert-reshards --global-to-local %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.parts
// RUN: diff %t.whole %t.parts

st.mesh @mesh <["a"=2, "b"=2], micro=2>
func.func @main() -> (tensor<4x6x6x8xf32>, tensor<3x3x4x8xf32>, tensor<4x6x6x8xf32>, tensor<2x4x3x3xf32>, tensor<4x4x3x8xf32>) {
  %i = stablehlo.iota dim = 1 : tensor<4x6x6x4xf32>
  %j = stablehlo.iota dim = 3 : tensor<4x6x6x4xf32>
  %n = stablehlo.iota dim = 0 : tensor<4x6x6x4xf32>
  %ij = stablehlo.multiply %i, %j : tensor<4x6x6x4xf32>
  %x0 = stablehlo.add %ij, %n : tensor<4x6x6x4xf32>
  %x = st.constrain %x0 to <@mesh, [{"micro"}, {}, {}, {}]> : tensor<4x6x6x4xf32>

  // Outputs over a, inputs over b: partial sums, which are smaller than the inputs.
  %x1 = stablehlo.iota dim = 0 : tensor<4x6x6x16xf32>
  %xb = st.constrain %x1 to <@mesh, [{"micro"}, {}, {}, {"b"}]> : tensor<4x6x6x16xf32>
  %k0 = stablehlo.iota dim = 3 : tensor<3x3x16x8xf32>
  %k = st.constrain %k0 to <@mesh, [{}, {}, {"b"}, {"a"}]> : tensor<3x3x16x8xf32>
  // CHECK: stablehlo.convolution({{.*}} feature_group_count = 1 {{.*}} : (tensor<2x6x6x8xf32>, tensor<3x3x8x4xf32>) -> tensor<2x6x6x4xf32>
  // CHECK: st.{{all_reduce|reduce_scatter}} {{.*}} sum {{.*}}over ["b"]
  %0 = stablehlo.convolution(%xb, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6x6x16xf32>, tensor<3x3x16x8xf32>) -> tensor<4x6x6x8xf32>

  // The gradient of the kernel sums over the batch, its input features: each micro-batch adds a part.
  // CHECK: %[[PART:.*]] = stablehlo.convolution({{.*}} : (tensor<2x6x6x4xf32>, tensor<2x6x6x4xf32>) -> tensor<3x3x4x4xf32>
  %1 = stablehlo.convolution(%x, %0) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6x6x4xf32>, tensor<4x6x6x8xf32>) -> tensor<3x3x4x8xf32>

  // Groups of features: each shard has half of them.
  %g0 = stablehlo.iota dim = 0 : tensor<3x3x1x8xf32>
  %g = st.constrain %g0 to <@mesh, [{}, {}, {}, {"a"}]> : tensor<3x3x1x8xf32>
  // CHECK: stablehlo.convolution({{.*}} feature_group_count = 2 {{.*}} : (tensor<2x6x6x2xf32>, tensor<3x3x1x4xf32>) -> tensor<2x6x6x4xf32>
  %2 = stablehlo.convolution(%x, %g) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<4x6x6x4xf32>, tensor<3x3x1x8xf32>) -> tensor<4x6x6x8xf32>

  // Their gradient: groups of a batch that is the features.
  %t0 = stablehlo.transpose %2, dims = [0, 3, 1, 2] : (tensor<4x6x6x8xf32>) -> tensor<4x8x6x6xf32>
  %t = st.constrain %t0 to <@mesh, [{}, {"a"}, {}, {}]> : tensor<4x8x6x6xf32>
  // CHECK: stablehlo.convolution({{.*}}batch_group_count = 2 {{.*}} : (tensor<2x4x6x6xf32>, tensor<2x2x6x6xf32>) -> tensor<2x2x3x3xf32>
  %u = stablehlo.slice %t [0:4, 0:4, 0:6, 0:6] : (tensor<4x8x6x6xf32>) -> tensor<4x4x6x6xf32>
  %3 = stablehlo.convolution(%t, %u) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[b, f, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 4 : i64, feature_group_count = 1 : i64} : (tensor<4x8x6x6xf32>, tensor<4x4x6x6xf32>) -> tensor<2x4x3x3xf32>

  // Patches do not overlap, so their rows are computed separately.
  %y0 = stablehlo.iota dim = 1 : tensor<4x8x6x4xf32>
  %y = st.constrain %y0 to <@mesh, [{"micro"}, {"a"}, {}, {}]> : tensor<4x8x6x4xf32>
  %l = stablehlo.iota dim = 1 : tensor<2x2x4x8xf32>
  // CHECK: stablehlo.convolution({{.*}} : (tensor<2x4x6x4xf32>, tensor<2x2x4x8xf32>) -> tensor<2x2x3x8xf32>
  %4 = stablehlo.convolution(%y, %l) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x8x6x4xf32>, tensor<2x2x4x8xf32>) -> tensor<4x4x3x8xf32>
  // CHECK: st.accumulate %[[PART]] {{ *}}sum over micro
  return %0, %1, %2, %3, %4 : tensor<4x6x6x8xf32>, tensor<3x3x4x8xf32>, tensor<4x6x6x8xf32>, tensor<2x4x3x3xf32>, tensor<4x4x3x8xf32>
}
