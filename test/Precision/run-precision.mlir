// Numbers of the reference interpreter. Values that 16 bits hold are unchanged: exact products and sums, a maximum,
// powers of two. 1 + 2^-9 is 1 in bf16 and not in f16, 2^-9 is exact in both. A sum of 512 ones and a mean of them are
// computed in f32, and a sum of 16-bit rows that 16 bits would lose is not lost.
//
// RUN: st-opt %s -o %t.whole.mlir
// RUN: st-opt %s --assign-precision=compute=bf16 -o %t.bf16.mlir
// RUN: st-opt %s --assign-precision=compute=f16 -o %t.f16.mlir
// RUN: st-translate --interpret %t.whole.mlir | FileCheck %s --check-prefixes=CHECK,EXACT
// RUN: st-translate --interpret %t.bf16.mlir | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: st-translate --interpret %t.f16.mlir | FileCheck %s --check-prefixes=CHECK,F16
// RUN: FileCheck %s --input-file=%t.bf16.mlir --check-prefix=TYPES

// EXACT: a = dense<1.00195313>
// BF16: a = dense<1.000000e+00>
// F16: a = dense<1.00195313>
// CHECK: b = dense<5.130000e+02>
// CHECK: loss = dense<1.400000e+02>
// TYPES-COUNT-3: dot_general {{.*}}bf16>) -> tensor<{{.*}}bf16>
func.func @main() -> (tensor<f32> {st.name = "loss", st.role = "loss"}, tensor<f32> {st.name = "a", st.role = "metric"},
                      tensor<f32> {st.name = "b", st.role = "metric"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // 4 + 16 + ... : squares of 0 ... 7
  %i = stablehlo.iota dim = 0 : tensor<8xf32>
  %0 = stablehlo.dot_general %i, %i, contracting_dims = [0] x [0] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  %near = stablehlo.constant dense<[1.0, 0.001953125]> : tensor<2xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<2xf32>
  %1 = stablehlo.dot_general %near, %ones, contracting_dims = [0] x [0] : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  // 512 ones and one: as a sum of 16-bit values, 512 in bf16.
  %column = stablehlo.constant dense<1.0> : tensor<513x1xf32>
  %one = stablehlo.constant dense<1.0> : tensor<1x1xf32>
  %rows = stablehlo.dot_general %column, %one, contracting_dims = [1] x [0] : (tensor<513x1xf32>, tensor<1x1xf32>) -> tensor<513x1xf32>
  %2 = stablehlo.reduce(%rows init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<513x1xf32>, tensor<f32>) -> tensor<f32>
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<f32>
}
