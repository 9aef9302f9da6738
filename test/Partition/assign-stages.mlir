// RUN: st-opt --assign-stages --split-input-file %s | FileCheck %s

// Two blocks of equal cost, two stages. The table %e is used in both (tied): it appears twice, each
// copy gets both parts of its gradient and is updated in the same way. The mask, which reads only
// the batch, is computed in each stage that uses it.

#two = #st.sharding<@mesh, [{}, {}]>
#sum = #st.sharding<@mesh, [{}, {}], unreduced = sum ["micro"]>
#scalar = #st.sharding<@mesh, []>
module attributes {st.stages = 2 : i64} {
  st.mesh @mesh <["tensor"=1], micro=2>
  // CHECK-LABEL: func.func @main
  // CHECK-SAME: %[[X0:[^:]*]]: tensor<4x4xf32> {st.name = "x", {{[^%]*}}st.stage = 0 : i64}, %[[X1:[^:]*]]: tensor<4x4xf32> {st.name = "x", {{[^%]*}}st.stage = 1 : i64},
  // CHECK-SAME: %[[E0:[^:]*]]: tensor<4x4xf32> {st.name = "e", {{[^%]*}}st.stage = 0 : i64, tf.aliasing_output = 1 : i32}, %[[E1:[^:]*]]: tensor<4x4xf32> {st.name = "e", {{[^%]*}}st.stage = 1 : i64, tf.aliasing_output = 2 : i32})
  // CHECK-SAME: -> (tensor<f32> {{{.*}}st.stage = 1 : i64}, tensor<4x4xf32> {{{.*}}st.stage = 0 : i64}, tensor<4x4xf32> {{{.*}}st.stage = 1 : i64})
  func.func @main(%x: tensor<4x4xf32> {st.name = "x", st.role = "batch", st.sharding = #two},
                  %e: tensor<4x4xf32> {st.name = "e", st.role = "parameter", st.sharding = #two, tf.aliasing_output = 1 : i32})
      -> (tensor<f32> {st.role = "loss"}, tensor<4x4xf32> {st.name = "e", st.role = "parameter"}) {
    // CHECK: %[[ZERO:.*]] = stablehlo.constant {{.*}}st.stage = 1
    %zero = stablehlo.constant {st.sharding = #scalar} dense<0.0> : tensor<f32>
    // CHECK: %[[MASK0:.*]] = stablehlo.sign %[[X0]] {{.*}}st.stage = 0
    // CHECK: %[[MASK1:.*]] = stablehlo.sign %[[X1]] {{.*}}st.stage = 1
    %mask = stablehlo.sign %x {st.sharding = #two} : tensor<4x4xf32>
    // CHECK: %[[H:.*]] = stablehlo.dot_general %[[MASK0]], %[[E0]], {{.*}}st.stage = 0
    // CHECK: %[[H1:.*]] = st.transfer %[[H]] from 0 to 1 {{.*}}st.stage = 1
    %h = stablehlo.dot_general %mask, %e, contracting_dims = [1] x [0] {st.block = 0 : i64, st.sharding = #two} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK: stablehlo.dot_general %[[H1]], %[[E1]], {{.*}}st.stage = 1
    %y = stablehlo.dot_general %h, %e, contracting_dims = [1] x [1] {st.block = 1 : i64, st.sharding = #two} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %z = stablehlo.multiply %y, %mask {st.block = 1 : i64, st.sharding = #two} : tensor<4x4xf32>
    %loss = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0, 1] {st.block = 1 : i64, st.sharding = #scalar} : (tensor<4x4xf32>, tensor<f32>) -> tensor<f32>
    // The gradient of the second use reads %h, which stage 1 has too.
    // CHECK: %[[G1:.*]] = stablehlo.dot_general %[[MASK1]], %[[H1]], {{.*}}unreduced = sum ["micro"]{{.*}}st.stage = 1
    // CHECK: %[[G1AT0:.*]] = st.transfer %[[G1]] from 1 to 0 {st.sharding = #st.sharding<@mesh, [{}, {}]>, st.stage = 0
    %g1 = stablehlo.dot_general %mask, %h, contracting_dims = [0] x [0] {st.sharding = #sum} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK: %[[DH:.*]] = stablehlo.dot_general %[[MASK1]], %[[E1]], {{.*}}st.stage = 1
    %dh = stablehlo.dot_general %mask, %e, contracting_dims = [1] x [0] {st.sharding = #two} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // The cotangent of %h stays in stage 1, because it meets no value of stage 0.
    // CHECK: %[[G0:.*]] = stablehlo.dot_general %{{.*}}, %[[DH]], {{.*}}st.stage = 1
    // CHECK: %[[G0AT0:.*]] = st.transfer %[[G0]] from 1 to 0
    %g0 = stablehlo.dot_general %mask, %dh, contracting_dims = [0] x [0] {st.sharding = #sum} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    // CHECK: stablehlo.add %[[G1AT0]], %[[G0AT0]] {st.sharding = #st.sharding<@mesh, [{}, {}]>, st.stage = 0
    // CHECK: stablehlo.add %[[G1]], %[[G0]] {st.sharding = #st.sharding<@mesh, [{}, {}]>, st.stage = 1
    %g = stablehlo.add %g1, %g0 {st.sharding = #sum} : tensor<4x4xf32>
    // CHECK: stablehlo.subtract %[[E0]], {{.*}}st.stage = 0
    // CHECK: stablehlo.subtract %[[E1]], {{.*}}st.stage = 1
    %new = stablehlo.subtract %e, %g {st.sharding = #two} : tensor<4x4xf32>
    return %loss, %new : tensor<f32>, tensor<4x4xf32>
  }
}

// -----

// The gradient norm is summed in the highest stage with such gradients, and sent to the others.
//

#one = #st.sharding<@mesh, [{}]>
#scalar = #st.sharding<@mesh, []>
module attributes {st.stages = 2 : i64} {
  st.mesh @mesh <["tensor"=1], micro=1>
  func.func @main(%a: tensor<4xf32> {st.name = "a", st.role = "parameter", st.sharding = #one, tf.aliasing_output = 1 : i32},
                  %b: tensor<4xf32> {st.name = "b", st.role = "parameter", st.sharding = #one, tf.aliasing_output = 2 : i32})
      -> (tensor<f32> {st.role = "loss"}, tensor<4xf32> {st.role = "parameter"}, tensor<4xf32> {st.role = "parameter"}) {
    %zero = stablehlo.constant {st.sharding = #scalar} dense<0.0> : tensor<f32>
    // CHECK: %[[H:.*]] = stablehlo.abs {{.*}}st.stage = 0
    %h = stablehlo.abs %a {st.block = 0 : i64, st.sharding = #one} : tensor<4xf32>
    // CHECK: stablehlo.multiply {{.*}}st.stage = 1
    %y = stablehlo.multiply %h, %b {st.block = 1 : i64, st.sharding = #one} : tensor<4xf32>
    %loss = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] {st.block = 1 : i64, st.sharding = #scalar} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    // CHECK: %[[DB:.*]] = stablehlo.tanh {{.*}}st.stage = 1
    %db = stablehlo.tanh %h {st.sharding = #one} : tensor<4xf32>
    // CHECK: %[[DA:.*]] = stablehlo.sign {{.*}}st.stage = 0
    %da = stablehlo.sign %a {st.sharding = #one} : tensor<4xf32>
    // CHECK: %[[NA:.*]] = stablehlo.reduce(%[[DA]] {{.*}}st.stage = 0
    // CHECK: %[[NA1:.*]] = st.transfer %[[NA]] from 0 to 1
    %na = stablehlo.reduce(%da init: %zero) applies stablehlo.add across dimensions = [0] {st.sharding = #scalar} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    // CHECK: %[[NB:.*]] = stablehlo.reduce(%[[DB]] {{.*}}st.stage = 1
    %nb = stablehlo.reduce(%db init: %zero) applies stablehlo.add across dimensions = [0] {st.sharding = #scalar} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    // CHECK: %[[NORM:.*]] = stablehlo.add %[[NA1]], %[[NB]] {{.*}}st.stage = 1
    // CHECK: %[[NORM0:.*]] = st.transfer %[[NORM]] from 1 to 0
    %norm = stablehlo.add %na, %nb {st.sharding = #scalar} : tensor<f32>
    // CHECK: broadcast_in_dim %[[NORM0]], {{.*}}st.stage = 0
    // CHECK: broadcast_in_dim %[[NORM]], {{.*}}st.stage = 1
    %scale = stablehlo.broadcast_in_dim %norm, dims = [] {st.sharding = #one} : (tensor<f32>) -> tensor<4xf32>
    // CHECK: multiply %[[DA]], {{.*}}st.stage = 0
    %ga = stablehlo.multiply %da, %scale {st.sharding = #one} : tensor<4xf32>
    // CHECK: multiply %[[DB]], {{.*}}st.stage = 1
    %gb = stablehlo.multiply %db, %scale {st.sharding = #one} : tensor<4xf32>
    // CHECK: subtract {{.*}}st.stage = 0
    %new_a = stablehlo.subtract %a, %ga {st.sharding = #one} : tensor<4xf32>
    // CHECK: subtract {{.*}}st.stage = 1
    %new_b = stablehlo.subtract %b, %gb {st.sharding = #one} : tensor<4xf32>
    return %loss, %new_a, %new_b : tensor<f32>, tensor<4xf32>, tensor<4xf32>
  }
}
