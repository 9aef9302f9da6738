// If micro-batches read a sum over all micro-batches, it is computed once per step, with its collectives: a count of
// masked rows over all micro-batches and replicas, which the other stage reads too. The local function on lockstep
// ranks and its programs give the same numbers.
//
// REQUIRES: jax
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t/in x=f32:16x4 mask=f32:16 w=f32:4x4 learning_rate=f32:
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/local %s
//
// RUN: st-opt --split-tasks %s -o %t/tasks.mlir
// RUN: FileCheck %s --input-file=%t/tasks.mlir --check-prefix=TASKS
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/tasks %t/tasks.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/local %t/tasks 1e-5 | FileCheck %s
//
// RUN: st-opt --schedule-pipeline=kind=1f1b --form-kernels --plan-memory --verify-memory-plan %t/tasks.mlir -o %t/1f1b.mlir
// RUN: FileCheck %s --input-file=%t/1f1b.mlir --check-prefix=SCHEDULE
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/1f1b %t/1f1b.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/tasks %t/1f1b 0 | FileCheck %s
// CHECK: 2 tensors agree

#scalar = #st.sharding<@mesh, []>
#rows = #st.sharding<@mesh, [{"micro", "data"}, {}]>
#row = #st.sharding<@mesh, [{"micro", "data"}]>
#replicated = #st.sharding<@mesh, [{}, {}]>
module attributes {st.stages = 2 : i64} {
  st.mesh @mesh <["data"=2], micro=4>
  func.func @main(
      %x: tensor<2x4xf32> {st.name = "x", st.role = "batch", st.stage = 0 : i64, st.sharding = #rows, st.global_type = tensor<16x4xf32>},
      %m: tensor<2xf32> {st.name = "mask", st.role = "batch", st.stage = 1 : i64, st.sharding = #row, st.global_type = tensor<16xf32>},
      %w: tensor<4x4xf32> {st.name = "w", st.role = "parameter", st.stage = 0 : i64, st.sharding = #replicated, st.global_type = tensor<4x4xf32>, tf.aliasing_output = 1 : i32},
      %lr: tensor<f32> {st.name = "learning_rate", st.role = "scalar", st.stage = 0 : i64, st.sharding = #scalar, st.global_type = tensor<f32>})
      -> (tensor<f32> {st.name = "loss", st.role = "loss", st.stage = 1 : i64, st.sharding = #scalar, st.global_type = tensor<f32>},
          tensor<4x4xf32> {st.name = "w", st.role = "parameter", st.stage = 0 : i64, st.sharding = #replicated, st.global_type = tensor<4x4xf32>}) {
    %zero = stablehlo.constant {st.stage = 1 : i64} dense<0.0> : tensor<f32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {st.stage = 0 : i64} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %h = st.transfer %y from 0 to 1 {st.stage = 1 : i64} : tensor<2x4xf32>
    // The count: one in each row that is not masked.
    %zeros = stablehlo.constant {st.stage = 1 : i64} dense<0.0> : tensor<2xf32>
    %counts = stablehlo.compare GT, %m, %zeros {st.stage = 1 : i64} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
    %one = stablehlo.convert %counts {st.stage = 1 : i64} : (tensor<2xi1>) -> tensor<2xf32>
    %ones = stablehlo.reduce(%one init: %zero) applies stablehlo.add across dimensions = [0] {st.stage = 1 : i64} : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %own = st.accumulate %ones sum over micro {st.stage = 1 : i64} : tensor<f32>
    %count = st.all_reduce %own sum over ["data"] of @mesh {st.stage = 1 : i64} : tensor<f32>
    %c = stablehlo.constant {st.stage = 1 : i64} dense<1.0> : tensor<f32>
    %least = stablehlo.maximum %count, %c {st.stage = 1 : i64} : tensor<f32>
    %sent = st.transfer %least from 1 to 0 {st.stage = 0 : i64} : tensor<f32>
    // Forward: the sum of all results, divided.
    %s = stablehlo.reduce(%h init: %zero) applies stablehlo.add across dimensions = [0, 1] {st.stage = 1 : i64} : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
    %part = stablehlo.divide %s, %least {st.stage = 1 : i64} : tensor<f32>
    %sum = st.accumulate %part sum over micro {st.stage = 1 : i64} : tensor<f32>
    %loss = st.all_reduce %sum sum over ["data"] of @mesh {st.stage = 1 : i64} : tensor<f32>
    // Backward: on the stage that received the count.
    %up = stablehlo.constant {st.stage = 0 : i64} dense<1.0> : tensor<2x4xf32>
    %cb = stablehlo.broadcast_in_dim %sent, dims = [] {st.stage = 0 : i64} : (tensor<f32>) -> tensor<2x4xf32>
    %dy = stablehlo.divide %up, %cb {st.stage = 0 : i64} : tensor<2x4xf32>
    %dw = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] {st.stage = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %acc = st.accumulate %dw sum over micro {st.stage = 0 : i64} : tensor<4x4xf32>
    %g = st.all_reduce %acc sum over ["data"] of @mesh {st.stage = 0 : i64} : tensor<4x4xf32>
    %lrb = stablehlo.broadcast_in_dim %lr, dims = [] {st.stage = 0 : i64} : (tensor<f32>) -> tensor<4x4xf32>
    %u = stablehlo.multiply %g, %lrb {st.stage = 0 : i64} : tensor<4x4xf32>
    %n = stablehlo.subtract %w, %u {st.stage = 0 : i64} : tensor<4x4xf32>
    return %loss, %n : tensor<f32>, tensor<4x4xf32>
  }
}

// TASKS-LABEL: st.program @group0
// TASKS: st.task @totals totals stage 0
// TASKS:   st.recv from @group1
// TASKS: st.task @forward0 forward stage 0
// TASKS-NOT: all_reduce
// TASKS-NOT: recv
// TASKS: st.task @update update stage 0
// TASKS-LABEL: st.program @group1
// TASKS: st.task @statistics1 statistics stage 1
// TASKS-NOT: all_reduce
// TASKS: st.task @totals totals stage 1
// TASKS: %[[OWN:.*]] = st.read @accumulator0
// TASKS: %[[COUNT:.*]] = st.all_reduce %[[OWN]] sum over ["data"]
// TASKS:   %[[LEAST:.*]] = stablehlo.maximum %[[COUNT]]
// TASKS:   st.send %[[LEAST]] to @group0
// TASKS: st.task @forward1 forward stage 1
// TASKS-NOT: all_reduce
// TASKS: st.task @update update stage 1

// SCHEDULE: st.schedule "1f1b" [@prologue 0, @totals 0, @forward0 0,
// SCHEDULE: st.schedule "1f1b" [@prologue 0, @statistics1 0, @statistics1 1, @statistics1 2, @statistics1 3, @totals 0, @forward1 0,
