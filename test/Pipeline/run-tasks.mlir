// The local function on lockstep ranks and its programs, task by task, give the same numbers: two stages
// of two devices, four micro-batches. A dropout mask from the micro-batch's index, a count of masked rows
// that normalises the loss, a parameter in both stages, a gradient norm across stages.
//
// REQUIRES: jax
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t/in x=f32:8x6 mask=f32:8 w=f32:6x6 v=f32:6x4 learning_rate=f32:
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/local %s
//
// RUN: st-opt --split-tasks %s -o %t/tasks.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/tasks %t/tasks.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/local %t/tasks 1e-5 | FileCheck %s
//
// RUN: st-opt --schedule-pipeline=kind=sequential --form-kernels --plan-memory --verify-memory-plan %t/tasks.mlir -o %t/sequential.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/sequential %t/sequential.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/tasks %t/sequential 0 | FileCheck %s
//
// RUN: st-opt --schedule-pipeline=kind=gpipe --form-kernels --plan-memory --verify-memory-plan %t/tasks.mlir -o %t/gpipe.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/gpipe %t/gpipe.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/tasks %t/gpipe 0 | FileCheck %s
//
// RUN: st-opt --schedule-pipeline=kind=1f1b --form-kernels --plan-memory --verify-memory-plan %t/tasks.mlir -o %t/1f1b.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/1f1b %t/1f1b.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/tasks %t/1f1b 0 | FileCheck %s
// CHECK: 4 tensors agree

#scalar = #st.sharding<@mesh, []>
#rows = #st.sharding<@mesh, [{"micro"}, {}]>
#row = #st.sharding<@mesh, [{"micro"}]>
#replicated = #st.sharding<@mesh, [{}, {}]>
#columns = #st.sharding<@mesh, [{}, {"tensor"}]>
module attributes {st.stages = 2 : i64} {
  st.mesh @mesh <["tensor"=2], micro=4>
  func.func @main(
      %x: tensor<2x6xf32> {st.name = "x", st.role = "batch", st.stage = 0 : i64, st.sharding = #rows, st.global_type = tensor<8x6xf32>},
      %m: tensor<2xf32> {st.name = "mask", st.role = "batch", st.stage = 1 : i64, st.sharding = #row, st.global_type = tensor<8xf32>},
      %w: tensor<6x6xf32> {st.name = "w", st.role = "parameter", st.stage = 0 : i64, st.sharding = #replicated, st.global_type = tensor<6x6xf32>, tf.aliasing_output = 2 : i32},
      %w1: tensor<6x6xf32> {st.name = "w", st.role = "parameter", st.stage = 1 : i64, st.sharding = #replicated, st.global_type = tensor<6x6xf32>, tf.aliasing_output = 3 : i32},
      %v: tensor<6x2xf32> {st.name = "v", st.role = "parameter", st.stage = 1 : i64, st.sharding = #columns, st.global_type = tensor<6x4xf32>, tf.aliasing_output = 4 : i32},
      %lr: tensor<f32> {st.name = "learning_rate", st.role = "scalar", st.stage = 0 : i64, st.sharding = #scalar, st.global_type = tensor<f32>},
      %lr1: tensor<f32> {st.name = "learning_rate", st.role = "scalar", st.stage = 1 : i64, st.sharding = #scalar, st.global_type = tensor<f32>})
      -> (tensor<f32> {st.name = "loss", st.role = "loss", st.stage = 1 : i64, st.sharding = #scalar, st.global_type = tensor<f32>},
          tensor<f32> {st.name = "grad_norm", st.role = "metric", st.stage = 1 : i64, st.sharding = #scalar, st.global_type = tensor<f32>},
          tensor<6x6xf32> {st.name = "w", st.role = "parameter", st.stage = 0 : i64, st.sharding = #replicated, st.global_type = tensor<6x6xf32>},
          tensor<6x6xf32> {st.name = "w", st.role = "parameter", st.stage = 1 : i64, st.sharding = #replicated, st.global_type = tensor<6x6xf32>},
          tensor<6x2xf32> {st.name = "v", st.role = "parameter", st.stage = 1 : i64, st.sharding = #columns, st.global_type = tensor<6x4xf32>}) {
    %zero0 = stablehlo.constant {st.stage = 0 : i64} dense<0.0> : tensor<f32>
    %zero1 = stablehlo.constant {st.stage = 1 : i64} dense<0.0> : tensor<f32>
    // Forward, first stage: a linear layer and a mask of its elements by their global index.
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {st.stage = 0 : i64} : (tensor<2x6xf32>, tensor<6x6xf32>) -> tensor<2x6xf32>
    %t = stablehlo.tanh %y {st.stage = 0 : i64} : tensor<2x6xf32>
    %mb = st.axis_index "micro" of @mesh {st.stage = 0 : i64} : tensor<i32>
    %twelve = stablehlo.constant {st.stage = 0 : i64} dense<12> : tensor<i32>
    %start = stablehlo.multiply %mb, %twelve {st.stage = 0 : i64} : tensor<i32>
    %startb = stablehlo.broadcast_in_dim %start, dims = [] {st.stage = 0 : i64} : (tensor<i32>) -> tensor<2x6xi32>
    %row = stablehlo.iota dim = 0 {st.stage = 0 : i64} : tensor<2x6xi32>
    %col = stablehlo.iota dim = 1 {st.stage = 0 : i64} : tensor<2x6xi32>
    %six = stablehlo.constant {st.stage = 0 : i64} dense<6> : tensor<2x6xi32>
    %rows = stablehlo.multiply %row, %six {st.stage = 0 : i64} : tensor<2x6xi32>
    %i0 = stablehlo.add %rows, %col {st.stage = 0 : i64} : tensor<2x6xi32>
    %i1 = stablehlo.add %i0, %startb {st.stage = 0 : i64} : tensor<2x6xi32>
    %i2 = stablehlo.multiply %i1, %i1 {st.stage = 0 : i64} : tensor<2x6xi32>
    %i3 = stablehlo.add %i2, %i1 {st.stage = 0 : i64} : tensor<2x6xi32>
    %seven = stablehlo.constant {st.stage = 0 : i64} dense<7> : tensor<2x6xi32>
    %i4 = stablehlo.remainder %i3, %seven {st.stage = 0 : i64} : tensor<2x6xi32>
    %two = stablehlo.constant {st.stage = 0 : i64} dense<2> : tensor<2x6xi32>
    %keep = stablehlo.compare GE, %i4, %two {st.stage = 0 : i64} : (tensor<2x6xi32>, tensor<2x6xi32>) -> tensor<2x6xi1>
    %none = stablehlo.constant {st.stage = 0 : i64} dense<0.0> : tensor<2x6xf32>
    %h0 = stablehlo.select %keep, %t, %none {st.stage = 0 : i64} : tensor<2x6xi1>, tensor<2x6xf32>
    %h = st.transfer %h0 from 0 to 1 {st.stage = 1 : i64} : tensor<2x6xf32>
    // Forward, second stage: the tied weight, then one split over the devices.
    %u = stablehlo.dot_general %h, %w1, contracting_dims = [1] x [1] {st.stage = 1 : i64} : (tensor<2x6xf32>, tensor<6x6xf32>) -> tensor<2x6xf32>
    %z = stablehlo.dot_general %u, %v, contracting_dims = [1] x [0] {st.stage = 1 : i64} : (tensor<2x6xf32>, tensor<6x2xf32>) -> tensor<2x2xf32>
    %z2 = stablehlo.multiply %z, %z {st.stage = 1 : i64} : tensor<2x2xf32>
    %zpart = stablehlo.reduce(%z2 init: %zero1) applies stablehlo.add across dimensions = [1] {st.stage = 1 : i64} : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %zrow = st.all_reduce %zpart sum over ["tensor"] of @mesh {st.stage = 1 : i64} : tensor<2xf32>
    %zero2 = stablehlo.constant {st.stage = 1 : i64} dense<0.0> : tensor<2xf32>
    %counts = stablehlo.compare GT, %m, %zero2 {st.stage = 1 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %one = stablehlo.convert %counts {st.stage = 1 : i64} : (tensor<2xi1>) -> tensor<2xf32>
    %ones = stablehlo.reduce(%one init: %zero1) applies stablehlo.add across dimensions = [0] {st.stage = 1 : i64} : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %count0 = st.accumulate %ones sum over micro {st.stage = 1 : i64} : tensor<f32>
    %unit = stablehlo.constant {st.stage = 1 : i64} dense<1.0> : tensor<f32>
    %count = stablehlo.maximum %count0, %unit {st.stage = 1 : i64} : tensor<f32>
    %zm = stablehlo.multiply %zrow, %one {st.stage = 1 : i64} : tensor<2xf32>
    %sum = stablehlo.reduce(%zm init: %zero1) applies stablehlo.add across dimensions = [0] {st.stage = 1 : i64} : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %part = stablehlo.divide %sum, %count {st.stage = 1 : i64} : tensor<f32>
    %loss = st.accumulate %part sum over micro {st.stage = 1 : i64} : tensor<f32>
    // Backward, second stage.
    %countb = stablehlo.broadcast_in_dim %count, dims = [] {st.stage = 1 : i64} : (tensor<f32>) -> tensor<2xf32>
    %scale = stablehlo.divide %one, %countb {st.stage = 1 : i64} : tensor<2xf32>
    %scaleb = stablehlo.broadcast_in_dim %scale, dims = [0] {st.stage = 1 : i64} : (tensor<2xf32>) -> tensor<2x2xf32>
    %twice = stablehlo.add %z, %z {st.stage = 1 : i64} : tensor<2x2xf32>
    %dz = stablehlo.multiply %twice, %scaleb {st.stage = 1 : i64} : tensor<2x2xf32>
    %dv = stablehlo.dot_general %u, %dz, contracting_dims = [0] x [0] {st.stage = 1 : i64} : (tensor<2x6xf32>, tensor<2x2xf32>) -> tensor<6x2xf32>
    %gv = st.accumulate %dv sum over micro {st.stage = 1 : i64} : tensor<6x2xf32>
    %dupart = stablehlo.dot_general %dz, %v, contracting_dims = [1] x [1] {st.stage = 1 : i64} : (tensor<2x2xf32>, tensor<6x2xf32>) -> tensor<2x6xf32>
    %du = st.all_reduce %dupart sum over ["tensor"] of @mesh {st.stage = 1 : i64} : tensor<2x6xf32>
    %dw1 = stablehlo.dot_general %du, %h, contracting_dims = [0] x [0] {st.stage = 1 : i64} : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<6x6xf32>
    %gw1 = st.accumulate %dw1 sum over micro {st.stage = 1 : i64} : tensor<6x6xf32>
    %dh1 = stablehlo.dot_general %du, %w1, contracting_dims = [1] x [0] {st.stage = 1 : i64} : (tensor<2x6xf32>, tensor<6x6xf32>) -> tensor<2x6xf32>
    %dh = st.transfer %dh1 from 1 to 0 {st.stage = 0 : i64} : tensor<2x6xf32>
    // Backward, first stage.
    %dt = stablehlo.select %keep, %dh, %none {st.stage = 0 : i64} : tensor<2x6xi1>, tensor<2x6xf32>
    %tt = stablehlo.multiply %t, %t {st.stage = 0 : i64} : tensor<2x6xf32>
    %allone = stablehlo.constant {st.stage = 0 : i64} dense<1.0> : tensor<2x6xf32>
    %slope = stablehlo.subtract %allone, %tt {st.stage = 0 : i64} : tensor<2x6xf32>
    %dy = stablehlo.multiply %dt, %slope {st.stage = 0 : i64} : tensor<2x6xf32>
    %dw = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] {st.stage = 0 : i64} : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<6x6xf32>
    %gw = st.accumulate %dw sum over micro {st.stage = 0 : i64} : tensor<6x6xf32>
    // Update: gradients of the tied weight cross, then a norm over all gradients.
    %gw0at1 = st.transfer %gw from 0 to 1 {st.stage = 1 : i64} : tensor<6x6xf32>
    %gw1at0 = st.transfer %gw1 from 1 to 0 {st.stage = 0 : i64} : tensor<6x6xf32>
    %gwsum0 = stablehlo.add %gw, %gw1at0 {st.stage = 0 : i64} : tensor<6x6xf32>
    %gwsum1 = stablehlo.add %gw0at1, %gw1 {st.stage = 1 : i64} : tensor<6x6xf32>
    %sq0 = stablehlo.multiply %gwsum0, %gwsum0 {st.stage = 0 : i64} : tensor<6x6xf32>
    %n0 = stablehlo.reduce(%sq0 init: %zero0) applies stablehlo.add across dimensions = [0, 1] {st.stage = 0 : i64} : (tensor<6x6xf32>, tensor<f32>) -> tensor<f32>
    %sq1 = stablehlo.multiply %gv, %gv {st.stage = 1 : i64} : tensor<6x2xf32>
    %n1part = stablehlo.reduce(%sq1 init: %zero1) applies stablehlo.add across dimensions = [0, 1] {st.stage = 1 : i64} : (tensor<6x2xf32>, tensor<f32>) -> tensor<f32>
    %n1 = st.all_reduce %n1part sum over ["tensor"] of @mesh {st.stage = 1 : i64} : tensor<f32>
    %n0at1 = st.transfer %n0 from 0 to 1 {st.stage = 1 : i64} : tensor<f32>
    %norm2 = stablehlo.add %n0at1, %n1 {st.stage = 1 : i64} : tensor<f32>
    %norm = stablehlo.sqrt %norm2 {st.stage = 1 : i64} : tensor<f32>
    %normat0 = st.transfer %norm from 1 to 0 {st.stage = 0 : i64} : tensor<f32>
    %rate0 = stablehlo.divide %lr, %normat0 {st.stage = 0 : i64} : tensor<f32>
    %rate1 = stablehlo.divide %lr1, %norm {st.stage = 1 : i64} : tensor<f32>
    %rate0b = stablehlo.broadcast_in_dim %rate0, dims = [] {st.stage = 0 : i64} : (tensor<f32>) -> tensor<6x6xf32>
    %rate1b = stablehlo.broadcast_in_dim %rate1, dims = [] {st.stage = 1 : i64} : (tensor<f32>) -> tensor<6x6xf32>
    %rate1v = stablehlo.broadcast_in_dim %rate1, dims = [] {st.stage = 1 : i64} : (tensor<f32>) -> tensor<6x2xf32>
    %step0 = stablehlo.multiply %gwsum0, %rate0b {st.stage = 0 : i64} : tensor<6x6xf32>
    %step1 = stablehlo.multiply %gwsum1, %rate1b {st.stage = 1 : i64} : tensor<6x6xf32>
    %stepv = stablehlo.multiply %gv, %rate1v {st.stage = 1 : i64} : tensor<6x2xf32>
    %neww = stablehlo.subtract %w, %step0 {st.stage = 0 : i64} : tensor<6x6xf32>
    %neww1 = stablehlo.subtract %w1, %step1 {st.stage = 1 : i64} : tensor<6x6xf32>
    %newv = stablehlo.subtract %v, %stepv {st.stage = 1 : i64} : tensor<6x2xf32>
    return %loss, %norm, %neww, %neww1, %newv : tensor<f32>, tensor<f32>, tensor<6x6xf32>, tensor<6x6xf32>, tensor<6x2xf32>
  }
}
