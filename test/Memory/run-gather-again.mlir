// Sequence parallelism that keeps a shard's part of a gathered value, and gathers again for the gradients: the same bits
// as when gathered values are kept, alone and with other recomputation.
//
// REQUIRES: jax
// RUN: rm -rf %t && mkdir %t
// RUN: echo '{"mode": "sharding", "data": 1, "sharding_size": 2, "sharding_dim": "megatron", "sequence_parallel": true}' > %t/kept.json
// RUN: echo '{"mode": "sharding", "data": 1, "sharding_size": 2, "sharding_dim": "megatron", "sequence_parallel": "gather_again"}' > %t/again.json
// RUN: echo '{"mode": "hybrid", "data": 1, "sharding_size": 2, "sharding_dim": "megatron", "sequence_parallel": "gather_again", "stage_cnt": 2, "accum_degree": 4, "schedule": "zb-h1"}' > %t/weights.json
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t/in x=f32:8x4x6 w0=f32:6x8 w1=f32:8x6 w2=f32:6x8 w3=f32:8x6 w4=f32:6x8 w5=f32:8x6 learning_rate=f32: step=f32:
// RUN: st-opt %s --pass-pipeline="builtin.module(differentiate,canonicalize,cse,add-optimizer{kind=sgd momentum=0},canonicalize)" -o %t/step.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/step %t/step.mlir
//
// RUN: st-opt %t/step.mlir --pass-pipeline="builtin.module(apply-parallel-config{config=%t/kept.json},propagate-shardings,assign-stages,insert-reshards,global-to-local,simplify-collectives,split-tasks,rematerialise)" -o %t/kept.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/kept %t/kept.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/step %t/kept 1e-4 | FileCheck %s
// RUN: FileCheck --check-prefix=KEPT %s --input-file=%t/kept.mlir
//
// RUN: st-opt %t/step.mlir --pass-pipeline="builtin.module(apply-parallel-config{config=%t/again.json},propagate-shardings,assign-stages,insert-reshards,global-to-local,simplify-collectives,split-tasks)" -o %t/tasks.mlir
// RUN: st-opt --rematerialise %t/tasks.mlir -o %t/again.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/again %t/again.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/kept %t/again 0 | FileCheck %s
// RUN: FileCheck --check-prefix=AGAIN %s --input-file=%t/again.mlir
// RUN: st-opt --rematerialise=policy=full %t/tasks.mlir -o %t/full.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/full %t/full.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/kept %t/full 0 | FileCheck %s
// RUN: st-opt --rematerialise=policy=4000 %t/tasks.mlir -o %t/least.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/least %t/least.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/kept %t/least 0 | FileCheck %s
//
// RUN: st-opt %t/step.mlir --pass-pipeline="builtin.module(apply-parallel-config{config=%t/weights.json},propagate-shardings,assign-stages,insert-reshards,global-to-local,simplify-collectives,split-tasks,rematerialise,schedule-pipeline)" -o %t/weights.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/weights %t/weights.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/step %t/weights 1e-4 | FileCheck %s
// CHECK: tensors agree
//
// The forward pass gathers the inputs of the second and the third perceptron. The backward pass gathers the cotangents
// of the outputs of these and the first one, and gathers the inputs again.
//
// KEPT-COUNT-2: "stash" slots 1 : tensor<8x4x6xf32>
// KEPT-NOT: "stash" slots 1 : tensor<8x4x6xf32>
// KEPT: st.task @forward0
// KEPT-COUNT-2: = st.all_gather
// KEPT: st.task @backward0
// KEPT-COUNT-3: = st.all_gather
// KEPT-NOT: st.all_gather
// KEPT: st.task @update
//
// AGAIN-NOT: "stash" slots 1 : tensor<8x4x6xf32>
// AGAIN: st.task @forward0
// AGAIN-COUNT-2: = st.all_gather
// AGAIN: st.task @backward0
// AGAIN-COUNT-5: = st.all_gather
// AGAIN-NOT: st.all_gather
// AGAIN: st.task @update

func.func @main(
    %x: tensor<8x4x6xf32> {st.name = "x", st.role = "batch"},
    %w0: tensor<6x8xf32> {st.name = "w0", st.role = "parameter", st.init = {kind = "normal", std = 1.0 : f64}},
    %w1: tensor<8x6xf32> {st.name = "w1", st.role = "parameter", st.init = {kind = "normal", std = 1.0 : f64}},
    %w2: tensor<6x8xf32> {st.name = "w2", st.role = "parameter", st.init = {kind = "normal", std = 1.0 : f64}},
    %w3: tensor<8x6xf32> {st.name = "w3", st.role = "parameter", st.init = {kind = "normal", std = 1.0 : f64}},
    %w4: tensor<6x8xf32> {st.name = "w4", st.role = "parameter", st.init = {kind = "normal", std = 1.0 : f64}},
    %w5: tensor<8x6xf32> {st.name = "w5", st.role = "parameter", st.init = {kind = "normal", std = 1.0 : f64}})
    -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w0, contracting_dims = [2] x [0] {st.block = 0 : i64} : (tensor<8x4x6xf32>, tensor<6x8xf32>) -> tensor<8x4x8xf32>
  %1 = stablehlo.tanh %0 {st.block = 0 : i64} : tensor<8x4x8xf32>
  %2 = stablehlo.dot_general %1, %w1, contracting_dims = [2] x [0] {st.block = 0 : i64} : (tensor<8x4x8xf32>, tensor<8x6xf32>) -> tensor<8x4x6xf32>
  %3 = stablehlo.tanh %2 {st.block = 0 : i64} : tensor<8x4x6xf32>
  %4 = stablehlo.dot_general %3, %w2, contracting_dims = [2] x [0] {st.block = 1 : i64} : (tensor<8x4x6xf32>, tensor<6x8xf32>) -> tensor<8x4x8xf32>
  %5 = stablehlo.tanh %4 {st.block = 1 : i64} : tensor<8x4x8xf32>
  %6 = stablehlo.dot_general %5, %w3, contracting_dims = [2] x [0] {st.block = 1 : i64} : (tensor<8x4x8xf32>, tensor<8x6xf32>) -> tensor<8x4x6xf32>
  %7 = stablehlo.add %3, %6 {st.block = 1 : i64} : tensor<8x4x6xf32>
  %8 = stablehlo.dot_general %7, %w4, contracting_dims = [2] x [0] {st.block = 2 : i64} : (tensor<8x4x6xf32>, tensor<6x8xf32>) -> tensor<8x4x8xf32>
  %9 = stablehlo.tanh %8 {st.block = 2 : i64} : tensor<8x4x8xf32>
  %10 = stablehlo.dot_general %9, %w5, contracting_dims = [2] x [0] {st.block = 2 : i64} : (tensor<8x4x8xf32>, tensor<8x6xf32>) -> tensor<8x4x6xf32>
  %11 = stablehlo.add %7, %10 {st.block = 2 : i64} : tensor<8x4x6xf32>
  %12 = stablehlo.multiply %11, %11 {st.block = 2 : i64} : tensor<8x4x6xf32>
  %loss = stablehlo.reduce(%12 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] {st.block = 2 : i64} : (tensor<8x4x6xf32>, tensor<f32>) -> tensor<f32>
  return %loss : tensor<f32>
}
