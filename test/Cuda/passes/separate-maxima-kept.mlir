// RUN: st-opt --separate-maxima %s | FileCheck %s

// Rows in registers are not read again, and a square of a difference is not a sum of numbers.
// CHECK-LABEL: @short
// CHECK: stablehlo.subtract
// CHECK-NEXT: stablehlo.reduce
// CHECK-NEXT: st.yield
func.func @short(%0: tensor<4x512xf32>) -> tensor<4xf32> {
  %1 = st.kernel "loop" (%x = %0 : tensor<4x512xf32>) -> tensor<4xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<4x512xf32>, tensor<f32>) -> tensor<4xf32>
    %maxes = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<4xf32>) -> tensor<4x512xf32>
    %below = stablehlo.subtract %x, %maxes : tensor<4x512xf32>
    %sum = stablehlo.reduce(%below init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x512xf32>, tensor<f32>) -> tensor<4xf32>
    st.yield %sum : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: @square
// CHECK: stablehlo.subtract
// CHECK-NEXT: stablehlo.multiply
// CHECK-NEXT: stablehlo.reduce
// CHECK-NEXT: st.yield
func.func @square(%0: tensor<4x9216xf32>) -> tensor<4xf32> {
  %1 = st.kernel "loop" (%x = %0 : tensor<4x9216xf32>) -> tensor<4xf32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<4x9216xf32>, tensor<f32>) -> tensor<4xf32>
    %maxes = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<4xf32>) -> tensor<4x9216xf32>
    %below = stablehlo.subtract %x, %maxes : tensor<4x9216xf32>
    %squares = stablehlo.multiply %below, %below : tensor<4x9216xf32>
    %sum = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x9216xf32>, tensor<f32>) -> tensor<4xf32>
    st.yield %sum : tensor<4xf32>
  }
  return %1 : tensor<4xf32>
}
