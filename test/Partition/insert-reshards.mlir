// RUN: st-opt --insert-reshards --split-input-file %s | FileCheck %s

// A partial sum is scattered if its user is split; one reshard serves both users; a weaker sharding
// is sliced from it.

st.mesh @mesh <["tensor"=4], micro=1>
// CHECK-LABEL: func.func @partial_sum
func.func @partial_sum(%x: tensor<8x16xf32> {st.sharding = #st.sharding<@mesh, [{}, {}]>},
                       %w: tensor<16x32xf32> {st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>})
    -> (tensor<8x32xf32> {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>}, tensor<8x32xf32> {st.sharding = #st.sharding<@mesh, [{}, {}]>}) {
  // CHECK: %[[X:.*]] = st.reshard %{{.*}} to <@mesh, [{}, {"tensor"}]>
  // CHECK: %[[DOT:.*]] = stablehlo.dot_general %[[X]]
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {st.sharding = #st.sharding<@mesh, [{}, {}], unreduced = sum ["tensor"]>} : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  // CHECK: %[[PART:.*]] = st.reshard %[[DOT]] to <@mesh, [{}, {"tensor"}]>
  // CHECK: tanh %[[PART]]
  %1 = stablehlo.tanh %0 {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>} : tensor<8x32xf32>
  // CHECK: multiply %{{.*}}, %[[PART]]
  %2 = stablehlo.multiply %1, %0 {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>} : tensor<8x32xf32>
  // CHECK: st.reshard %[[PART]] to <@mesh, [{}, {}]>
  %3 = stablehlo.abs %0 {st.sharding = #st.sharding<@mesh, [{}, {}]>} : tensor<8x32xf32>
  return %2, %3 : tensor<8x32xf32>, tensor<8x32xf32>
}

// -----

// An op that cannot produce its recorded sharding is computed in a possible one.

st.mesh @mesh <["tensor"=2], micro=1>
// CHECK-LABEL: func.func @slice
func.func @slice(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"tensor"}]>}) -> (tensor<4xf32> {st.sharding = #st.sharding<@mesh, [{"tensor"}]>}) {
  // CHECK: %[[X:.*]] = st.reshard %{{.*}} to <@mesh, [{}]>
  // CHECK: %[[SLICE:.*]] = stablehlo.slice %[[X]] {{.*}} {st.sharding = #st.sharding<@mesh, [{}]>}
  // CHECK: st.reshard %[[SLICE]] to <@mesh, [{"tensor"}]>
  %0 = stablehlo.slice %x [2:6] {st.sharding = #st.sharding<@mesh, [{"tensor"}]>} : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// A value that crosses stages is reduced before, into the sharding that its user takes. A
// constraint is a reshard.

st.mesh @mesh <["tensor"=2], micro=2>
// CHECK-LABEL: func.func @transfer
func.func @transfer(%x: tensor<4x8xf32> {st.stage = 0 : i64, st.sharding = #st.sharding<@mesh, [{}, {}], unreduced = sum ["micro", "tensor"]>}) -> tensor<4x8xf32> {
  // CHECK: %[[X:.*]] = st.reshard %{{.*}} to <@mesh, [{}, {"tensor"}]> {{.*}}st.stage = 0
  // CHECK: st.transfer %[[X]] from 0 to 1 {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>, st.stage = 1
  %0 = st.transfer %x from 0 to 1 {st.stage = 1 : i64, st.sharding = #st.sharding<@mesh, [{}, {}], unreduced = sum ["micro", "tensor"]>} : tensor<4x8xf32>
  %1 = stablehlo.tanh %0 {st.stage = 1 : i64, st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>} : tensor<4x8xf32>
  // CHECK-NOT: st.constrain
  // CHECK: st.reshard {{.*}} to <@mesh, [{"tensor"}, {}]>
  %2 = st.constrain %1 to <@mesh, [{"tensor"}, {}]> {st.stage = 1 : i64} : tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// -----

// Copies of values that cross stages are sent in parts, unless these are too small.

st.mesh @mesh <["data"=2, "tensor"=4], micro=1>
// CHECK-LABEL: func.func @parts
func.func @parts(%x: tensor<128x512xf32> {st.stage = 0 : i64, st.sharding = #st.sharding<@mesh, [{"data"}, {}]>},
                 %y: tensor<16x16xf32> {st.stage = 0 : i64, st.sharding = #st.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<128x512xf32>, tensor<16x16xf32>) {
  // CHECK: %[[PART:.*]] = st.reshard %{{.*}} to <@mesh, [{"data", "tensor"}, {}]> {{.*}}st.stage = 0
  // CHECK: %[[SENT:.*]] = st.transfer %[[PART]] from 0 to 1 {st.sharding = #st.sharding<@mesh, [{"data", "tensor"}, {}]>, st.stage = 1
  %0 = st.transfer %x from 0 to 1 {st.sharding = #st.sharding<@mesh, [{"data"}, {}]>, st.stage = 1 : i64} : tensor<128x512xf32>
  // CHECK: %[[WHOLE:.*]] = st.reshard %[[SENT]] to <@mesh, [{"data"}, {}]> {{.*}}st.stage = 1
  // CHECK: stablehlo.tanh %[[WHOLE]]
  %1 = stablehlo.tanh %0 {st.sharding = #st.sharding<@mesh, [{"data"}, {}]>, st.stage = 1 : i64} : tensor<128x512xf32>
  // CHECK: st.transfer %{{.*}} from 0 to 1 {st.sharding = #st.sharding<@mesh, [{"data"}, {}]>
  %2 = st.transfer %y from 0 to 1 {st.sharding = #st.sharding<@mesh, [{"data"}, {}]>, st.stage = 1 : i64} : tensor<16x16xf32>
  %3 = stablehlo.tanh %2 {st.sharding = #st.sharding<@mesh, [{"data"}, {}]>, st.stage = 1 : i64} : tensor<16x16xf32>
  return %1, %3 : tensor<128x512xf32>, tensor<16x16xf32>
}

// -----

// A product keeps its operand's sum over micro-batches unreduced, although slices of the contracted dimensions would
// need fewer operations: a sum has no slice for each micro-batch.

st.mesh @mesh <[], micro=4>
// CHECK-LABEL: func.func @open_sum
func.func @open_sum(%x: tensor<8x4x16x16xf32> {st.role = "batch", st.sharding = #st.sharding<@mesh, [{"micro"}, {}, {}, {}]>},
                    %w: tensor<4x16x16xf32> {st.role = "parameter", st.sharding = #st.sharding<@mesh, [{}, {}, {}]>},
                    %b: tensor<16x16x32xf32> {st.sharding = #st.sharding<@mesh, [{}, {}, {}]>})
    -> (tensor<32x4xf32> {st.sharding = #st.sharding<@mesh, [{}, {}]>}) {
  %zero = stablehlo.constant {st.sharding = #st.sharding<@mesh, []>} dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %w, dims = [1, 2, 3] {st.sharding = #st.sharding<@mesh, [{"micro"}, {}, {}, {}]>} : (tensor<4x16x16xf32>) -> tensor<8x4x16x16xf32>
  %1 = stablehlo.multiply %x, %0 {st.sharding = #st.sharding<@mesh, [{"micro"}, {}, {}, {}]>} : tensor<8x4x16x16xf32>
  // CHECK: %[[SUM:.*]] = stablehlo.reduce
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] {st.sharding = #st.sharding<@mesh, [{}, {}, {}], unreduced = sum ["micro"]>} : (tensor<8x4x16x16xf32>, tensor<f32>) -> tensor<4x16x16xf32>
  // CHECK-NOT: st.reshard
  // CHECK: %[[DOT:.*]] = stablehlo.dot_general %{{.*}}, %[[SUM]]
  %3 = stablehlo.dot_general %b, %2, contracting_dims = [0, 1] x [1, 2] {st.sharding = #st.sharding<@mesh, [{}, {}], unreduced = sum ["micro"]>} : (tensor<16x16x32xf32>, tensor<4x16x16xf32>) -> tensor<32x4xf32>
  // CHECK: st.reshard %[[DOT]] to <@mesh, [{}, {}]>
  return %3 : tensor<32x4xf32>
}

// -----

// Updates that are a sum over the micro-batches stay unreduced: no micro-batch knows its part of the full sum.

st.mesh @mesh <[], micro=2>
// CHECK-LABEL: func.func @sum_of_updates
func.func @sum_of_updates(%x: tensor<8x4xf32> {st.name = "x", st.role = "batch", st.sharding = #st.sharding<@mesh, [{"micro"}, {}]>},
                          %w: tensor<4xf32> {st.name = "w", st.role = "parameter", st.sharding = #st.sharding<@mesh, [{}]>},
                          %rows: tensor<4x1xi32> {st.name = "rows", st.role = "parameter", st.sharding = #st.sharding<@mesh, [{}, {}]>})
    -> (tensor<6xf32> {st.name = "table", st.role = "gradient", st.sharding = #st.sharding<@mesh, [{}]>}) {
  %zero = stablehlo.constant {st.sharding = #st.sharding<@mesh, []>} dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant {st.sharding = #st.sharding<@mesh, [{}]>} dense<0.0> : tensor<6xf32>
  // CHECK: %[[SUM:.*]] = stablehlo.reduce
  %0 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] {st.sharding = #st.sharding<@mesh, [{}], unreduced = sum ["micro"]>} : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  // CHECK-NOT: st.reshard %[[SUM]]
  // CHECK: %[[SCALED:.*]] = stablehlo.multiply %[[SUM]], %{{.*}} {st.sharding = #st.sharding<@mesh, [{}], unreduced = sum ["micro"]>}
  %1 = stablehlo.multiply %0, %w {st.sharding = #st.sharding<@mesh, [{}], unreduced = sum ["micro"]>} : tensor<4xf32>
  // CHECK-NOT: st.reshard
  // CHECK: stablehlo.scatter"(%{{.*}}, %{{.*}}, %[[SCALED]])
  %2 = "stablehlo.scatter"(%zeros, %rows, %1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) {st.sharding = #st.sharding<@mesh, [{}], unreduced = sum ["micro"]>} : (tensor<6xf32>, tensor<4x1xi32>, tensor<4xf32>) -> tensor<6xf32>
  return %2 : tensor<6xf32>
}
