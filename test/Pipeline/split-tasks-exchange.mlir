// RUN: st-opt %s --split-input-file --split-tasks | FileCheck %s

// The old value of a state is read before it is overwritten, in any order of results.
// CHECK: st.task @update
// CHECK: %[[NEW:.*]] = stablehlo.add
// CHECK-NEXT: st.write %{{.*}} to @before
// CHECK-NEXT: st.write %[[NEW]] to @w
module attributes {st.stages = 1 : i64, st.devices = [array<i64: 0>]} {
  st.mesh @mesh <["tensor"=1], micro=1>
  func.func @main(%w: tensor<4xf32> {st.name = "w", st.role = "parameter", tf.aliasing_output = 0 : i32, st.global_type = tensor<4xf32>}, %before: tensor<4xf32> {st.name = "before", st.role = "optimizer_state", tf.aliasing_output = 1 : i32, st.global_type = tensor<4xf32>})
      -> (tensor<4xf32> {st.name = "w", st.role = "parameter"}, tensor<4xf32> {st.name = "before", st.role = "optimizer_state"}) {
    %0 = stablehlo.add %w, %before : tensor<4xf32>
    return %0, %w : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// Two states are exchanged: one of them is copied first.
// CHECK: st.task @update
// CHECK: %[[B:.*]] = st.read @b
// CHECK: %[[A:.*]] = st.read @a
// CHECK: %[[COPY:.*]] = stablehlo.select %{{.*}}, %[[B]], %[[B]]
// CHECK: st.write %[[A]] to @b
// CHECK: st.write %[[COPY]] to @a
module attributes {st.stages = 1 : i64, st.devices = [array<i64: 0>]} {
  st.mesh @mesh <["tensor"=1], micro=1>
  func.func @main(%a: tensor<4xf32> {st.name = "a", st.role = "parameter", tf.aliasing_output = 0 : i32, st.global_type = tensor<4xf32>}, %b: tensor<4xf32> {st.name = "b", st.role = "parameter", tf.aliasing_output = 1 : i32, st.global_type = tensor<4xf32>})
      -> (tensor<4xf32> {st.name = "a", st.role = "parameter"}, tensor<4xf32> {st.name = "b", st.role = "parameter"}) {
    return %b, %a : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

// A state that is sent to another stage and overwritten by the same task: the send takes a copy, because it may still
// be in progress.
// CHECK: st.task @update
// CHECK: %[[S:.*]] = st.read @s
// CHECK: %[[COPY:.*]] = stablehlo.select %{{.*}}, %[[S]], %[[S]]
// CHECK: st.send %[[COPY]]
// CHECK: %[[NEW:.*]] = stablehlo.add %[[S]], %[[S]]
// CHECK: st.write %[[NEW]] to @s
module attributes {st.stages = 2 : i64, st.devices = [array<i64: 0>, array<i64: 1>]} {
  st.mesh @mesh <["tensor"=1], micro=1>
  func.func @main(%w: tensor<4xf32> {st.name = "w", st.role = "parameter", st.stage = 1 : i64, tf.aliasing_output = 0 : i32, st.global_type = tensor<4xf32>}, %s: tensor<4xf32> {st.name = "s", st.role = "optimizer_state", st.stage = 0 : i64, tf.aliasing_output = 1 : i32, st.global_type = tensor<4xf32>})
      -> (tensor<4xf32> {st.name = "w", st.role = "parameter", st.stage = 1 : i64}, tensor<4xf32> {st.name = "s", st.role = "optimizer_state", st.stage = 0 : i64}) {
    %there = st.transfer %s from 0 to 1 {st.stage = 1 : i64} : tensor<4xf32>
    %0 = stablehlo.multiply %w, %there {st.stage = 1 : i64} : tensor<4xf32>
    %1 = stablehlo.add %s, %s {st.stage = 0 : i64} : tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}
