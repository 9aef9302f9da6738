// RUN: st-opt %s --assign-precision=compute=bf16 | FileCheck %s

// A frozen matrix has 16 bits; its vector does not, because the sum reads it in f32.
// CHECK: func.func @main(%[[X:.*]]: tensor<4x8xf32>
// CHECK-SAME: %[[W:.*]]: tensor<8x8xbf16> {st.frozen
// CHECK-SAME: %{{.*}}: tensor<8xf32> {st.frozen
// CHECK-SAME: %{{.*}}: tensor<8x8xf32> {st.name = "v.weight"
// CHECK: stablehlo.dot_general %{{.*}}, %[[W]]
func.func @main(%x: tensor<4x8xf32> {st.name = "x", st.role = "batch"},
                %w: tensor<8x8xf32> {st.frozen, st.name = "w.weight", st.role = "parameter"},
                %b: tensor<8xf32> {st.frozen, st.name = "w.bias", st.role = "parameter"},
                %v: tensor<8x8xf32> {st.name = "v.weight", st.role = "parameter"})
    -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
  %2 = stablehlo.add %0, %1 : tensor<4x8xf32>
  %3 = stablehlo.dot_general %2, %v, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  return %4 : tensor<f32>
}
