// Functions, normalizations and maps without a kernel compute the same. Only results near zero are rounded.
// RUN: st-translate --interpret %s > %t.before
// RUN: st-opt --lower-tensor-ops %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.after
// RUN: diff %t.before %t.after

// CHECK-NOT: {{chlo\.|batch_norm|stablehlo\.(map|real|imag)|-> \(tensor<2xui64>, tensor<5xbf16>\)}}
func.func @main() -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>,
                      tensor<2xf32>, tensor<3xi32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>,
                      tensor<5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<5xi16>) {
  // A mean of 5 and 2, a variance of 4 and 1.
  %x = stablehlo.constant dense<[[3.0, 1.0], [7.0, 3.0]]> : tensor<2x2xf32>
  %scale = stablehlo.constant dense<[2.0, 3.0]> : tensor<2xf32>
  %offset = stablehlo.constant dense<[1.0, -1.0]> : tensor<2xf32>
  %trained:3 = "stablehlo.batch_norm_training"(%x, %scale, %offset) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)
  %inferred = "stablehlo.batch_norm_inference"(%x, %scale, %offset, %offset, %trained#2) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  %gradients:3 = "stablehlo.batch_norm_grad"(%x, %scale, %trained#1, %trained#2, %x) <{epsilon = 0.0 : f32, feature_index = 1 : i64}> : (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>)

  %i = stablehlo.constant dense<[1, -2, 3]> : tensor<3xi32>
  %mapped = "stablehlo.map"(%i, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %two = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.multiply %a, %b : tensor<i32>
    %1 = stablehlo.add %0, %two : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi32>

  %v = stablehlo.constant dense<[-0.0, 1.0, 0x7F800000, 0x7FC00000]> : tensor<4xf32>
  %real = stablehlo.real %v : (tensor<4xf32>) -> tensor<4xf32>
  %imag = stablehlo.imag %v : (tensor<4xf32>) -> tensor<4xf32>
  %conj = chlo.conj %v : tensor<4xf32> -> tensor<4xf32>
  %bessel = chlo.bessel_i1e %v : tensor<4xf32> -> tensor<4xf32>

  // Poles, ends of ranges, and both sides of the limits of series.
  %g = stablehlo.constant dense<[0.0, 0.75, 1.0, -2.5, 30.25]> : tensor<5xf32>
  %lgamma = chlo.lgamma %g : tensor<5xf32> -> tensor<5xf32>
  %d = stablehlo.constant dense<[0.0, 0.75, -2.5]> : tensor<3xf32>
  %digamma = chlo.digamma %d : tensor<3xf32> -> tensor<3xf32>
  %s = stablehlo.constant dense<[2.0, 3.0, 4.0]> : tensor<3xf32>
  %zeta = chlo.zeta %s, %d : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>
  %n = stablehlo.constant dense<[0.0, 2.0]> : tensor<2xf32>
  %p = stablehlo.constant dense<[0.75, 1.5]> : tensor<2xf32>
  %polygamma = chlo.polygamma %n, %p : tensor<2xf32>, tensor<2xf32> -> tensor<2xf32>

  %key = stablehlo.constant dense<[3, 4]> : tensor<2xui64>
  %next, %drawn = stablehlo.rng_bit_generator %key, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<5xbf16>)
  %bits = stablehlo.bitcast_convert %drawn : (tensor<5xbf16>) -> tensor<5xi16>
  return %trained#0, %trained#1, %trained#2, %inferred, %gradients#0, %gradients#1, %gradients#2, %mapped, %real, %imag, %conj, %bessel, %lgamma, %digamma, %zeta, %polygamma, %bits
      : tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xi32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<5xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<5xi16>
}
