// In the form that JAX prints.
// RUN: st-opt %s | st-opt | FileCheck %s
// RUN: st-opt %s --mlir-print-op-generic | st-opt | FileCheck %s

// CHECK-LABEL: func.func @fft
func.func @fft(%x: tensor<3x8xf32>, %z: tensor<3x4x5xcomplex<f64>>) {
  // CHECK: stablehlo.fft %arg0, type = RFFT, length = [8] : (tensor<3x8xf32>) -> tensor<3x5xcomplex<f32>>
  %0 = stablehlo.fft %x, type = RFFT, length = [8] : (tensor<3x8xf32>) -> tensor<3x5xcomplex<f32>>
  // CHECK: stablehlo.fft %arg1, type = IRFFT, length = [4, 9] : (tensor<3x4x5xcomplex<f64>>) -> tensor<3x4x9xf64>
  %1 = stablehlo.fft %z, type = IRFFT, length = [4, 9] : (tensor<3x4x5xcomplex<f64>>) -> tensor<3x4x9xf64>
  // CHECK: stablehlo.fft %arg1, type = IFFT, length = [3, 4, 5] : (tensor<3x4x5xcomplex<f64>>) -> tensor<3x4x5xcomplex<f64>>
  %2 = stablehlo.fft %z, type = IFFT, length = [3, 4, 5] : (tensor<3x4x5xcomplex<f64>>) -> tensor<3x4x5xcomplex<f64>>
  return
}

// CHECK-LABEL: func.func @solvers
func.func @solvers(%a: tensor<2x3x3xf32>, %b: tensor<2x3x4xf32>) {
  // CHECK: stablehlo.cholesky %arg0, lower = true : tensor<2x3x3xf32>
  %0 = stablehlo.cholesky %a, lower = true : tensor<2x3x3xf32>
  // CHECK: stablehlo.cholesky %arg0 : tensor<2x3x3xf32>
  %1 = stablehlo.cholesky %a : tensor<2x3x3xf32>
  // CHECK: "stablehlo.triangular_solve"(%arg0, %arg1) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}>
  %2 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<2x3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}
