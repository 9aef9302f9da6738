// Slices, joins and pads that move blocks of a dimension: each block is split, and nothing is sent between a product
// with three outputs and their users. Run unsharded and sharded, with only small integers.
//
// RUN: st-translate --interpret %s > %t.whole
// RUN: st-opt --propagate-shardings --insert-reshards --global-to-local %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.parts
// RUN: diff %t.whole %t.parts

st.mesh @mesh <["data"=2, "tensor"=4], micro=1>
// CHECK-LABEL: func.func @main
// CHECK-NOT: st.{{all_|reduce_|collective_}}
func.func @main() -> (tensor<8x16xf32>, tensor<8x48xf32>, tensor<4x48xf32>, tensor<8x48xf32>, tensor<8x64xf32>) {
  %i = stablehlo.iota dim = 0 : tensor<8x4xf32>
  %j = stablehlo.iota dim = 1 : tensor<8x4xf32>
  %x0 = stablehlo.subtract %i, %j : tensor<8x4xf32>
  %x = st.constrain %x0 to <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  %k = stablehlo.iota dim = 0 : tensor<4x48xf32>
  %l = stablehlo.iota dim = 1 : tensor<4x48xf32>
  %w0 = stablehlo.subtract %l, %k : tensor<4x48xf32>
  %w = st.constrain %w0 to <@mesh, [{}, {3, "tensor"}]> : tensor<4x48xf32>

  // CHECK: stablehlo.dot_general {{.*}} : (tensor<4x4xf32>, tensor<4x12xf32>) -> tensor<4x12xf32>
  %qkv = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x48xf32>) -> tensor<8x48xf32>
  // CHECK: stablehlo.slice %{{.*}} [0:4, 0:4] {{.*}} -> tensor<4x4xf32>
  // CHECK: stablehlo.slice %{{.*}} [0:4, 4:8] {{.*}} -> tensor<4x4xf32>
  // CHECK: stablehlo.slice %{{.*}} [0:4, 8:12] {{.*}} -> tensor<4x4xf32>
  %q = stablehlo.slice %qkv [0:8, 0:16] : (tensor<8x48xf32>) -> tensor<8x16xf32>
  %key = stablehlo.slice %qkv [0:8, 16:32] : (tensor<8x48xf32>) -> tensor<8x16xf32>
  %v = stablehlo.slice %qkv [0:8, 32:48] : (tensor<8x48xf32>) -> tensor<8x16xf32>
  %0 = stablehlo.multiply %q, %key : tensor<8x16xf32>
  %1 = stablehlo.add %0, %v : tensor<8x16xf32>

  // The gradient of the three is split like the product, and so is that of its weight.
  // CHECK: stablehlo.concatenate {{.*}}dim = 1 : (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x12xf32>
  %2 = stablehlo.concatenate %v, %1, %q, dim = 1 : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x48xf32>
  // CHECK: stablehlo.dot_general {{.*}} -> tensor<4x12xf32>
  %3 = stablehlo.dot_general %x, %2, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x48xf32>) -> tensor<4x48xf32>
  // CHECK: st.all_reduce {{.*}} sum over ["data"]
  %4 = st.constrain %3 to <@mesh, [{}, {3, "tensor"}]> : tensor<4x48xf32>

  // CHECK: stablehlo.pad {{.*}}low = [0, 4], high = [0, 4]{{.*}} -> tensor<4x12xf32>
  %zero = stablehlo.constant dense<7.0> : tensor<f32>
  %5 = stablehlo.pad %1, %zero, low = [0, 16], high = [0, 16], interior = [0, 0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<8x48xf32>

  // Blocks of two sizes are multiples of one: two and one of 16, and 4 in total.
  // CHECK: stablehlo.slice %{{.*}} [0:4, 0:8]
  %6 = stablehlo.slice %qkv [0:8, 0:32] : (tensor<8x48xf32>) -> tensor<8x32xf32>
  // CHECK: stablehlo.concatenate {{.*}}: (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x16xf32>
  %7 = stablehlo.concatenate %6, %6, dim = 1 : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x64xf32>
  return %1, %2, %4, %5, %7 : tensor<8x16xf32>, tensor<8x48xf32>, tensor<4x48xf32>, tensor<8x48xf32>, tensor<8x64xf32>
}
