// ZeRO's third level with a 16-bit copy of a parameter: the copy is computed from the shards and gathered in each pass.
// Users of the parameter itself get it gathered in its own type, and the update uses the shards.
//
// RUN: split-file %s %t
// RUN: st-opt --apply-parallel-config=config=%t/zero3.json %t/step.mlir | FileCheck %s
// RUN: st-opt --apply-parallel-config=config=%t/zero3.json --propagate-shardings --insert-reshards --global-to-local %t/step.mlir | FileCheck %s --check-prefix=LOCAL

// CHECK: @main(%[[W:[^:]*]]: tensor<32x16xf32> {st.name = "w"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"data"}, {}]>
// CHECK: %[[COPY:.*]] = stablehlo.convert %[[W]] : (tensor<32x16xf32>) -> tensor<32x16xbf16>
// CHECK-NEXT: %[[WHOLE:.*]] = st.constrain %[[COPY]] to <@mesh, [{}, {}]> : tensor<32x16xbf16>
// CHECK-NEXT: stablehlo.dot_general %{{.*}}, %[[WHOLE]]
// CHECK: %[[SELF:.*]] = st.constrain %[[W]] to <@mesh, [{}, {}]> : tensor<32x16xf32>
// CHECK-NEXT: stablehlo.reduce(%[[SELF]]
// CHECK: %[[AGAIN:.*]] = st.constrain %[[COPY]] to <@mesh, [{}, {}]> : tensor<32x16xbf16>
// CHECK-NEXT: stablehlo.dot_general %{{.*}}, %[[AGAIN]]
// CHECK: stablehlo.subtract %[[W]]

// LOCAL: %[[COPY:.*]] = stablehlo.convert %arg0 : (tensor<16x16xf32>) -> tensor<16x16xbf16>
// LOCAL-NEXT: st.all_gather %[[COPY]] dim 0 over ["data"] of @mesh : tensor<16x16xbf16> -> tensor<32x16xbf16>

//--- step.mlir
func.func @main(%w: tensor<32x16xf32> {st.name = "w", st.role = "parameter", tf.aliasing_output = 1 : i32},
                %x: tensor<64x16xbf16> {st.name = "x", st.role = "batch"}, %y: tensor<64x32xbf16> {st.name = "y", st.role = "batch"})
    -> (tensor<f32> {st.name = "loss", st.role = "loss"}, tensor<32x16xf32> {st.name = "w", st.role = "parameter"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.convert %w : (tensor<32x16xf32>) -> tensor<32x16xbf16>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [1] x [1] : (tensor<64x16xbf16>, tensor<32x16xbf16>) -> tensor<64x32xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x32xf32>, tensor<f32>) -> tensor<f32>
  %3 = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x16xf32>, tensor<f32>) -> tensor<f32>
  %loss = stablehlo.add %2, %3 : tensor<f32>
  // Backward.
  %4 = stablehlo.dot_general %y, %0, contracting_dims = [1] x [0] : (tensor<64x32xbf16>, tensor<32x16xbf16>) -> tensor<64x16xbf16>
  %5 = stablehlo.dot_general %y, %4, contracting_dims = [0] x [0] : (tensor<64x32xbf16>, tensor<64x16xbf16>) -> tensor<32x16xf32>
  %6 = stablehlo.subtract %w, %5 : tensor<32x16xf32>
  return %loss, %6 : tensor<f32>, tensor<32x16xf32>
}
//--- zero3.json
{"mode": "sharding", "data": 2, "zero": 3}
