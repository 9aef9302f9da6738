// Ops that JAX does not print on a CPU: the values are those of the functions' definitions.
// RUN: st-translate --interpret %s

func.func @main() {
  // ln 3 has the logistic value 3/4.
  %x = stablehlo.constant dense<[0.0, 1.0986122886681098, -1.0986122886681098, -800.0]> : tensor<4xf64>
  %logistic = stablehlo.logistic %x : tensor<4xf64>
  %half = stablehlo.constant dense<[0.5, 0.75, 0.25, 0.0]> : tensor<4xf64>
  stablehlo.custom_call @check.expect_close(%logistic, %half) : (tensor<4xf64>, tensor<4xf64>) -> ()

  %angle = stablehlo.constant dense<[0.0, 0.78539816339744828]> : tensor<2xf64>
  %tan = chlo.tan %angle : tensor<2xf64> -> tensor<2xf64>
  %one = stablehlo.constant dense<[0.0, 1.0]> : tensor<2xf64>
  stablehlo.custom_call @check.expect_close(%tan, %one) : (tensor<2xf64>, tensor<2xf64>) -> ()

  %z = stablehlo.constant dense<[(3.0, 4.0), (-1.0, -2.0)]> : tensor<2xcomplex<f32>>
  %conj = chlo.conj %z : tensor<2xcomplex<f32>> -> tensor<2xcomplex<f32>>
  %mirrored = stablehlo.constant dense<[(3.0, -4.0), (-1.0, 2.0)]> : tensor<2xcomplex<f32>>
  stablehlo.custom_call @check.expect_eq(%conj, %mirrored) : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> ()

  // Complex numbers compare by their real, then by their imaginary parts.
  %w = stablehlo.constant dense<[(3.0, 5.0), (-2.0, 9.0)]> : tensor<2xcomplex<f32>>
  %maximum = stablehlo.maximum %z, %w : tensor<2xcomplex<f32>>
  %greater = stablehlo.constant dense<[(3.0, 5.0), (-1.0, -2.0)]> : tensor<2xcomplex<f32>>
  stablehlo.custom_call @check.expect_eq(%maximum, %greater) : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> ()

  // The Philox state of three words has one counter of 128 bits: the bits of XLA on a CPU, one step
  // before and one after a carry.
  %state = stablehlo.constant dense<[1234605616436508552, 18446744073709551614, 77]> : tensor<3xui64>
  %next, %bits = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<8xui32>)
  %expectedState = stablehlo.constant dense<[1234605616436508552, 0, 78]> : tensor<3xui64>
  %expectedBits = stablehlo.constant dense<[838633919, 3207747154, 698833949, 3277770836, 2455096850, 273498093, 1822344751, 98771713]> : tensor<8xui32>
  stablehlo.custom_call @check.expect_eq(%next, %expectedState) : (tensor<3xui64>, tensor<3xui64>) -> ()
  stablehlo.custom_call @check.expect_eq(%bits, %expectedBits) : (tensor<8xui32>, tensor<8xui32>) -> ()
  return
}
