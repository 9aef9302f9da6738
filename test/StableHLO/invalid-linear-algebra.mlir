// RUN: st-opt %s -split-input-file -verify-diagnostics

func.func @kind(%x: tensor<8xf32>) {
  // expected-error @+1 {{stablehlo.fft of type FFT expects complex numbers, got 'tensor<8xf32>'}}
  %0 = stablehlo.fft %x, type = FFT, length = [8] : (tensor<8xf32>) -> tensor<8xcomplex<f32>>
  return
}

// -----

func.func @lengths(%x: tensor<8xf32>) {
  // expected-error @+1 {{stablehlo.fft expects 1 to 3 lengths and as many dimensions, got [8, 8] and 'tensor<8xf32>'}}
  %0 = stablehlo.fft %x, type = RFFT, length = [8, 8] : (tensor<8xf32>) -> tensor<5xcomplex<f32>>
  return
}

// -----

func.func @length(%x: tensor<5xcomplex<f32>>) {
  // expected-error @+1 {{stablehlo.fft of type IRFFT and length [12] expects last dimensions [7], got 'tensor<5xcomplex<f32>>'}}
  %0 = stablehlo.fft %x, type = IRFFT, length = [12] : (tensor<5xcomplex<f32>>) -> tensor<12xf32>
  return
}

// -----

func.func @square(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{expects square matrices, got 'tensor<2x3xf32>'}}
  %0 = stablehlo.cholesky %x : tensor<2x3xf32>
  return
}

// -----

// expected-note@+1 {{b is defined here}}
func.func @batch(%a: tensor<3x3xf32>, %b: tensor<2x3x4xf32>) {
  // expected-error @+1 {{expects a and b of one element type and one batch, got 'tensor<3x3xf32>' and 'tensor<2x3x4xf32>'}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
  return
}

// -----

// expected-note@+1 {{b is defined here}}
func.func @equations(%a: tensor<3x3xf32>, %b: tensor<3x4xf32>) {
  // expected-error @+1 {{expects 3 equations, got 'tensor<3x4xf32>'}}
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @transpose(%a: tensor<3x3xf32>) {
  // expected-error @+1 {{expects transpose_a to be valid}}
  %0 = "stablehlo.triangular_solve"(%a, %a) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE_INVALID>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
  return
}
