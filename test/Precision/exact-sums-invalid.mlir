// RUN: st-opt %s -split-input-file -verify-diagnostics --exact-sums

func.func @main(%x: tensor<4xf64> {st.role = "parameter", st.name = "x"}) -> (tensor<f64> {st.role = "metric", st.name = "y"}) {
  // expected-error @below {{sums floats in a way that has no exact form; expected products (dot_general), sums over dimensions or scatters that add, of f32, bf16 or f16}}
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<4xf64>, tensor<4xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// -----

func.func @main(%x: tensor<4xf32> {st.role = "parameter", st.name = "x"}) -> (tensor<f32> {st.role = "metric", st.name = "y"}) {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  // expected-error @below {{sums floats in a way that has no exact form}}
  %0 = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%x: tensor<1x4x4x1xf32> {st.role = "batch", st.name = "x"}, %k: tensor<2x2x1x1xf32> {st.role = "parameter", st.name = "k"}) -> (tensor<1x3x3x1xf32> {st.role = "metric", st.name = "y"}) {
  // expected-error @below {{sums floats in a way that has no exact form}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x3x3x1xf32>
  return %0 : tensor<1x3x3x1xf32>
}

// -----

func.func @main(%x: tensor<5000000xf32> {st.role = "parameter", st.name = "x"}) -> (tensor<f32> {st.role = "metric", st.name = "y"}) {
  // expected-error @below {{adds up 5000000 products; exact sums have at most 4194304}}
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<5000000xf32>, tensor<5000000xf32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{expected roles of arguments and results of @main}}
module {
  func.func @main(%w: tensor<f32>) -> tensor<f32> {
    return %w : tensor<f32>
  }
}
