// RUN: st-opt %s -split-input-file -verify-diagnostics

func.func @ranks(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects one rank for lhs, rhs and result, got 'tensor<2x8x8x4xf32>', 'tensor<3x3x4x4xf32>' and 'tensor<2x6x4xf32>'}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x4xf32>
  return
}

// -----

func.func @input_dims(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects dimension_numbers of the input to have 4 elements, one per dimension, got 3}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @kernel_dims(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects dimension_numbers of the kernel to have 4 elements, one per dimension, got 5}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, 2, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @strides(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects window_strides to have 2 elements, one per dimension, got 1}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @lhs_dilation(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects lhs_dilation to be positive, got [0, 1]}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {lhs_dilate = [0, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @rhs_dilation(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects rhs_dilation to be positive, got [1, -1]}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {rhs_dilate = [1, -1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @reversal(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects window_reversal to have 2 elements, one per dimension, got 1}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @padding(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects padding of the shape 2x2, got 'tensor<1x2xi64>'}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @both_groups(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects batch_group_count or feature_group_count to be 1, got 2 and 2}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 2 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @batch_groups(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects batch_group_count 3 to divide the batch of 'tensor<2x8x8x4xf32>' and the output features of 'tensor<3x3x4x4xf32>'}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 3 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @feature_groups(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects feature_group_count 3 to divide the features of 'tensor<2x8x8x4xf32>' and the output features of 'tensor<3x3x4x4xf32>'}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @kernel_features(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects 2 input features in the kernel, got 'tensor<3x3x4x4xf32>'}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @precision(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects 2 precisions, one per operand, got 1}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>]} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @elements(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xbf16>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects one element type for lhs and rhs, got 'tensor<2x8x8x4xf32>' and 'tensor<3x3x4x4xbf16>'}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xbf16>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @overflow(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op has more windows in dimension 1 than 64 bits can count}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[9223372036854775807, 1], [0, 0]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @result(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{'stablehlo.convolution' op expects a result of shape [2, 6, 6, 4], got 'tensor<2x8x8x4xf32>'}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x8x8x4xf32>
  return
}

// -----

func.func @feature_index(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{'stablehlo.batch_norm_inference' op expects feature_index to be in [0, 2), got 2}}
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %s, %s, %s) <{epsilon = 1.0e-3 : f32, feature_index = 2 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  return
}

// -----

// expected-note@+1 {{the value is defined here}}
func.func @per_feature(%x: tensor<2x3xf32>, %s: tensor<2xf32>) {
  // expected-error @+1 {{'stablehlo.batch_norm_training' op expects 'tensor<3xf32>', one element per feature, got 'tensor<2xf32>'}}
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %s) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x3xf32>, tensor<2xf32>, tensor<2xf32>)
  return
}

// -----

// expected-note@+1 {{grad_output is defined here}}
func.func @grad_output(%x: tensor<2x3xf32>, %s: tensor<3xf32>) {
  // expected-error @+1 {{'stablehlo.batch_norm_grad' op expects grad_output of type 'tensor<2x3xf32>', got 'tensor<3xf32>'}}
  %0:3 = "stablehlo.batch_norm_grad"(%x, %s, %s, %s, %s) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}

// -----

func.func @syntax(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{expected b, f and every spatial dimension once}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, 2]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}

// -----

func.func @window_syntax(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x4xf32>) {
  // expected-error @+1 {{expected one each of stride, pad, lhs_dilate, rhs_dilate and reverse, got strides}}
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {strides = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x4xf32>) -> tensor<2x6x6x4xf32>
  return
}
