// Two groups of two virtual stages each, the second stages in reverse order (zb-v): a transfer within a group is a
// stash, gradients of weights are separate tasks, and the programs give the numbers of the function.
//
// RUN: st-opt --split-tasks %s | FileCheck %s
//
// REQUIRES: jax
// RUN: rm -rf %t && mkdir %t
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t/in x=f32:8x4 w0=f32:4x4 w1=f32:4x4 w2=f32:4x4 w3=f32:4x4
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/local %s
// RUN: st-opt --split-tasks --schedule-pipeline %s -o %t/tasks.mlir
// RUN: st-translate --interpret --inputs=%t/in --outputs=%t/tasks %t/tasks.mlir
// RUN: %python %S/../Reference/Inputs/compare.py %t/local %t/tasks 1e-5 | FileCheck --check-prefix=SAME %s
// SAME: 5 tensors agree
//
// RUN: st-opt --split-tasks --schedule-pipeline %s -o %t.scheduled
// RUN: st-translate --timeline %t.scheduled | FileCheck --check-prefix=TIME --match-full-lines --strict-whitespace %s
// RUN: st-translate --timeline --task-times=forward=2,weight=0.5 %t.scheduled | FileCheck --check-prefix=OTHER %s
// RUN: not st-translate --timeline --task-times=sideways=1 %t.scheduled 2>&1 | FileCheck --check-prefix=PHASE %s
// RUN: st-opt --split-tasks %s | not st-translate --timeline 2>&1 | FileCheck --check-prefix=UNSCHEDULED %s
// RUN: not st-opt --split-tasks --schedule-pipeline=kind=interleaved %s 2>&1 | FileCheck --check-prefix=CONTRADICTION %s
// PHASE: error: --task-times=sideways=1: expected forward=, backward= or weight= and a time, at least 0
// UNSCHEDULED: error: 'st.program' op has no st.schedule; expected schedule-pipeline to have run
// CONTRADICTION: the module's st.schedule is "zb-v", which contradicts the option kind=interleaved

#scalar = #st.sharding<@mesh, []>
#rows = #st.sharding<@mesh, [{"micro"}, {}]>
#replicated = #st.sharding<@mesh, [{}, {}]>
module attributes {st.stages = 4 : i64, st.devices = [array<i64: 0>, array<i64: 1>, array<i64: 1>, array<i64: 0>], st.schedule = "zb-v"} {
  st.mesh @mesh <["tensor"=1], micro=4>
  func.func @main(
      %x: tensor<2x4xf32> {st.name = "x", st.role = "batch", st.stage = 0 : i64, st.sharding = #rows, st.global_type = tensor<8x4xf32>},
      %w0: tensor<4x4xf32> {st.name = "w0", st.role = "parameter", st.stage = 0 : i64, st.sharding = #replicated, tf.aliasing_output = 1 : i32},
      %w1: tensor<4x4xf32> {st.name = "w1", st.role = "parameter", st.stage = 1 : i64, st.sharding = #replicated, tf.aliasing_output = 2 : i32},
      %w2: tensor<4x4xf32> {st.name = "w2", st.role = "parameter", st.stage = 2 : i64, st.sharding = #replicated, tf.aliasing_output = 3 : i32},
      %w3: tensor<4x4xf32> {st.name = "w3", st.role = "parameter", st.stage = 3 : i64, st.sharding = #replicated, tf.aliasing_output = 4 : i32})
      -> (tensor<f32> {st.name = "loss", st.role = "loss", st.stage = 3 : i64, st.sharding = #scalar},
          tensor<4x4xf32> {st.name = "w0", st.role = "parameter", st.stage = 0 : i64, st.sharding = #replicated},
          tensor<4x4xf32> {st.name = "w1", st.role = "parameter", st.stage = 1 : i64, st.sharding = #replicated},
          tensor<4x4xf32> {st.name = "w2", st.role = "parameter", st.stage = 2 : i64, st.sharding = #replicated},
          tensor<4x4xf32> {st.name = "w3", st.role = "parameter", st.stage = 3 : i64, st.sharding = #replicated}) {
    %h0 = stablehlo.dot_general %x,
      %w0, contracting_dims = [1] x [0] {st.stage = 0 : i64} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %i1 = st.transfer %h0 from 0 to 1 {st.stage = 1 : i64} : tensor<2x4xf32>
    %h1 = stablehlo.dot_general %i1,
      %w1, contracting_dims = [1] x [0] {st.stage = 1 : i64} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %i2 = st.transfer %h1 from 1 to 2 {st.stage = 2 : i64} : tensor<2x4xf32>
    %h2 = stablehlo.dot_general %i2,
      %w2, contracting_dims = [1] x [0] {st.stage = 2 : i64} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %i3 = st.transfer %h2 from 2 to 3 {st.stage = 3 : i64} : tensor<2x4xf32>
    %h3 = stablehlo.dot_general %i3,
      %w3, contracting_dims = [1] x [0] {st.stage = 3 : i64} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %zero = stablehlo.constant {st.stage = 3 : i64} dense<0.0> : tensor<f32>
    %part = stablehlo.reduce(%h3 init: %zero) applies stablehlo.add across dimensions = [0, 1] {st.stage = 3 : i64} : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
    %loss = st.accumulate %part sum over micro {st.stage = 3 : i64} : tensor<f32>
    %d3 = stablehlo.sine %h3 {st.stage = 3 : i64} : tensor<2x4xf32>
    %c3 = stablehlo.dot_general %d3,
      %w3, contracting_dims = [1] x [1] {st.stage = 3 : i64} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %g3 = stablehlo.dot_general %i3, %d3, contracting_dims = [0] x [0] {st.stage = 3 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %a3 = st.accumulate %g3 sum over micro {st.stage = 3 : i64} : tensor<4x4xf32>
    %d2 = st.transfer %c3 from 3 to 2 {st.stage = 2 : i64} : tensor<2x4xf32>
    %c2 = stablehlo.dot_general %d2,
      %w2, contracting_dims = [1] x [1] {st.stage = 2 : i64} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %g2 = stablehlo.dot_general %i2, %d2, contracting_dims = [0] x [0] {st.stage = 2 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %a2 = st.accumulate %g2 sum over micro {st.stage = 2 : i64} : tensor<4x4xf32>
    %d1 = st.transfer %c2 from 2 to 1 {st.stage = 1 : i64} : tensor<2x4xf32>
    %c1 = stablehlo.dot_general %d1,
      %w1, contracting_dims = [1] x [1] {st.stage = 1 : i64} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %g1 = stablehlo.dot_general %i1, %d1, contracting_dims = [0] x [0] {st.stage = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %a1 = st.accumulate %g1 sum over micro {st.stage = 1 : i64} : tensor<4x4xf32>
    %d0 = st.transfer %c1 from 1 to 0 {st.stage = 0 : i64} : tensor<2x4xf32>
    %c0 = stablehlo.dot_general %d0,
      %w0, contracting_dims = [1] x [1] {st.stage = 0 : i64} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %e0 = stablehlo.add %c0, %d0 {st.stage = 0 : i64} : tensor<2x4xf32>
    %g0 = stablehlo.dot_general %x, %e0, contracting_dims = [0] x [0] {st.stage = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %a0 = st.accumulate %g0 sum over micro {st.stage = 0 : i64} : tensor<4x4xf32>
    %n3 = stablehlo.subtract %w3, %a3 {st.stage = 3 : i64} : tensor<4x4xf32>
    %n2 = stablehlo.subtract %w2, %a2 {st.stage = 2 : i64} : tensor<4x4xf32>
    %n1 = stablehlo.subtract %w1, %a1 {st.stage = 1 : i64} : tensor<4x4xf32>
    %n0 = stablehlo.subtract %w0, %a0 {st.stage = 0 : i64} : tensor<4x4xf32>
    return %loss, %n0, %n1, %n2, %n3 : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// CHECK-LABEL: st.program @group0 stages [0, 3] devices [0]
// CHECK: st.task @prologue prologue stage 0
// CHECK: st.task @forward0 forward stage 0
// CHECK: st.task @forward3 forward stage 3
// CHECK: st.task @backward3 backward stage 3
// CHECK-NOT: accumulate
// CHECK: st.task @backward0 backward stage 0
// CHECK-NOT: accumulate
// CHECK: st.task @weight3 weight stage 3
// CHECK:   st.write %{{.*}} to @accumulator1 accumulate  sum
// CHECK: st.task @weight0 weight stage 0
// CHECK:   st.write %{{.*}} to @accumulator2 accumulate  sum
// CHECK: st.task @update update stage 0
// CHECK-LABEL: st.program @group1 stages [1, 2] devices [1]
// CHECK: st.task @forward1 forward stage 1
// CHECK:   st.recv from @group0 channel 0
// CHECK:   %[[H:.*]] = stablehlo.dot_general
// CHECK-NEXT: st.write %[[H]] to @stash2
// CHECK-NEXT: }
// CHECK-NEXT: st.task @forward2 forward stage 2
// CHECK-NEXT: st.read @stash2
// CHECK:   st.send %{{.*}} to @group0 channel 2

//      TIME:group0   0,3                0.00      24.00      24.00       0.00       0.00        2.000            160
// TIME-NEXT:group1   1,2                1.00      25.00      24.00       0.00       0.00        2.000            256
//TIME-EMPTY:
// TIME-NEXT:group0   FFFfbwfbwFBWfbwBWfbwBWBW
// TIME-NEXT:group1   .FfFfbwFBWfbwFBWfbwBbBWwW
// OTHER: group0 {{.*}} 28.00
