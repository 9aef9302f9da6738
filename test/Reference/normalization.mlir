// Batch normalization compared with the arithmetic that defines it.
// RUN: st-translate --interpret %s

func.func @main() {
  %x = stablehlo.constant dense<[[[1.0, 2.0], [3.0, 5.0]], [[-4.0, 0.5], [2.0, 9.0]]]> : tensor<2x2x2xf64>
  %dy = stablehlo.constant dense<[[[0.3, -1.0], [2.0, 0.7]], [[1.5, -0.2], [0.0, 4.0]]]> : tensor<2x2x2xf64>
  %scale = stablehlo.constant dense<[1.5, -0.5]> : tensor<2xf64>
  %offset = stablehlo.constant dense<[0.25, 3.0]> : tensor<2xf64>
  %zero = stablehlo.constant dense<0.0> : tensor<f64>
  %count = stablehlo.constant dense<4.0> : tensor<2xf64>
  %epsilon = stablehlo.constant dense<0.125> : tensor<2xf64>

  // The statistics of the features, which are dimension 1.
  %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 2] : (tensor<2x2x2xf64>, tensor<f64>) -> tensor<2xf64>
  %mean = stablehlo.divide %sum, %count : tensor<2xf64>
  %meanAll = stablehlo.broadcast_in_dim %mean, dims = [1] : (tensor<2xf64>) -> tensor<2x2x2xf64>
  %centered = stablehlo.subtract %x, %meanAll : tensor<2x2x2xf64>
  %squares = stablehlo.multiply %centered, %centered : tensor<2x2x2xf64>
  %squareSum = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0, 2] : (tensor<2x2x2xf64>, tensor<f64>) -> tensor<2xf64>
  %variance = stablehlo.divide %squareSum, %count : tensor<2xf64>

  %shifted = stablehlo.add %variance, %epsilon : tensor<2xf64>
  %inverse = stablehlo.rsqrt %shifted : tensor<2xf64>
  %inverseAll = stablehlo.broadcast_in_dim %inverse, dims = [1] : (tensor<2xf64>) -> tensor<2x2x2xf64>
  %normalized = stablehlo.multiply %centered, %inverseAll : tensor<2x2x2xf64>
  %scaleAll = stablehlo.broadcast_in_dim %scale, dims = [1] : (tensor<2xf64>) -> tensor<2x2x2xf64>
  %offsetAll = stablehlo.broadcast_in_dim %offset, dims = [1] : (tensor<2xf64>) -> tensor<2x2x2xf64>
  %scaled = stablehlo.multiply %normalized, %scaleAll : tensor<2x2x2xf64>
  %expected = stablehlo.add %scaled, %offsetAll : tensor<2x2x2xf64>

  %inference = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %mean, %variance) <{epsilon = 1.250000e-01 : f32, feature_index = 1 : i64}> : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>) -> tensor<2x2x2xf64>
  stablehlo.custom_call @check.expect_almost_eq(%inference, %expected) {tolerance = 1.0e-13 : f64} : (tensor<2x2x2xf64>, tensor<2x2x2xf64>) -> ()
  %training:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) <{epsilon = 1.250000e-01 : f32, feature_index = 1 : i64}> : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>)
  stablehlo.custom_call @check.expect_almost_eq(%training#0, %expected) {tolerance = 1.0e-13 : f64} : (tensor<2x2x2xf64>, tensor<2x2x2xf64>) -> ()
  stablehlo.custom_call @check.expect_almost_eq(%training#1, %mean) {tolerance = 1.0e-13 : f64} : (tensor<2xf64>, tensor<2xf64>) -> ()
  stablehlo.custom_call @check.expect_almost_eq(%training#2, %variance) {tolerance = 1.0e-13 : f64} : (tensor<2xf64>, tensor<2xf64>) -> ()

  // d operand = scale / deviation * (dy - mean(dy) - normalized * mean(dy * normalized)),
  // d scale = sum(dy * normalized), d offset = sum(dy).
  %products = stablehlo.multiply %dy, %normalized : tensor<2x2x2xf64>
  %dScale = stablehlo.reduce(%products init: %zero) applies stablehlo.add across dimensions = [0, 2] : (tensor<2x2x2xf64>, tensor<f64>) -> tensor<2xf64>
  %dOffset = stablehlo.reduce(%dy init: %zero) applies stablehlo.add across dimensions = [0, 2] : (tensor<2x2x2xf64>, tensor<f64>) -> tensor<2xf64>
  %meanProduct = stablehlo.divide %dScale, %count : tensor<2xf64>
  %meanGradient = stablehlo.divide %dOffset, %count : tensor<2xf64>
  %meanProductAll = stablehlo.broadcast_in_dim %meanProduct, dims = [1] : (tensor<2xf64>) -> tensor<2x2x2xf64>
  %meanGradientAll = stablehlo.broadcast_in_dim %meanGradient, dims = [1] : (tensor<2xf64>) -> tensor<2x2x2xf64>
  %along = stablehlo.multiply %normalized, %meanProductAll : tensor<2x2x2xf64>
  %free = stablehlo.subtract %dy, %meanGradientAll : tensor<2x2x2xf64>
  %left = stablehlo.subtract %free, %along : tensor<2x2x2xf64>
  %factor = stablehlo.multiply %scaleAll, %inverseAll : tensor<2x2x2xf64>
  %dOperand = stablehlo.multiply %left, %factor : tensor<2x2x2xf64>
  %grad:3 = "stablehlo.batch_norm_grad"(%x, %scale, %mean, %variance, %dy) <{epsilon = 1.250000e-01 : f32, feature_index = 1 : i64}> : (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2xf64>, tensor<2x2x2xf64>) -> (tensor<2x2x2xf64>, tensor<2xf64>, tensor<2xf64>)
  stablehlo.custom_call @check.expect_almost_eq(%grad#0, %dOperand) {tolerance = 1.0e-13 : f64} : (tensor<2x2x2xf64>, tensor<2x2x2xf64>) -> ()
  stablehlo.custom_call @check.expect_almost_eq(%grad#1, %dScale) {tolerance = 1.0e-13 : f64} : (tensor<2xf64>, tensor<2xf64>) -> ()
  stablehlo.custom_call @check.expect_almost_eq(%grad#2, %dOffset) {tolerance = 1.0e-13 : f64} : (tensor<2xf64>, tensor<2xf64>) -> ()
  return
}
