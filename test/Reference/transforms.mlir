// Convolution, transforms, solvers and random bits with known results.
// RUN: st-translate --interpret %s

func.func @convolution() {
  // A window of two over 1 2 3 4, dilated by two and padded, with a reversed kernel.
  %x = stablehlo.constant dense<[[[1.0], [2.0], [3.0], [4.0]]]> : tensor<1x4x1xf32>
  %k = stablehlo.constant dense<[[[10.0]], [[1.0]]]> : tensor<2x1x1xf32>
  %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[1, 1]], lhs_dilate = [1], rhs_dilate = [2], reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x1xf32>, tensor<2x1x1xf32>) -> tensor<1x4x1xf32>
  %expected = stablehlo.constant dense<[[[20.0], [31.0], [42.0], [3.0]]]> : tensor<1x4x1xf32>
  stablehlo.custom_call @check.expect_eq(%y, %expected) : (tensor<1x4x1xf32>, tensor<1x4x1xf32>) -> ()

  // Two batch groups: the first output feature sees the first half of the batch.
  %two = stablehlo.constant dense<[[[1]], [[2]]]> : tensor<2x1x1xi32>
  %weights = stablehlo.constant dense<[[[10, 100]]]> : tensor<1x1x2xi32>
  %z = stablehlo.convolution(%two, %weights) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<2x1x1xi32>, tensor<1x1x2xi32>) -> tensor<1x1x2xi32>
  %groups = stablehlo.constant dense<[[[10, 200]]]> : tensor<1x1x2xi32>
  stablehlo.custom_call @check.expect_eq(%z, %groups) : (tensor<1x1x2xi32>, tensor<1x1x2xi32>) -> ()
  return
}

func.func @fourier() {
  %x = stablehlo.constant dense<[1.0, 2.0, 0.0, -1.0]> : tensor<4xf64>
  %half = stablehlo.fft %x, type = RFFT, length = [4] : (tensor<4xf64>) -> tensor<3xcomplex<f64>>
  %spectrum = stablehlo.constant dense<[(2.0, 0.0), (1.0, -3.0), (0.0, 0.0)]> : tensor<3xcomplex<f64>>
  stablehlo.custom_call @check.expect_almost_eq(%half, %spectrum) {tolerance = 1.0e-15 : f64} : (tensor<3xcomplex<f64>>, tensor<3xcomplex<f64>>) -> ()
  %back = stablehlo.fft %half, type = IRFFT, length = [4] : (tensor<3xcomplex<f64>>) -> tensor<4xf64>
  stablehlo.custom_call @check.expect_almost_eq(%back, %x) {tolerance = 1.0e-15 : f64} : (tensor<4xf64>, tensor<4xf64>) -> ()
  return
}

func.func @solvers() {
  // The product of [[2, 0], [1, 3]] and its transpose; elements above the diagonal are not read.
  %a = stablehlo.constant dense<[[4.0, 99.0], [2.0, 10.0]]> : tensor<2x2xf32>
  %factor = stablehlo.cholesky %a, lower = true : tensor<2x2xf32>
  %lower = stablehlo.constant dense<[[2.0, 0.0], [1.0, 3.0]]> : tensor<2x2xf32>
  stablehlo.custom_call @check.expect_eq(%factor, %lower) : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
  %b = stablehlo.constant dense<[[4.0, 0.0], [5.0, 6.0]]> : tensor<2x2xf32>
  %left = "stablehlo.triangular_solve"(%factor, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %x = stablehlo.constant dense<[[2.0, 0.0], [1.0, 2.0]]> : tensor<2x2xf32>
  stablehlo.custom_call @check.expect_eq(%left, %x) : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
  %right = "stablehlo.triangular_solve"(%factor, %b) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = true}> : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %y = stablehlo.constant dense<[[4.0, -4.0], [5.0, 1.0]]> : tensor<2x2xf32>
  stablehlo.custom_call @check.expect_eq(%right, %y) : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()

  // A matrix that is not positive definite has no factor.
  %negative = stablehlo.constant dense<[[1.0, 2.0], [2.0, 1.0]]> : tensor<2x2xf32>
  %none = stablehlo.cholesky %negative : tensor<2x2xf32>
  %nan = stablehlo.constant dense<[[0x7FC00000, 0x7FC00000], [0.0, 0x7FC00000]]> : tensor<2x2xf32>
  stablehlo.custom_call @check.expect_eq(%none, %nan) : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
  return
}

func.func @random_bits() {
  // The known answers of the generators' authors for a zero key and a zero counter.
  %short = stablehlo.constant dense<0> : tensor<2xui64>
  %next0, %threefry = stablehlo.rng_bit_generator %short, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<2xui32>)
  %known0 = stablehlo.constant dense<[0x6B200159, 0x99BA4EFE]> : tensor<2xui32>
  stablehlo.custom_call @check.expect_eq(%threefry, %known0) : (tensor<2xui32>, tensor<2xui32>) -> ()
  %long = stablehlo.constant dense<0> : tensor<3xui64>
  %next1, %philox = stablehlo.rng_bit_generator %long, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  %known1 = stablehlo.constant dense<[0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]> : tensor<4xui32>
  stablehlo.custom_call @check.expect_eq(%philox, %known1) : (tensor<4xui32>, tensor<4xui32>) -> ()
  return
}

func.func @main() {
  func.call @convolution() : () -> ()
  func.call @fourier() : () -> ()
  func.call @solvers() : () -> ()
  func.call @random_bits() : () -> ()
  return
}
