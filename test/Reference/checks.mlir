// Programs that carry their inputs and their expected results check themselves.
// RUN: split-file %s %t
// RUN: st-translate --interpret %t/agree.mlir
// RUN: st-translate --interpret --split-input-file --verify-diagnostics %t/disagree.mlir

//--- agree.mlir
func.func @main() {
  %x = stablehlo.constant dense<[1.0, 0x7FC00000, -0.0]> : tensor<3xf32>
  %zero = stablehlo.constant dense<[1.0, 0x7FC00001, 0.0]> : tensor<3xf32>
  // NaNs agree, and so do both zeros.
  stablehlo.custom_call @check.expect_eq(%x, %zero) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()

  %near = stablehlo.constant dense<[0x3F800003, 0x7FC00000, 0x80000003]> : tensor<3xf32>
  stablehlo.custom_call @check.expect_close(%x, %near) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
  %third = stablehlo.constant dense<[0x3F800001, 0x7FC00000, 0x00000001]> : tensor<3xf32>
  stablehlo.custom_call @check.expect_close(%x, %third) {max_ulp_difference = 1 : i64} : (tensor<3xf32>, tensor<3xf32>) -> ()

  %about = stablehlo.constant dense<[1.0009, 0x7FC00000, -0.0009]> : tensor<3xf32>
  stablehlo.custom_call @check.expect_almost_eq(%x, %about) {has_side_effect = true} : (tensor<3xf32>, tensor<3xf32>) -> ()
  %far = stablehlo.constant dense<[1.4, 0x7FC00000, -0.4]> : tensor<3xf32>
  stablehlo.custom_call @check.expect_almost_eq(%x, %far) {tolerance = 0.5 : f64} : (tensor<3xf32>, tensor<3xf32>) -> ()

  // Regions and functions work as in other programs.
  %p = stablehlo.constant dense<false> : tensor<i1>
  %y = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<3xf32>
  }, {
    %sum = stablehlo.add %about, %about : tensor<3xf32>
    stablehlo.return %sum : tensor<3xf32>
  }) : (tensor<i1>) -> tensor<3xf32>
  %twice = "stablehlo.map"(%about) <{dimensions = array<i64: 0>}> ({
  ^bb0(%v: tensor<f32>):
    %two = stablehlo.constant dense<2.0> : tensor<f32>
    %product = stablehlo.multiply %v, %two : tensor<f32>
    stablehlo.return %product : tensor<f32>
  }) : (tensor<3xf32>) -> tensor<3xf32>
  stablehlo.custom_call @check.expect_eq(%y, %twice) : (tensor<3xf32>, tensor<3xf32>) -> ()
  return
}

//--- disagree.mlir
func.func @main() {
  %x = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %y = stablehlo.constant dense<[[1, 2], [5, 6]]> : tensor<2x2xi32>
  // expected-error@below {{'check.expect_eq' fails: 2 of 4 elements differ, the first at [1, 0]: 3, expected 5}}
  stablehlo.custom_call @check.expect_eq(%x, %y) : (tensor<2x2xi32>, tensor<2x2xi32>) -> ()
  return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<1.0> : tensor<f32>
  %y = stablehlo.constant dense<0x3F800004> : tensor<f32>
  // expected-error@below {{'check.expect_close' fails: 1 of 1 elements differ, the first at []: 1, expected 1.00000048}}
  stablehlo.custom_call @check.expect_close(%x, %y) : (tensor<f32>, tensor<f32>) -> ()
  return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<(1.0, 2.0)> : tensor<complex<f64>>
  %y = stablehlo.constant dense<(1.0, 2.01)> : tensor<complex<f64>>
  // expected-error@below {{'check.expect_almost_eq' fails: 1 of 1 elements differ, the first at []: (1, 2), expected (1, 2.0099999999999998)}}
  stablehlo.custom_call @check.expect_almost_eq(%x, %y) : (tensor<complex<f64>>, tensor<complex<f64>>) -> ()
  return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<1.0> : tensor<bf16>
  %y = stablehlo.constant dense<0x7F80> : tensor<bf16>
  // expected-error@below {{'check.expect_close' fails: 1 of 1 elements differ, the first at []: 1, expected inf}}
  stablehlo.custom_call @check.expect_close(%x, %y) {max_ulp_difference = 100000 : i64} : (tensor<bf16>, tensor<bf16>) -> ()
  return
}

// -----

func.func @main() {
  %x = stablehlo.constant dense<1.0> : tensor<f32>
  %y = stablehlo.constant dense<1.0> : tensor<1xf32>
  // expected-error@below {{'check.expect_eq' compares two tensors of one type}}
  stablehlo.custom_call @check.expect_eq(%x, %y) : (tensor<f32>, tensor<1xf32>) -> ()
  return
}
