// RUN: st-opt --global-to-local --split-input-file %s | FileCheck %s

// One collective for each reshard.

st.mesh @mesh <["a"=2, "b"=4], micro=2>
// CHECK-LABEL: func.func @reshards
// CHECK-SAME: %[[X:.*]]: tensor<4x16xf32> {st.global_type = tensor<8x16xf32>, st.sharding = #st.sharding<@mesh, [{"a"}, {}]>}
// CHECK-SAME: -> (tensor<8x16xf32> {st.global_type = tensor<8x16xf32>, st.sharding = #st.sharding<@mesh, [{}, {}]>}
func.func @reshards(%x: tensor<8x16xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>},
                    %p: tensor<8x16xf32> {st.sharding = #st.sharding<@mesh, [{}, {}], unreduced = sum ["micro", "b"]>})
    -> (tensor<8x16xf32>, tensor<8x16xf32> {st.sharding = #st.sharding<@mesh, [{"b"}, {}]>}, tensor<8x16xf32> {st.sharding = #st.sharding<@mesh, [{"b", "a"}, {}]>}) {
  // CHECK: st.all_slice %[[X]] dim 1 over ["b"] of @mesh : tensor<4x16xf32> -> tensor<4x4xf32>
  %0 = st.reshard %x to <@mesh, [{"a"}, {"b"}]> {st.sharding = #st.sharding<@mesh, [{"a"}, {"b"}]>} : tensor<8x16xf32>
  // CHECK: st.all_to_all %{{.*}} split 0 concat 1 over ["b"] of @mesh : tensor<4x4xf32> -> tensor<1x16xf32>
  %1 = st.reshard %0 to <@mesh, [{"a", "b"}, {}]> {st.sharding = #st.sharding<@mesh, [{"a", "b"}, {}]>} : tensor<8x16xf32>
  // CHECK: st.all_gather %{{.*}} dim 0 over ["a", "b"] of @mesh : tensor<1x16xf32> -> tensor<8x16xf32>
  %2 = st.reshard %1 to <@mesh, [{}, {}]> {st.sharding = #st.sharding<@mesh, [{}, {}]>} : tensor<8x16xf32>
  // CHECK: %[[SUM:.*]] = st.accumulate %{{.*}} sum over micro
  // CHECK: st.reduce_scatter %[[SUM]] sum dim 0 over ["b"] of @mesh : tensor<8x16xf32> -> tensor<2x16xf32>
  %3 = st.reshard %p to <@mesh, [{"b"}, {}]> {st.sharding = #st.sharding<@mesh, [{"b"}, {}]>} : tensor<8x16xf32>
  // CHECK: st.all_slice %{{.*}} dim 0 over ["a"] of @mesh : tensor<2x16xf32> -> tensor<1x16xf32>
  %4 = st.reshard %3 to <@mesh, [{"b", "a"}, {}]> {st.sharding = #st.sharding<@mesh, [{"b", "a"}, {}]>} : tensor<8x16xf32>
  return %2, %3, %4 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
}

// -----

// Ops whose attributes hold shapes or positions. Counters start at the shard's first element; a
// lookup in a table split by rows yields zeros for rows of other shards.

#rows = #st.sharding<@mesh, [{"a"}, {}]>
st.mesh @mesh <["a"=2], micro=2>
// CHECK-LABEL: func.func @positions
func.func @positions(%table: tensor<8x4xf32> {st.sharding = #rows}, %ids: tensor<6x1xi32> {st.sharding = #st.sharding<@mesh, [{"micro"}, {}]>})
    -> (tensor<8x4xi32> {st.sharding = #rows}, tensor<8x2xf32> {st.sharding = #rows}, tensor<6x4xf32> {st.sharding = #st.sharding<@mesh, [{"micro"}, {}], unreduced = sum ["a"]>}) {
  // CHECK-DAG: %[[IOTA:.*]] = stablehlo.iota dim = 0 : tensor<4x4xi32>
  // CHECK-DAG: %[[INDEX:.*]] = st.axis_index "a" of @mesh
  // CHECK: %[[FIRST:.*]] = stablehlo.multiply %{{.*}}, %{{.*}} : tensor<4x4xi32>
  // CHECK: stablehlo.add %[[IOTA]], %[[FIRST]] : tensor<4x4xi32>
  %0 = stablehlo.iota dim = 0 {st.sharding = #rows} : tensor<8x4xi32>
  // CHECK: stablehlo.slice %{{.*}} [0:4, 1:3]
  %1 = stablehlo.slice %table [0:8, 1:3] {st.sharding = #rows} : (tensor<8x4xf32>) -> tensor<8x2xf32>
  // CHECK: %[[CLAMPED:.*]] = stablehlo.clamp
  // CHECK: %[[LOCAL:.*]] = stablehlo.subtract %[[CLAMPED]]
  // CHECK: "stablehlo.gather"(%{{.*}}, %[[LOCAL]])
  // CHECK-SAME: (tensor<4x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  // CHECK: stablehlo.select %{{.*}} : tensor<3x4xi1>, tensor<3x4xf32>
  %2 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>}>
       {st.sharding = #st.sharding<@mesh, [{"micro"}, {}], unreduced = sum ["a"]>} : (tensor<8x4xf32>, tensor<6x1xi32>) -> tensor<6x4xf32>
  return %0, %1, %2 : tensor<8x4xi32>, tensor<8x2xf32>, tensor<6x4xf32>
}

// -----

// With a single micro-batch the accumulation of a gradient is only the boundary between the
// backward pass and the update.

st.mesh @mesh <["a"=2], micro=1>
// CHECK-LABEL: func.func @gradient
func.func @gradient(%w: tensor<4xf32> {st.role = "parameter", st.sharding = #st.sharding<@mesh, [{}]>, tf.aliasing_output = 0 : i32},
                    %x: tensor<8x4xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>})
    -> (tensor<4xf32> {st.sharding = #st.sharding<@mesh, [{}]>}) {
  // CHECK: %[[DOT:.*]] = stablehlo.dot_general
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] {st.sharding = #st.sharding<@mesh, [{"a"}]>} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
  // CHECK: %[[GRADIENT:.*]] = stablehlo.dot_general %{{.*}}, %[[DOT]]
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [0] x [0] {st.sharding = #st.sharding<@mesh, [{}], unreduced = sum ["a"]>} : (tensor<8x4xf32>, tensor<8xf32>) -> tensor<4xf32>
  // CHECK: %[[SUM:.*]] = st.accumulate %[[GRADIENT]] sum over micro
  // CHECK: %[[ALL:.*]] = st.all_reduce %[[SUM]] sum over ["a"]
  %2 = st.reshard %1 to <@mesh, [{}]> {st.sharding = #st.sharding<@mesh, [{}]>} : tensor<4xf32>
  // CHECK: subtract %{{.*}}, %[[ALL]]
  %3 = stablehlo.subtract %w, %2 {st.sharding = #st.sharding<@mesh, [{}]>} : tensor<4xf32>
  return %3 : tensor<4xf32>
}
