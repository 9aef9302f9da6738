// Transforms, solvers and ops that combine numbers compute the same in parts. Nothing is rounded.
// RUN: st-translate --interpret %s > %t.before
// RUN: st-opt --expand-complex --canonicalize %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.after
// RUN: diff %t.before %t.after

// CHECK: func.func @main
// CHECK-NOT: complex
func.func @main() -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x2xf32>, tensor<2x2xf32>,
                      tensor<2x1xf32>, tensor<2x1xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>) {
  %x = stablehlo.constant dense<[[1.0, 2.0, -3.0, 4.0], [0.0, 5.0, 6.0, -7.0]]> : tensor<2x4xf32>
  %y = stablehlo.constant dense<[[3.0, -1.0, 2.0, 8.0], [4.0, 0.0, 1.0, 9.0]]> : tensor<2x4xf32>
  %z = stablehlo.complex %x, %y : tensor<2x4xcomplex<f32>>
  %fourier = stablehlo.fft %z, type = IFFT, length = [2, 4] : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
  %0 = stablehlo.real %fourier : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
  %1 = stablehlo.imag %fourier : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xf32>
  %half = stablehlo.fft %x, type = RFFT, length = [4] : (tensor<2x4xf32>) -> tensor<2x3xcomplex<f32>>
  %2 = stablehlo.imag %half : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
  %3 = stablehlo.fft %half, type = IRFFT, length = [4] : (tensor<2x3xcomplex<f32>>) -> tensor<2x4xf32>

  // Elements above the diagonal, and its imaginary part, are not read.
  %a = stablehlo.constant dense<[[4.0, 9.0], [2.0, 6.0]]> : tensor<2x2xf32>
  %b = stablehlo.constant dense<[[7.0, 9.0], [4.0, 7.0]]> : tensor<2x2xf32>
  %matrix = stablehlo.complex %a, %b : tensor<2x2xcomplex<f32>>
  %factor = stablehlo.cholesky %matrix, lower = true : tensor<2x2xcomplex<f32>>
  %4 = stablehlo.real %factor : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  %5 = stablehlo.imag %factor : (tensor<2x2xcomplex<f32>>) -> tensor<2x2xf32>
  %side = stablehlo.constant dense<[[(2.0, 4.0)], [(8.0, 1.0)]]> : tensor<2x1xcomplex<f32>>
  %solved = "stablehlo.triangular_solve"(%factor, %side) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (tensor<2x2xcomplex<f32>>, tensor<2x1xcomplex<f32>>) -> tensor<2x1xcomplex<f32>>
  %6 = stablehlo.real %solved : (tensor<2x1xcomplex<f32>>) -> tensor<2x1xf32>
  %7 = stablehlo.imag %solved : (tensor<2x1xcomplex<f32>>) -> tensor<2x1xf32>

  %row = stablehlo.slice %z [0:1, 0:4] : (tensor<2x4xcomplex<f32>>) -> tensor<1x4xcomplex<f32>>
  %numbers = stablehlo.reshape %row : (tensor<1x4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %one = stablehlo.constant dense<(1.0, 0.0)> : tensor<complex<f32>>
  %product = stablehlo.reduce(%numbers init: %one) applies stablehlo.multiply across dimensions = [0] : (tensor<4xcomplex<f32>>, tensor<complex<f32>>) -> tensor<complex<f32>>
  %8 = stablehlo.real %product : (tensor<complex<f32>>) -> tensor<f32>
  %9 = stablehlo.imag %product : (tensor<complex<f32>>) -> tensor<f32>
  %sorted = "stablehlo.sort"(%numbers) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<complex<f32>>, %q: tensor<complex<f32>>):
    %r = stablehlo.imag %p : (tensor<complex<f32>>) -> tensor<f32>
    %s = stablehlo.imag %q : (tensor<complex<f32>>) -> tensor<f32>
    %t = stablehlo.compare LT, %r, %s, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  }) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  %10 = stablehlo.real %sorted : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %11 = stablehlo.imag %sorted : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11 : tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x3xf32>, tensor<2x4xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x1xf32>, tensor<f32>, tensor<f32>, tensor<4xf32>, tensor<4xf32>
}
