// A dynamic scale is in every stage: the last one scales the cotangent of the loss, each divides its gradients. Only
// scalars cross stages in addition to activations and their cotangents.
//
// RUN: split-file %s %t
// RUN: st-opt %t/model.mlir --assign-precision=compute=f16 --scale-loss --differentiate --widen-sums --canonicalize --cse --add-optimizer="kind=sgd momentum=0" --canonicalize --apply-parallel-config=config=%t/two.json --propagate-shardings --assign-stages | FileCheck %s

// CHECK: st.precision = {compute = "f16", loss_scale = "dynamic", reduce = "f32"}
// CHECK: @main(
// CHECK-SAME: %[[SCALE0:[^:]*]]: tensor<f32> {{{[^%]*}}st.name = "loss_scale.scale"{{[^%]*}}st.stage = 0 : i64
// CHECK-SAME: %[[SCALE1:[^:]*]]: tensor<f32> {{{[^%]*}}st.name = "loss_scale.scale"{{[^%]*}}st.stage = 1 : i64
// CHECK: st.transfer %{{.*}} from 0 to 1 {{.*}} : tensor<8x4xf16>
// CHECK: stablehlo.broadcast_in_dim %[[SCALE1]], {{.*}}st.stage = 1 : i64} : (tensor<f32>) -> tensor<8x4xf32>
// CHECK: st.transfer %{{.*}} from 1 to 0 {{.*}} : tensor<8x4xf16>
// CHECK-NOT: st.transfer {{.*}} : tensor<{{.*}}x
// CHECK: return

//--- two.json
{"mode": "pipeline", "data": 1, "stage_cnt": 2, "accum_degree": 2, "precision": "f16"}
//--- model.mlir
func.func @main(%a: tensor<4x4xf32> {st.name = "a", st.role = "parameter"}, %b: tensor<4x4xf32> {st.name = "b", st.role = "parameter"},
                %x: tensor<8x4xf32> {st.name = "x", st.role = "batch"}) -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %a, contracting_dims = [1] x [0] {st.block = 0 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.tanh %0 {st.block = 0 : i64} : tensor<8x4xf32>
  %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0] {st.block = 1 : i64} : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %3 = stablehlo.tanh %2 {st.block = 1 : i64} : tensor<8x4xf32>
  %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1] {st.block = 1 : i64} : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  return %4 : tensor<f32>
}
