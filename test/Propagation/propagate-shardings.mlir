// RUN: st-opt --propagate-shardings --split-input-file %s | FileCheck %s

// A weight split along its output dimension: later values have the same split, the batch is over
// micro, and the gradient of the weight is a sum over micro that the update reduces.

st.mesh @mesh <["tensor"=4], micro=2>
// CHECK-LABEL: func.func @output_cut
func.func @output_cut(
    %x: tensor<8x16xf32> {st.role = "batch", st.sharding = #st.sharding<@mesh, [{"micro"}, {}]>},
    %w: tensor<16x32xf32> {st.role = "parameter", st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>, tf.aliasing_output = 0 : i32})
    // CHECK: -> (tensor<16x32xf32> {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>})
    -> tensor<16x32xf32> {
  // CHECK: constant {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>} dense<1.000000e-01>
  %lr = stablehlo.constant dense<0.1> : tensor<16x32xf32>
  // CHECK: dot_general {{.*}} {st.sharding = #st.sharding<@mesh, [{"micro"}, {"tensor"}]>}
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  // CHECK: tanh {{.*}} {st.sharding = #st.sharding<@mesh, [{"micro"}, {"tensor"}]>}
  %1 = stablehlo.tanh %0 : tensor<8x32xf32>
  // CHECK: dot_general {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}], unreduced = sum ["micro"]>}
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
  // CHECK: multiply {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>}
  %3 = stablehlo.multiply %2, %lr : tensor<16x32xf32>
  // CHECK: subtract {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>}
  %4 = stablehlo.subtract %w, %3 : tensor<16x32xf32>
  return %4 : tensor<16x32xf32>
}

// -----

// A weight split along the contracted dimension leaves partial sums. Two of them are added before a
// reduction. The second product needs its operand sharded, so the activation before it is sharded.

st.mesh @mesh <["tensor"=4], micro=1>
// CHECK-LABEL: func.func @contraction_cut
func.func @contraction_cut(
    %x: tensor<8x16xf32>,
    %v: tensor<16x32xf32> {st.role = "parameter", st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>},
    %w: tensor<32x16xf32> {st.role = "parameter", st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>}) -> tensor<8x16xf32> {
  // CHECK: dot_general {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {}], unreduced = sum ["tensor"]>}
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  // CHECK: tanh {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>}
  %1 = stablehlo.tanh %0 : tensor<8x32xf32>
  // CHECK: dot_general {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {}], unreduced = sum ["tensor"]>}
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  // CHECK: dot_general {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {}], unreduced = sum ["tensor"]>}
  %3 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  // CHECK: add {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {}], unreduced = sum ["tensor"]>}
  %4 = stablehlo.add %2, %3 : tensor<8x16xf32>
  return %4 : tensor<8x16xf32>
}

// -----

// Attention: the split of a projection goes to the heads, the mask to their shape.

st.mesh @mesh <["tensor"=4], micro=1>
// CHECK-LABEL: func.func @heads
func.func @heads(%q: tensor<2x8x32xf32> {st.sharding = #st.sharding<@mesh, [{}, {}, {"tensor"}]>}, %mask: tensor<2x8xf32>)
    -> tensor<2x4x8x8xf32> {
  // CHECK: reshape {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {}, {"tensor"}, {}]>}
  %0 = stablehlo.reshape %q : (tensor<2x8x32xf32>) -> tensor<2x8x4x8xf32>
  // CHECK: dot_general {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}, {}, {}]>}
  %1 = stablehlo.dot_general %0, %0, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]
       : (tensor<2x8x4x8xf32>, tensor<2x8x4x8xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: broadcast_in_dim {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}, {}, {}]>}
  %2 = stablehlo.broadcast_in_dim %mask, dims = [0, 3] : (tensor<2x8xf32>) -> tensor<2x4x8x8xf32>
  // CHECK: add {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}, {}, {}]>}
  %3 = stablehlo.add %1, %2 : tensor<2x4x8x8xf32>
  return %3 : tensor<2x4x8x8xf32>
}

// -----

// Random bits and counters are computed in the sharding of each user, once for each.

st.mesh @mesh <["tensor"=2], micro=2>
// CHECK-LABEL: func.func @free_values
func.func @free_values(
    %x: tensor<8x4xi32> {st.role = "batch", st.sharding = #st.sharding<@mesh, [{"micro"}, {}]>},
    %y: tensor<8x4xi32> {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>},
    %key: tensor<i32> {st.role = "key"}) -> (tensor<8x4xi32>, tensor<8x4xi32>) {
  // CHECK: %[[IOTA:.*]] = stablehlo.iota dim = 0 {st.sharding = #st.sharding<@mesh, [{"micro"}, {}]>}
  // CHECK: %[[IOTA2:.*]] = stablehlo.iota dim = 0 {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>}
  %i = stablehlo.iota dim = 0 : tensor<8x4xi32>
  %k = stablehlo.broadcast_in_dim %key, dims = [] : (tensor<i32>) -> tensor<8x4xi32>
  // CHECK: xor %[[IOTA]], {{.*}} {st.sharding = #st.sharding<@mesh, [{"micro"}, {}]>}
  // CHECK: xor %[[IOTA2]], {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>}
  %bits = stablehlo.xor %i, %k : tensor<8x4xi32>
  %0 = stablehlo.add %x, %bits : tensor<8x4xi32>
  %1 = stablehlo.add %y, %bits : tensor<8x4xi32>
  return %0, %1 : tensor<8x4xi32>, tensor<8x4xi32>
}

// -----

// A count over the batch is reduced where a value that varies along micro uses it. A merged dimension has micro after
// its unsplit part. A value that is broadcast along the batch is broadcast within each micro-batch.

st.mesh @mesh <["tensor"=1], micro=4>
// CHECK-LABEL: func.func @micro
func.func @micro(%x: tensor<6x8xf32> {st.role = "batch", st.sharding = #st.sharding<@mesh, [{}, {"micro"}]>},
                 %b: tensor<6xf32> {st.role = "parameter"}) -> tensor<6x8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: reduce{{.*}} {st.sharding = #st.sharding<@mesh, [], unreduced = sum ["micro"]>}
  %count = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x8xf32>, tensor<f32>) -> tensor<f32>
  // CHECK: broadcast_in_dim {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {"micro"}]>} : (tensor<6xf32>)
  %0 = stablehlo.broadcast_in_dim %b, dims = [0] : (tensor<6xf32>) -> tensor<6x8xf32>
  %1 = stablehlo.add %x, %0 : tensor<6x8xf32>
  // CHECK: reshape {{.*}} {st.sharding = #st.sharding<@mesh, [{6, "micro"}]>}
  %2 = stablehlo.reshape %1 : (tensor<6x8xf32>) -> tensor<48xf32>
  // CHECK: broadcast_in_dim {{.*}} {st.sharding = #st.sharding<@mesh, [{6, "micro"}]>} : (tensor<f32>)
  %3 = stablehlo.broadcast_in_dim %count, dims = [] : (tensor<f32>) -> tensor<48xf32>
  // CHECK: divide {{.*}} {st.sharding = #st.sharding<@mesh, [{6, "micro"}]>}
  %4 = stablehlo.divide %2, %3 : tensor<48xf32>
  // CHECK: reshape {{.*}} {st.sharding = #st.sharding<@mesh, [{}, {"micro"}]>}
  %5 = stablehlo.reshape %4 : (tensor<48xf32>) -> tensor<6x8xf32>
  return %5 : tensor<6x8xf32>
}

// -----

// A constraint without micro-batches leaves them unchanged.

st.mesh @mesh <["data"=2, "model"=2], micro=2>
// CHECK-LABEL: func.func @constraint
func.func @constraint(%x: tensor<8x4xf32> {st.role = "batch", st.sharding = #st.sharding<@mesh, [{"micro", "data"}, {}]>})
    -> tensor<8x4xf32> {
  // CHECK: st.constrain %arg0 to <@mesh, [{"micro", "data"}, {"model"}]>
  %0 = st.constrain %x to <@mesh, [{"data"}, {"model"}]> : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// The operands of a barrier are independent: each is sharded, and left unreduced, as if it were
// alone.

st.mesh @mesh <["tensor"=2], micro=2>
// CHECK-LABEL: func.func @barrier
func.func @barrier(%x: tensor<8x4xf32> {st.sharding = #st.sharding<@mesh, [{"micro"}, {}]>}, %y: tensor<4x8xf32> {st.sharding = #st.sharding<@mesh, [{"tensor"}, {"micro"}]>}) -> (tensor<8x4xf32>, tensor<4x8xf32>, tensor<4x4xf32>) {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  // CHECK: optimization_barrier {st.sharding = [#st.sharding<@mesh, [{"micro"}, {}]>, #st.sharding<@mesh, [{"tensor"}, {"micro"}]>, #st.sharding<@mesh, [{}, {}], unreduced = sum ["micro"]>]}
  %1:3 = stablehlo.optimization_barrier %x, %y, %0 : tensor<8x4xf32>, tensor<4x8xf32>, tensor<4x4xf32>
  return %1#0, %1#1, %1#2 : tensor<8x4xf32>, tensor<4x8xf32>, tensor<4x4xf32>
}

// -----

// A constraint on a batch applies to its micro-batches, as far as they can be split.

st.mesh @mesh <["a"=2, "b"=2], micro=2>
// CHECK-LABEL: func.func @small_batch
func.func @small_batch(%x: tensor<4x4xf32> {st.sharding = #st.sharding<@mesh, [{"micro"}, {}]>}) -> tensor<4x4xf32> {
  // CHECK: st.constrain %{{.*}} to <@mesh, [{"micro", "a"}, {}]>
  %0 = st.constrain %x to <@mesh, [{"a", "b"}, {}]> : tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

// Random bits are the same on every device, for any user.

st.mesh @mesh <["a"=2], micro=1>
// CHECK-LABEL: func.func @random_bits
func.func @random_bits(%state: tensor<2xui64>, %x: tensor<4xui32> {st.sharding = #st.sharding<@mesh, [{"a"}]>}) -> tensor<4xui32> {
  // CHECK: rng_bit_generator {{.*}} {st.sharding = [#st.sharding<@mesh, [{}]>, #st.sharding<@mesh, [{}]>]}
  %new, %bits = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %0 = stablehlo.add %x, %bits : tensor<4xui32>
  return %0 : tensor<4xui32>
}
