// A stage may begin with a frozen layer whose weight has padding: the weight's mask is in the layer, not at the beginning of
// the program. The step does not write the weight, so nothing says that its padding is zero.
//
// RUN: split-file %s %t
// RUN: st-opt --apply-parallel-config=config=%t/parallel.json --pad-dimensions --propagate-shardings --assign-stages %t/step.mlir | FileCheck %s

// CHECK: func.func @main
// CHECK-SAME: %[[FROZEN:[^:]*]]: tensor<8x4xf32> {st.name = "layer.1.weight"
// CHECK: stablehlo.dot_general {{.*}}st.stage = 0
// CHECK: stablehlo.select %{{.*}}, %[[FROZEN]], {{.*}}st.stage = 1
// CHECK: stablehlo.dot_general {{.*}}st.stage = 1

//--- step.mlir
func.func @main(
    %w0: tensor<4x6xf32> {st.name = "layer.0.weight", st.role = "parameter"},
    %w1: tensor<6x4xf32> {st.name = "layer.1.weight", st.role = "parameter"},
    %x: tensor<4x4xf32> {st.name = "x", st.role = "batch"}) -> (tensor<f32> {st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] {st.block = 1 : i64} : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = stablehlo.dot_general %0, %w1, contracting_dims = [1] x [0] {st.block = 2 : i64} : (tensor<4x6xf32>, tensor<6x4xf32>) -> tensor<4x4xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] {st.block = 2 : i64} : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
  return %2 : tensor<f32>
}

//--- parallel.json
{"mode": "hybrid", "sharding_size": 4, "sharding_dim": -1, "data": 1, "stage_cnt": 2, "stages": ["layer.1"], "parameters": {"layer.1.weight": ["tensor"]}}
