// Transforms, solvers and normalisation, run unsharded and sharded: parts of a batch, of right-hand
// sides, of features.
//
// RUN: st-translate --interpret %s > %t.whole
// RUN: st-opt --propagate-shardings --insert-reshards --global-to-local %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.parts
// RUN: diff %t.whole %t.parts

st.mesh @mesh <["a"=2, "b"=2], micro=2>
func.func @main() -> (tensor<4x4xf32>, tensor<4x3x3xf32>, tensor<4x3x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>) {
  %i = stablehlo.iota dim = 0 : tensor<4x4xf32>
  %j = stablehlo.iota dim = 1 : tensor<4x4xf32>
  %x0 = stablehlo.multiply %i, %j : tensor<4x4xf32>
  %x = st.constrain %x0 to <@mesh, [{"micro"}, {"a"}]> : tensor<4x4xf32>

  // The transformed dimension is whole.
  // CHECK: stablehlo.fft %{{.*}}, type = RFFT, length = [4] : (tensor<2x4xf32>) -> tensor<2x3xcomplex<f32>>
  %f = stablehlo.fft %x, type = RFFT, length = [4] : (tensor<4x4xf32>) -> tensor<4x3xcomplex<f32>>
  %0 = stablehlo.fft %f, type = IRFFT, length = [4] : (tensor<4x3xcomplex<f32>>) -> tensor<4x4xf32>

  // Matrices 4 * 1 of a batch.
  %row = stablehlo.iota dim = 1 : tensor<4x3x3xi32>
  %column = stablehlo.iota dim = 2 : tensor<4x3x3xi32>
  %isDiagonal = stablehlo.compare EQ, %row, %column : (tensor<4x3x3xi32>, tensor<4x3x3xi32>) -> tensor<4x3x3xi1>
  %fours = stablehlo.constant dense<4.0> : tensor<4x3x3xf32>
  %zeros = stablehlo.constant dense<0.0> : tensor<4x3x3xf32>
  %m0 = stablehlo.select %isDiagonal, %fours, %zeros : tensor<4x3x3xi1>, tensor<4x3x3xf32>
  %m = st.constrain %m0 to <@mesh, [{"micro"}, {}, {}]> : tensor<4x3x3xf32>
  // CHECK: stablehlo.cholesky %{{.*}}, lower = true : tensor<2x3x3xf32>
  %1 = stablehlo.cholesky %m, lower = true : tensor<4x3x3xf32>
  %b0 = stablehlo.iota dim = 2 : tensor<4x3x4xf32>
  %b = st.constrain %b0 to <@mesh, [{"micro"}, {}, {"b"}]> : tensor<4x3x4xf32>
  // CHECK: "stablehlo.triangular_solve"{{.*}} : (tensor<2x3x3xf32>, tensor<2x3x2xf32>) -> tensor<2x3x2xf32>
  %2 = "stablehlo.triangular_solve"(%1, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x3x3xf32>, tensor<4x3x4xf32>) -> tensor<4x3x4xf32>

  // Statistics are of the whole batch.
  %scale = stablehlo.iota dim = 0 : tensor<4xf32>
  %y = st.constrain %j to <@mesh, [{"b"}, {"a"}]> : tensor<4x4xf32>
  // CHECK: "stablehlo.batch_norm_training"{{.*}} : (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<2xf32>)
  %3:3 = "stablehlo.batch_norm_training"(%y, %scale, %scale) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>)
  // CHECK: "stablehlo.batch_norm_inference"{{.*}} : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %4 = "stablehlo.batch_norm_inference"(%x, %scale, %scale, %3#1, %3#2) <{epsilon = 1.0 : f32, feature_index = 1 : i64}> : (tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  return %0, %1, %2, %3#0, %3#1, %3#2, %4 : tensor<4x4xf32>, tensor<4x3x3xf32>, tensor<4x3x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x4xf32>
}
