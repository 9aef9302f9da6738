// RUN: st-opt %s --narrow-residuals=compute=bf16 | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: st-opt %s --narrow-residuals=compute=f16 | FileCheck %s --check-prefixes=CHECK,F16

// Softmax's exponential is at most one and the error function is bounded: the backward pass reads both rounded, the
// forward pass unrounded. Any other exponential may exceed f16. A root is of rows, and values that only the forward
// pass reads are not kept.
// CHECK-LABEL: @main
// CHECK: %[[E:.*]] = stablehlo.exponential %{{.*}} : tensor<4x8xf32>
// CHECK-NEXT: %[[E16:.*]] = stablehlo.convert %[[E]] {st.block = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8x[[T:b?f16]]>
// CHECK-NEXT: %[[READ:.*]] = stablehlo.convert %[[E16]] {st.block = 1 : i64} : (tensor<4x8x[[T]]>) -> tensor<4x8xf32>
// CHECK-NEXT: stablehlo.reduce(%[[E]]
// BF16: %[[ANY:.*]] = stablehlo.exponential
// BF16-NEXT: stablehlo.convert %[[ANY]] : (tensor<4x8xf32>) -> tensor<4x8xbf16>
// BF16: chlo.erf
// F16: stablehlo.exponential
// F16-NEXT: chlo.erf
// CHECK-NEXT: %[[F16:.*]] = stablehlo.convert
// CHECK-NEXT: %[[FREAD:.*]] = stablehlo.convert %[[F16]]
// CHECK: stablehlo.rsqrt
// CHECK-NOT: stablehlo.convert
// CHECK: stablehlo.tanh
// CHECK-NOT: stablehlo.convert
// CHECK: stablehlo.multiply %arg1, %[[READ]]
// CHECK: stablehlo.multiply %{{.*}}, %[[FREAD]]
func.func @main(%w: tensor<4x8xf32> {st.name = "w", st.role = "parameter"}, %ct: tensor<4x8xf32> {st.name = "x", st.role = "batch"})
    -> (tensor<f32> {st.name = "loss", st.role = "loss"}, tensor<4x8xf32> {st.name = "w", st.role = "gradient"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%w init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.subtract %w, %1 : tensor<4x8xf32>
  %3 = stablehlo.exponential %2 {st.block = 1 : i64} : tensor<4x8xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  %5 = stablehlo.exponential %w : tensor<4x8xf32>
  %6 = chlo.erf %5 : tensor<4x8xf32> -> tensor<4x8xf32>
  %7 = stablehlo.reduce(%6 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %8 = stablehlo.rsqrt %7 : tensor<4xf32>
  %9 = stablehlo.tanh %8 : tensor<4xf32>
  %10 = stablehlo.reduce(%9 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %11 = stablehlo.add %4, %10 : tensor<f32>
  %12 = stablehlo.multiply %ct, %3 : tensor<4x8xf32>
  %13 = stablehlo.multiply %12, %5 : tensor<4x8xf32>
  %14 = stablehlo.multiply %13, %6 : tensor<4x8xf32>
  %15 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %16 = stablehlo.multiply %14, %15 : tensor<4x8xf32>
  return %11, %16 : tensor<f32>, tensor<4x8xf32>
}
