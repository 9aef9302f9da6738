// A product, a function of it and a sum, on one device.
func.func @main(%x: tensor<5x7xf32>, %w: tensor<7x3xf32>) -> (tensor<5x3xf32>, tensor<f32>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<5x7xf32>, tensor<7x3xf32>) -> tensor<5x3xf32>
  %1 = stablehlo.tanh %0 : tensor<5x3xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<5x3xf32>, tensor<f32>) -> tensor<f32>
  return %1, %2 : tensor<5x3xf32>, tensor<f32>
}
