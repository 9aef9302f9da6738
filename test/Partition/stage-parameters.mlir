// The forward pass is split at the stage boundaries of another program, which gives the stages of the parameters.
//
// RUN: st-opt --propagate-shardings --assign-stages %s | FileCheck %s

// The block starts with the ops before its first parameter; the last block, which has none, stays
// with the previous one.
// CHECK: stablehlo.dot_general {{.*}}st.stage = 0
// CHECK: st.transfer {{.*}} from 0 to 1
// CHECK: stablehlo.tanh {{.*}}st.stage = 1
// CHECK: stablehlo.dot_general {{.*}}st.stage = 1
// CHECK-NOT: st.transfer
// CHECK: stablehlo.negate {{.*}}st.stage = 1
// CHECK: stablehlo.reduce{{.*}}st.stage = 1
module attributes {st.devices = [array<i64: 0>, array<i64: 1>], st.stages = 2 : i64, st.schedule = "sequential", st.micro_batches = 1 : i64,
                   st.parameter_stages = {w0 = 0 : i64, w1 = 1 : i64}} {
  st.mesh @mesh <["tensor"=1], micro=1>
  func.func @main(
      %w0: tensor<4x4xf32> {st.name = "w0", st.role = "parameter"},
      %w1: tensor<4x4xf32> {st.name = "w1", st.role = "parameter"},
      %x: tensor<4x4xf32> {st.name = "x", st.role = "batch"}) -> (tensor<f32> {st.role = "metric", st.name = "loss"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] {st.block = 1 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %1 = stablehlo.tanh %0 {st.block = 2 : i64} : tensor<4x4xf32>
    %2 = stablehlo.dot_general %1, %w1, contracting_dims = [1] x [0] {st.block = 2 : i64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %3 = stablehlo.negate %2 {st.block = 3 : i64} : tensor<4x4xf32>
    %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [0, 1] {st.block = 3 : i64} : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
    return %4 : tensor<f32>
  }
}
