// Under each policy a small model gives bitwise the same results as the policy that keeps everything. The model has
// attention with a mask of its own elements, a perceptron and a head. It runs in two stages of two shards, then on one
// device group that runs two stages, with weight gradients in separate tasks.
//
// REQUIRES: jax
// RUN: rm -rf %t && mkdir %t
// RUN: echo '{"mode": "hybrid", "data": 1, "sharding_size": 2, "sharding_dim": "megatron", "stage_cnt": 2, "accum_degree": 4}' > %t/1f1b.json
// RUN: echo '{"mode": "pipeline", "data": 1, "stage_cnt": 2, "accum_degree": 4, "schedule": "zb-v"}' > %t/zb-v.json
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t/in x=f32:8x4x6 w0=f32:6x6 w1=f32:6x6 w2=f32:6x8 w3=f32:8x6 learning_rate=f32: step=f32:
// RUN: st-opt %s --pass-pipeline="builtin.module(differentiate,canonicalize,cse,add-optimizer{kind=sgd momentum=0},canonicalize)" -o %t/step.mlir
//
// RUN: st-opt %t/step.mlir --pass-pipeline="builtin.module(apply-parallel-config{config=%t/1f1b.json},propagate-shardings,assign-stages,insert-reshards,global-to-local,split-tasks)" -o %t/1f1b.mlir
// RUN: st-opt %t/1f1b.mlir --schedule-pipeline | st-translate --interpret --inputs=%t/in --outputs=%t/1f1b
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/step %t/step.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/step %t/1f1b 1e-4 | FileCheck %s
// RUN: st-opt %t/1f1b.mlir --rematerialise=policy=full --schedule-pipeline -o %t/full.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/full %t/full.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/1f1b %t/full 0 | FileCheck %s
// RUN: st-opt %t/1f1b.mlir --rematerialise=policy=selective --schedule-pipeline --form-kernels --plan-memory --verify-memory-plan -o %t/selective.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/selective %t/selective.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/1f1b %t/selective 0 | FileCheck %s
// RUN: st-opt %t/1f1b.mlir --rematerialise=policy=384 --schedule-pipeline --form-kernels --plan-memory --verify-memory-plan -o %t/least.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/least %t/least.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/1f1b %t/least 0 | FileCheck %s
//
// Each of them does recompute something.
// RUN: not diff -q %t/1f1b.mlir %t/full.mlir
// RUN: cat %t/full.mlir | FileCheck --check-prefix=FULL %s
// FULL: st.task @backward{{[01]}}
// FULL: stablehlo.exponential
//
// RUN: st-opt %t/step.mlir --pass-pipeline="builtin.module(apply-parallel-config{config=%t/zb-v.json},propagate-shardings,assign-stages,insert-reshards,global-to-local,split-tasks)" -o %t/zb-v.mlir
// RUN: st-opt %t/zb-v.mlir --schedule-pipeline | st-translate --interpret --inputs=%t/in --outputs=%t/zb-v
// RUN: %python %S/../Reference/Inputs/compare.py %t/step %t/zb-v 1e-4 | FileCheck %s
// RUN: st-opt %t/zb-v.mlir --rematerialise=policy=full --schedule-pipeline | st-translate --interpret --inputs=%t/in --outputs=%t/zb-v-full
// RUN: %python %S/../Reference/Inputs/compare.py %t/zb-v %t/zb-v-full 0 | FileCheck %s
// RUN: st-opt %t/zb-v.mlir --rematerialise=policy=800 --schedule-pipeline | st-translate --interpret --inputs=%t/in --outputs=%t/zb-v-least
// RUN: %python %S/../Reference/Inputs/compare.py %t/zb-v %t/zb-v-least 0 | FileCheck %s
// CHECK: tensors agree

module {
  func.func @main(
      %x: tensor<8x4x6xf32> {st.name = "x", st.role = "batch"},
      %w0: tensor<6x6xf32> {st.name = "w0", st.role = "parameter", st.init = {kind = "normal", std = 1.0 : f64}},
      %w1: tensor<6x6xf32> {st.name = "w1", st.role = "parameter", st.init = {kind = "normal", std = 1.0 : f64}},
      %w2: tensor<6x8xf32> {st.name = "w2", st.role = "parameter", st.init = {kind = "normal", std = 1.0 : f64}},
      %w3: tensor<8x6xf32> {st.name = "w3", st.role = "parameter", st.init = {kind = "normal", std = 1.0 : f64}})
      -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %e0 = stablehlo.dot_general %x, %w0, contracting_dims = [2] x [0] {st.block = 0 : i64} : (tensor<8x4x6xf32>, tensor<6x6xf32>) -> tensor<8x4x6xf32>
    %h = stablehlo.tanh %e0 {st.block = 0 : i64} : tensor<8x4x6xf32>
    // Attention: each element that its position allows.
    %scores = stablehlo.dot_general %h, %h, batching_dims = [0] x [0], contracting_dims = [2] x [2] {st.block = 1 : i64} : (tensor<8x4x6xf32>, tensor<8x4x6xf32>) -> tensor<8x4x4xf32>
    %exp = stablehlo.exponential %scores {st.block = 1 : i64} : tensor<8x4x4xf32>
    %sums = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [2] {st.block = 1 : i64} : (tensor<8x4x4xf32>, tensor<f32>) -> tensor<8x4xf32>
    %spread = stablehlo.broadcast_in_dim %sums, dims = [0, 1] {st.block = 1 : i64} : (tensor<8x4xf32>) -> tensor<8x4x4xf32>
    %shares = stablehlo.divide %exp, %spread {st.block = 1 : i64} : tensor<8x4x4xf32>
    %rows = stablehlo.iota dim = 0 {st.block = 1 : i64} : tensor<8x4x4xi32>
    %columns = stablehlo.iota dim = 2 {st.block = 1 : i64} : tensor<8x4x4xi32>
    %places = stablehlo.add %rows, %columns {st.block = 1 : i64} : tensor<8x4x4xi32>
    %three = stablehlo.constant dense<3> : tensor<8x4x4xi32>
    %nothing = stablehlo.constant dense<0> : tensor<8x4x4xi32>
    %rest = stablehlo.remainder %places, %three {st.block = 1 : i64} : tensor<8x4x4xi32>
    %mask = stablehlo.compare NE, %rest, %nothing {st.block = 1 : i64} : (tensor<8x4x4xi32>, tensor<8x4x4xi32>) -> tensor<8x4x4xi1>
    %none = stablehlo.constant dense<0.0> : tensor<8x4x4xf32>
    %kept = stablehlo.select %mask, %shares, %none {st.block = 1 : i64} : tensor<8x4x4xi1>, tensor<8x4x4xf32>
    %context = stablehlo.dot_general %kept, %h, batching_dims = [0] x [0], contracting_dims = [2] x [1] {st.block = 1 : i64} : (tensor<8x4x4xf32>, tensor<8x4x6xf32>) -> tensor<8x4x6xf32>
    %out = stablehlo.dot_general %context, %w1, contracting_dims = [2] x [0] {st.block = 1 : i64} : (tensor<8x4x6xf32>, tensor<6x6xf32>) -> tensor<8x4x6xf32>
    %y = stablehlo.add %h, %out {st.block = 1 : i64} : tensor<8x4x6xf32>
    // A perceptron.
    %inner = stablehlo.dot_general %y, %w2, contracting_dims = [2] x [0] {st.block = 2 : i64} : (tensor<8x4x6xf32>, tensor<6x8xf32>) -> tensor<8x4x8xf32>
    %bent = stablehlo.tanh %inner {st.block = 2 : i64} : tensor<8x4x8xf32>
    %outer = stablehlo.dot_general %bent, %w3, contracting_dims = [2] x [0] {st.block = 2 : i64} : (tensor<8x4x8xf32>, tensor<8x6xf32>) -> tensor<8x4x6xf32>
    %z = stablehlo.add %y, %outer {st.block = 2 : i64} : tensor<8x4x6xf32>
    // The head.
    %t = stablehlo.tanh %z {st.block = 3 : i64} : tensor<8x4x6xf32>
    %squares = stablehlo.multiply %t, %t {st.block = 3 : i64} : tensor<8x4x6xf32>
    %loss = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] {st.block = 3 : i64} : (tensor<8x4x6xf32>, tensor<f32>) -> tensor<f32>
    return %loss : tensor<f32>
  }
}
