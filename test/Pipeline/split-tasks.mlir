// RUN: st-opt --split-tasks --split-input-file %s | FileCheck %s

// Two stages, four micro-batches: a linear layer each, loss = sum of outputs / count of ones in a mask.
// The count is a reduction over micro that forward reads: it is statistics.

#rep0 = #st.sharding<@mesh, []>
#rep2 = #st.sharding<@mesh, [{}, {}]>
#batch = #st.sharding<@mesh, [{"micro"}, {}]>
module attributes {st.stages = 2 : i64, st.devices = [array<i64: 0, 1>, array<i64: 5, 6>]} {
  st.mesh @mesh <["tensor"=2], micro=4>
  func.func @main(
      %x: tensor<2x4xf32> {st.name = "x", st.role = "batch", st.stage = 0 : i64, st.sharding = #batch, st.global_type = tensor<8x4xf32>},
      %m: tensor<2x4xf32> {st.name = "mask", st.role = "batch", st.stage = 1 : i64, st.sharding = #batch, st.global_type = tensor<8x4xf32>},
      %w0: tensor<4x4xf32> {st.name = "w0", st.role = "parameter", st.stage = 0 : i64, st.sharding = #rep2, tf.aliasing_output = 1 : i32, st.init = {kind = "zeros"}},
      %w1: tensor<4x4xf32> {st.name = "w1", st.role = "parameter", st.stage = 1 : i64, st.sharding = #rep2, tf.aliasing_output = 2 : i32},
      %lr: tensor<f32> {st.name = "learning_rate", st.role = "scalar", st.stage = 0 : i64, st.sharding = #rep0},
      %lr1: tensor<f32> {st.name = "learning_rate", st.role = "scalar", st.stage = 1 : i64, st.sharding = #rep0})
      -> (tensor<f32> {st.name = "loss", st.role = "loss", st.stage = 1 : i64, st.sharding = #rep0},
          tensor<4x4xf32> {st.name = "w0", st.role = "parameter", st.stage = 0 : i64, st.sharding = #rep2},
          tensor<4x4xf32> {st.name = "w1", st.role = "parameter", st.stage = 1 : i64, st.sharding = #rep2}) {
    %zero = stablehlo.constant {st.stage = 1 : i64} dense<0.0> : tensor<f32>
    %y0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] {st.stage = 0 : i64} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %h0 = stablehlo.tanh %y0 {st.stage = 0 : i64} : tensor<2x4xf32>
    %h = st.transfer %h0 from 0 to 1 {st.stage = 1 : i64} : tensor<2x4xf32>
    %ones = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [0, 1] {st.stage = 1 : i64} : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
    %count = st.accumulate %ones sum over micro {st.stage = 1 : i64} : tensor<f32>
    %y1 = stablehlo.dot_general %h, %w1, contracting_dims = [1] x [0] {st.stage = 1 : i64} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %y2 = stablehlo.multiply %y1, %m {st.stage = 1 : i64} : tensor<2x4xf32>
    %s = stablehlo.reduce(%y2 init: %zero) applies stablehlo.add across dimensions = [0, 1] {st.stage = 1 : i64} : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
    %part = stablehlo.divide %s, %count {st.stage = 1 : i64} : tensor<f32>
    %loss = st.accumulate %part sum over micro {st.stage = 1 : i64} : tensor<f32>
    %cb = stablehlo.broadcast_in_dim %count, dims = [] {st.stage = 1 : i64} : (tensor<f32>) -> tensor<2x4xf32>
    %dy1 = stablehlo.divide %m, %cb {st.stage = 1 : i64} : tensor<2x4xf32>
    %dw1 = stablehlo.dot_general %h, %dy1, contracting_dims = [0] x [0] {st.stage = 1 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %g1 = st.accumulate %dw1 sum over micro {st.stage = 1 : i64} : tensor<4x4xf32>
    %dh1 = stablehlo.dot_general %dy1, %w1, contracting_dims = [1] x [1] {st.stage = 1 : i64} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %dh = st.transfer %dh1 from 1 to 0 {st.stage = 0 : i64} : tensor<2x4xf32>
    // Two cheap ops on the kept tanh: backward recomputes them.
    %one = stablehlo.constant {st.stage = 0 : i64} dense<1.0> : tensor<2x4xf32>
    %h2 = stablehlo.multiply %h0, %h0 {st.stage = 0 : i64} : tensor<2x4xf32>
    %d = stablehlo.subtract %one, %h2 {st.stage = 0 : i64} : tensor<2x4xf32>
    %dy0 = stablehlo.multiply %dh, %d {st.stage = 0 : i64} : tensor<2x4xf32>
    %dw0 = stablehlo.dot_general %x, %dy0, contracting_dims = [0] x [0] {st.stage = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %g0 = st.accumulate %dw0 sum over micro {st.stage = 0 : i64} : tensor<4x4xf32>
    %lr0b = stablehlo.broadcast_in_dim %lr, dims = [] {st.stage = 0 : i64} : (tensor<f32>) -> tensor<4x4xf32>
    %u0 = stablehlo.multiply %g0, %lr0b {st.stage = 0 : i64} : tensor<4x4xf32>
    %n0 = stablehlo.subtract %w0, %u0 {st.stage = 0 : i64} : tensor<4x4xf32>
    %lr1b = stablehlo.broadcast_in_dim %lr1, dims = [] {st.stage = 1 : i64} : (tensor<f32>) -> tensor<4x4xf32>
    %u1 = stablehlo.multiply %g1, %lr1b {st.stage = 1 : i64} : tensor<4x4xf32>
    %n1 = stablehlo.subtract %w1, %u1 {st.stage = 1 : i64} : tensor<4x4xf32>
    return %loss, %n0, %n1 : tensor<f32>, tensor<4x4xf32>, tensor<4x4xf32>
  }
}

// CHECK-LABEL: st.program @group0 stages [0] devices [0, 1] first_rank 0 mesh @mesh
// CHECK-DAG: st.input @x "x" role "batch" global tensor<8x4xf32> slice <@mesh, [{"micro"}, {}]> local tensor<2x4xf32> micro_dim 0
// CHECK-DAG: st.state @w0 "w0" role "parameter" of "" {{.*}} init {kind = "zeros"} stream 0
// CHECK-DAG: st.input @learning_rate "learning_rate" role "scalar" {{.*}} micro_dim -1
// CHECK-DAG: st.buffer @accumulator0 "accumulator" slots 1 : tensor<4x4xf32>
// CHECK-DAG: st.buffer @stash0 "stash" slots 1 : tensor<2x4xf32>
// CHECK: st.task @prologue prologue stage 0
// CHECK:   st.write %{{.*}} to @accumulator0 : tensor<4x4xf32>
// CHECK: st.task @forward0 forward stage 0 (%[[MB:.*]]) {
// CHECK:   st.read @x[%[[MB]]]
// CHECK:   %[[H:.*]] = stablehlo.tanh
// CHECK:   st.write %[[H]] to @stash0[%[[MB]]]
// CHECK:   st.send %[[H]] to @group1 channel 0
// CHECK: st.task @backward0 backward stage 0 (%[[MB:.*]]) {
// CHECK:   %[[H:.*]] = st.read @stash0[%[[MB]]]
// CHECK:   stablehlo.multiply %[[H]], %[[H]]
// CHECK:   st.recv from @group1 channel 1
// CHECK:   st.write %{{.*}} to @accumulator0 accumulate sum
// CHECK: st.task @update update stage 0
// CHECK:   st.write %{{.*}} to @w0

// The count runs first; forward and backward read it, and the loss is summed.
// CHECK-LABEL: st.program @group1 stages [1] devices [5, 6] first_rank 2 mesh @mesh
// CHECK: st.state @w1 "w1" {{.*}} stream 1
// CHECK: st.output @loss "loss" role "loss"
// CHECK: st.task @statistics1 statistics stage 1 (%[[MB:.*]]) {
// CHECK-NEXT: st.read @mask[%[[MB]]]
// CHECK:   st.write %{{.*}} to @accumulator0 accumulate sum : tensor<f32>
// CHECK: st.task @forward1 forward stage 1
// CHECK:   %[[RECV:.*]] = st.recv from @group0 channel 0
// CHECK:   st.write %[[RECV]] to @stash0
// CHECK:   %[[COUNT:.*]] = st.read @accumulator0
// CHECK:   %[[PART:.*]] = stablehlo.divide %{{.*}}, %[[COUNT]]
// CHECK:   st.write %[[PART]] to @accumulator1 accumulate sum
// CHECK: st.task @backward1 backward stage 1
// CHECK:   st.read @accumulator0
// CHECK:   st.write %{{.*}} to @accumulator2 accumulate sum
// CHECK:   st.send %{{.*}} to @group0 channel 1
// CHECK: st.task @update update stage 1
// CHECK:   %[[LOSS:.*]] = st.read @accumulator1
// CHECK:   st.write %[[LOSS]] to @loss

// -----

// A tied parameter: each stage has a copy; the gradients cross in the update, and each group sends
// before it waits. The mask of random bits is kept as i1, values computed from it are not.

#rep1 = #st.sharding<@mesh, [{}]>
module attributes {st.stages = 2 : i64} {
  st.mesh @mesh <[], micro=1>
  func.func @main(
      %x: tensor<8xf32> {st.name = "x", st.role = "batch", st.stage = 0 : i64, st.global_type = tensor<8xf32>},
      %key: tensor<8xui32> {st.name = "rng_key", st.role = "key", st.stage = 0 : i64},
      %w0: tensor<8xf32> {st.name = "w", st.role = "parameter", st.stage = 0 : i64, tf.aliasing_output = 1 : i32},
      %w1: tensor<8xf32> {st.name = "w", st.role = "parameter", st.stage = 1 : i64, tf.aliasing_output = 2 : i32})
      -> (tensor<8xf32> {st.name = "loss", st.role = "loss", st.stage = 1 : i64},
          tensor<8xf32> {st.name = "w", st.role = "parameter", st.stage = 0 : i64},
          tensor<8xf32> {st.name = "w", st.role = "parameter", st.stage = 1 : i64}) {
    %b0 = stablehlo.multiply %key, %key {st.stage = 0 : i64} : tensor<8xui32>
    %b1 = stablehlo.xor %b0, %key {st.stage = 0 : i64} : tensor<8xui32>
    %b2 = stablehlo.multiply %b1, %b1 {st.stage = 0 : i64} : tensor<8xui32>
    %b3 = stablehlo.xor %b2, %key {st.stage = 0 : i64} : tensor<8xui32>
    %b4 = stablehlo.multiply %b3, %b3 {st.stage = 0 : i64} : tensor<8xui32>
    %b5 = stablehlo.xor %b4, %b1 {st.stage = 0 : i64} : tensor<8xui32>
    %mask = stablehlo.compare LT, %b5, %key {st.stage = 0 : i64} : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xi1>
    %keep = stablehlo.convert %mask {st.stage = 0 : i64} : (tensor<8xi1>) -> tensor<8xf32>
    %y = stablehlo.multiply %x, %w0 {st.stage = 0 : i64} : tensor<8xf32>
    %z = stablehlo.multiply %y, %keep {st.stage = 0 : i64} : tensor<8xf32>
    %z1 = st.transfer %z from 0 to 1 {st.stage = 1 : i64} : tensor<8xf32>
    %part = stablehlo.multiply %z1, %w1 {st.stage = 1 : i64} : tensor<8xf32>
    %loss = st.accumulate %part sum over micro {st.stage = 1 : i64} : tensor<8xf32>
    %g1 = st.accumulate %z1 sum over micro {st.stage = 1 : i64} : tensor<8xf32>
    %dz = st.transfer %w1 from 1 to 0 {st.stage = 0 : i64} : tensor<8xf32>
    %dy = stablehlo.multiply %dz, %keep {st.stage = 0 : i64} : tensor<8xf32>
    %dw = stablehlo.multiply %dy, %x {st.stage = 0 : i64} : tensor<8xf32>
    %g0 = st.accumulate %dw sum over micro {st.stage = 0 : i64} : tensor<8xf32>
    %g0at1 = st.transfer %g0 from 0 to 1 {st.stage = 1 : i64} : tensor<8xf32>
    %g1at0 = st.transfer %g1 from 1 to 0 {st.stage = 0 : i64} : tensor<8xf32>
    %s0 = stablehlo.add %g0, %g1at0 {st.stage = 0 : i64} : tensor<8xf32>
    %s1 = stablehlo.add %g0at1, %g1 {st.stage = 1 : i64} : tensor<8xf32>
    %n0 = stablehlo.subtract %w0, %s0 {st.stage = 0 : i64} : tensor<8xf32>
    %n1 = stablehlo.subtract %w1, %s1 {st.stage = 1 : i64} : tensor<8xf32>
    return %loss, %n0, %n1 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
}

// CHECK-LABEL: st.program @group0
// CHECK: st.state @w "w" {{.*}} stream 0
// CHECK: st.buffer @accumulator0 "accumulator" slots 1 : tensor<8xf32>
// CHECK: st.buffer @stash0 "stash" slots 1 : tensor<8xi1>
// CHECK-NOT: st.buffer
// CHECK-NOT: st.task @prologue
// CHECK: st.task @forward0
// CHECK:   st.write %{{.*}} to @stash0[%{{.*}}] : tensor<8xi1>
// CHECK: st.task @backward0
// CHECK:   %[[MASK:.*]] = st.read @stash0
// CHECK:   stablehlo.convert %[[MASK]]
// CHECK:   st.write %{{.*}} to @accumulator0 : tensor<8xf32>
// CHECK: st.task @update
// CHECK:   st.send
// CHECK:   st.recv
// CHECK:   st.write %{{.*}} to @w
// CHECK-LABEL: st.program @group1
// CHECK: st.state @w "w" {{.*}} stream 0
// CHECK: st.task @update
// CHECK:   st.send
// CHECK:   st.recv

// -----

// A counter is known before the forward pass needs it; its new value is hidden until every task of
// the step has read the old one.

#rep0 = #st.sharding<@mesh, []>
#rep1 = #st.sharding<@mesh, [{}]>
module attributes {st.stages = 1 : i64, st.devices = [array<i64: 0>]} {
  st.mesh @mesh <["tensor"=1], micro=1>
  func.func @main(
      %x: tensor<4xf32> {st.name = "x", st.role = "batch", st.stage = 0 : i64, st.sharding = #rep1, st.global_type = tensor<4xf32>},
      %w: tensor<4xf32> {st.name = "w", st.role = "parameter", st.stage = 0 : i64, st.sharding = #rep1, tf.aliasing_output = 1 : i32},
      %n: tensor<f32> {st.name = "count", st.role = "optimizer_state", st.stage = 0 : i64, st.sharding = #rep0, tf.aliasing_output = 2 : i32})
      -> (tensor<f32> {st.name = "loss", st.role = "loss", st.stage = 0 : i64, st.sharding = #rep0},
          tensor<4xf32> {st.name = "w", st.role = "parameter", st.stage = 0 : i64, st.sharding = #rep1},
          tensor<f32> {st.name = "count", st.role = "optimizer_state", st.stage = 0 : i64, st.sharding = #rep0}) {
    %one = stablehlo.constant {st.stage = 0 : i64} dense<1.0> : tensor<f32>
    %next = stablehlo.add %n, %one {st.stage = 0 : i64} : tensor<f32>
    %y = stablehlo.multiply %x, %w {st.stage = 0 : i64} : tensor<4xf32>
    %s = stablehlo.reduce(%y init: %one) applies stablehlo.add across dimensions = [0] {st.stage = 0 : i64} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    %loss = stablehlo.add %s, %next {st.stage = 0 : i64} : tensor<f32>
    %g = st.accumulate %x sum over micro {st.stage = 0 : i64} : tensor<4xf32>
    %nb = stablehlo.broadcast_in_dim %next, dims = [] {st.stage = 0 : i64} : (tensor<f32>) -> tensor<4xf32>
    %u = stablehlo.multiply %g, %nb {st.stage = 0 : i64} : tensor<4xf32>
    %v = stablehlo.subtract %w, %u {st.stage = 0 : i64} : tensor<4xf32>
    return %loss, %v, %next : tensor<f32>, tensor<4xf32>, tensor<f32>
  }
}

// CHECK-LABEL: st.program @group0
// CHECK: st.task @forward
// CHECK-NOT: to @count
// CHECK: st.task @update
// CHECK: st.write %{{.*}} to @count

// -----

// If the backward pass reads a value rounded, the forward pass rounds and stashes it in 16 bits.

#rep2 = #st.sharding<@mesh, [{}, {}]>
#rep0 = #st.sharding<@mesh, []>
#batch = #st.sharding<@mesh, [{"micro"}, {}]>
module attributes {st.stages = 1 : i64, st.devices = [array<i64: 0>]} {
  st.mesh @mesh <["tensor"=1], micro=2>
  func.func @main(
      %x: tensor<2x4xf32> {st.name = "x", st.role = "batch", st.stage = 0 : i64, st.sharding = #batch, st.global_type = tensor<4x4xf32>},
      %w: tensor<4x4xf32> {st.name = "w", st.role = "parameter", st.stage = 0 : i64, st.sharding = #rep2, tf.aliasing_output = 1 : i32})
      -> (tensor<f32> {st.name = "loss", st.role = "loss", st.stage = 0 : i64, st.sharding = #rep0},
          tensor<4x4xf32> {st.name = "w", st.role = "parameter", st.stage = 0 : i64, st.sharding = #rep2}) {
    %zero = stablehlo.constant {st.stage = 0 : i64} dense<0.0> : tensor<f32>
    %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {st.stage = 0 : i64} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
    %e = stablehlo.exponential %y {st.stage = 0 : i64} : tensor<2x4xf32>
    %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [0, 1] {st.stage = 0 : i64} : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
    %loss = st.accumulate %s sum over micro {st.stage = 0 : i64} : tensor<f32>
    %r = stablehlo.convert %e {st.stage = 0 : i64} : (tensor<2x4xf32>) -> tensor<2x4xbf16>
    %f = stablehlo.convert %r {st.stage = 0 : i64} : (tensor<2x4xbf16>) -> tensor<2x4xf32>
    %dw = stablehlo.dot_general %x, %f, contracting_dims = [0] x [0] {st.stage = 0 : i64} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    %g = st.accumulate %dw sum over micro {st.stage = 0 : i64} : tensor<4x4xf32>
    %n = stablehlo.subtract %w, %g {st.stage = 0 : i64} : tensor<4x4xf32>
    return %loss, %n : tensor<f32>, tensor<4x4xf32>
  }
}

// CHECK-LABEL: st.program @group0
// CHECK: st.buffer @[[STASH:stash[0-9]+]] "stash" slots 1 : tensor<2x4xbf16>
// CHECK: st.task @forward0 forward stage 0
// CHECK:   %[[E:.*]] = stablehlo.exponential
// CHECK:   %[[R:.*]] = stablehlo.convert %[[E]] : (tensor<2x4xf32>) -> tensor<2x4xbf16>
// CHECK:   st.write %[[R]] to @[[STASH]]
// CHECK: st.task @backward0 backward stage 0
// CHECK:   %[[READ:.*]] = st.read @[[STASH]]
// CHECK:   stablehlo.convert %[[READ]] : (tensor<2x4xbf16>) -> tensor<2x4xf32>

// -----

// Values that are equal in all micro-batches are computed once per step and kept, except for indices: a loop over
// elements computes them, in any number of ops.

#rep0 = #st.sharding<@mesh, []>
#batch = #st.sharding<@mesh, [{"micro"}, {}]>
module attributes {st.stages = 1 : i64} {
  st.mesh @mesh <[], micro=2>
  func.func @main(
      %x: tensor<16x2048xf32> {st.name = "x", st.role = "batch", st.sharding = #batch, st.global_type = tensor<32x2048xf32>},
      %key: tensor<ui32> {st.name = "rng_key", st.role = "key", st.sharding = #rep0})
      -> (tensor<f32> {st.name = "loss", st.role = "loss", st.sharding = #rep0}) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %zeros = stablehlo.constant dense<0.0> : tensor<16x2048xf32>
    %eight = stablehlo.constant dense<8> : tensor<16x2048xui32>
    %width = stablehlo.constant dense<2048> : tensor<16x2048xui32>
    %column = stablehlo.iota dim = 1 : tensor<16x2048xui32>
    %second = stablehlo.and %column, %eight : tensor<16x2048xui32>
    %first = stablehlo.subtract %column, %second : tensor<16x2048xui32>
    %row = stablehlo.iota dim = 0 : tensor<16x2048xui32>
    %start = stablehlo.multiply %row, %width : tensor<16x2048xui32>
    %index = stablehlo.add %start, %first : tensor<16x2048xui32>
    %doubled = stablehlo.add %index, %index : tensor<16x2048xui32>
    %mixed = stablehlo.xor %doubled, %width : tensor<16x2048xui32>
    %keys = stablehlo.broadcast_in_dim %key, dims = [] : (tensor<ui32>) -> tensor<16x2048xui32>
    %keep = stablehlo.compare LT, %mixed, %keys : (tensor<16x2048xui32>, tensor<16x2048xui32>) -> tensor<16x2048xi1>
    %kept = stablehlo.select %keep, %x, %zeros : tensor<16x2048xi1>, tensor<16x2048xf32>
    %angle = stablehlo.convert %mixed : (tensor<16x2048xui32>) -> tensor<16x2048xf32>
    %cosine = stablehlo.cosine %angle : tensor<16x2048xf32>
    %power = stablehlo.exponential %cosine : tensor<16x2048xf32>
    %table = stablehlo.tanh %power : tensor<16x2048xf32>
    %scaled = stablehlo.multiply %kept, %table : tensor<16x2048xf32>
    %sum = stablehlo.reduce(%scaled init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x2048xf32>, tensor<f32>) -> tensor<f32>
    %loss = st.accumulate %sum sum over micro : tensor<f32>
    return %loss : tensor<f32>
  }
}

// CHECK-LABEL: st.program @group0 stages [0]
// CHECK: st.buffer @[[TABLE:step0]] "step" slots 1 : tensor<16x2048xf32>
// CHECK-NOT: "step"
// CHECK: st.task @prologue prologue
// CHECK:   %[[MADE:.*]] = stablehlo.tanh
// CHECK:   st.write %[[MADE]] to @[[TABLE]]
// CHECK: st.task @forward0 forward
// CHECK:   stablehlo.iota
// CHECK:   stablehlo.xor
// CHECK:   stablehlo.compare LT
// CHECK:   st.read @[[TABLE]]
