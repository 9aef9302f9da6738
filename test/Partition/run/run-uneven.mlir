// Dimensions that their axes do not divide: a program on 24 ranks gives the same results as unsharded.
// The interpreter puts NaN and large numbers into padding, so that reads of it are noticed.
//
// REQUIRES: jax
// RUN: st-opt --pad-dimensions %s -o %t.padded
// RUN: FileCheck %s --input-file=%t.padded
// RUN: st-opt --propagate-shardings --insert-reshards --global-to-local %t.padded -o %t.local
// RUN: FileCheck %s --input-file=%t.local --check-prefix=LOCAL
// RUN: %python %S/../../Reference/Inputs/random_inputs.py %t.in x=f32:7x8 w=f32:8x12 table=f32:10x8 ids=i32:7 rows=i32:7 few=f32:1x8
// RUN: st-translate --interpret --inputs=%t.in --outputs=%t.whole %s
// RUN: st-translate --interpret --inputs=%t.in --outputs=%t.parts %t.padded
// RUN: %python %S/../../Reference/Inputs/compare.py %t.whole %t.parts 1e-5 | FileCheck %s --check-prefix=SAME
// RUN: st-translate --interpret --inputs=%t.in --outputs=%t.parts %t.local
// RUN: %python %S/../../Reference/Inputs/compare.py %t.whole %t.parts 1e-5 | FileCheck %s --check-prefix=SAME
// SAME: 9 tensors agree

st.mesh @mesh <["data"=4, "tensor"=3], micro=2>

// Rows over micro and data, 7 become 8. Four heads of three over tensor: the six heads are 18 features.
// CHECK: func.func @main
// CHECK-SAME: %arg0: tensor<8x8xf32> {{[^%]*}}st.unpadded_type = tensor<7x8xf32>
// CHECK-SAME: %arg1: tensor<8x18xf32> {{[^%]*}}st.unpadded_type = tensor<8x12xf32>
// Rows of a table, 10 become 12, and a dimension of one element.
// CHECK-SAME: %arg2: tensor<12x8xf32> {{[^%]*}}st.unpadded_type = tensor<10x8xf32>
// CHECK-SAME: %arg5: tensor<3x8xf32> {{[^%]*}}st.unpadded_type = tensor<1x8xf32>
// LOCAL: func.func @main
// LOCAL-SAME: %arg0: tensor<1x8xf32> {{[^%]*}}st.global_type = tensor<7x8xf32>
// LOCAL-SAME: %arg1: tensor<8x6xf32> {{[^%]*}}st.global_type = tensor<8x12xf32>
func.func @main(
    %x: tensor<7x8xf32> {st.name = "x", st.role = "batch", st.sharding = #st.sharding<@mesh, [{"micro", "data"}, {}]>},
    %w: tensor<8x12xf32> {st.name = "w", st.role = "parameter", st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>, tf.aliasing_output = 0 : i32},
    %table: tensor<10x8xf32> {st.name = "table", st.role = "parameter", st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>, tf.aliasing_output = 1 : i32},
    %ids: tensor<7xi32> {st.name = "ids", st.role = "batch", st.sharding = #st.sharding<@mesh, [{"micro", "data"}]>},
    %rows: tensor<7xi32> {st.name = "rows", st.role = "batch", st.sharding = #st.sharding<@mesh, [{"micro", "data"}]>},
    %few: tensor<1x8xf32> {st.name = "few", st.role = "parameter", st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>, tf.aliasing_output = 2 : i32})
    -> (tensor<8x12xf32> {st.name = "w", st.role = "parameter"},
        tensor<10x8xf32> {st.name = "table", st.role = "parameter"},
        tensor<1x8xf32> {st.name = "few", st.role = "parameter"},
        tensor<7x4x3xf32> {st.name = "heads", st.role = "metric"},
        tensor<7x10xf32> {st.name = "chances", st.role = "metric"},
        tensor<f32> {st.name = "mean", st.role = "metric"},
        tensor<12xf32> {st.name = "least", st.role = "metric"},
        tensor<10xf32> {st.name = "sorted", st.role = "metric"},
        tensor<14x8xf32> {st.name = "joined", st.role = "metric"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %high = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>

  // Heads of a product.
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<7x8xf32>, tensor<8x12xf32>) -> tensor<7x12xf32>
  %1 = stablehlo.reshape %0 : (tensor<7x12xf32>) -> tensor<7x4x3xf32>
  %heads0 = stablehlo.tanh %1 : tensor<7x4x3xf32>
  %heads = st.constrain %heads0 to <@mesh, [{"micro", "data"}, {"tensor"}, {}]> : tensor<7x4x3xf32>
  // The minimum of a feature: padding rows are infinite.
  %least = stablehlo.reduce(%0 init: %high) applies stablehlo.minimum across dimensions = [0] : (tensor<7x12xf32>, tensor<f32>) -> tensor<12xf32>

  // A lookup, also out of bounds: ids go up to 7, times two. Out of bounds reads the last real row.
  %two = stablehlo.constant dense<2> : tensor<7xi32>
  %ids2 = stablehlo.multiply %ids, %two : tensor<7xi32>
  %looked = "stablehlo.gather"(%table, %ids2) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1, 8>, indices_are_sorted = false}> : (tensor<10x8xf32>, tensor<7xi32>) -> tensor<7x8xf32>
  // A softmax over the rows of the table.
  %logits = stablehlo.dot_general %looked, %table, contracting_dims = [1] x [1] : (tensor<7x8xf32>, tensor<10x8xf32>) -> tensor<7x10xf32>
  %max = stablehlo.reduce(%logits init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<7x10xf32>, tensor<f32>) -> tensor<7xf32>
  %maxes = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<7xf32>) -> tensor<7x10xf32>
  %shifted = stablehlo.subtract %logits, %maxes : tensor<7x10xf32>
  %exp = stablehlo.exponential %shifted : tensor<7x10xf32>
  %sum = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<7x10xf32>, tensor<f32>) -> tensor<7xf32>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<7xf32>) -> tensor<7x10xf32>
  %chances = stablehlo.divide %exp, %sums : tensor<7x10xf32>

  // A mean over everything, and gradients: sums over padding rows.
  %squares = stablehlo.multiply %heads, %heads : tensor<7x4x3xf32>
  %total = stablehlo.reduce(%squares init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<7x4x3xf32>, tensor<f32>) -> tensor<f32>
  %count = stablehlo.constant dense<84.0> : tensor<f32>
  %mean = stablehlo.divide %total, %count : tensor<f32>
  %flat = stablehlo.reshape %heads : (tensor<7x4x3xf32>) -> tensor<7x12xf32>
  %dw = stablehlo.dot_general %x, %flat, contracting_dims = [0] x [0] : (tensor<7x8xf32>, tensor<7x12xf32>) -> tensor<8x12xf32>
  %new_w = stablehlo.subtract %w, %dw : tensor<8x12xf32>
  %zeros = stablehlo.constant dense<0.0> : tensor<10x8xf32>
  %dtable = "stablehlo.scatter"(%zeros, %ids, %looked) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
    indices_are_sorted = false, unique_indices = false}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<10x8xf32>, tensor<7xi32>, tensor<7x8xf32>) -> tensor<10x8xf32>
  %new_table = stablehlo.subtract %table, %dtable : tensor<10x8xf32>
  %new_few = stablehlo.multiply %few, %few : tensor<1x8xf32>

  // Ops that move elements: a sort of a column of the table and a join, after the loop over micro.
  %column0 = stablehlo.slice %new_table [0:10, 2:3] : (tensor<10x8xf32>) -> tensor<10x1xf32>
  %column = stablehlo.reshape %column0 : (tensor<10x1xf32>) -> tensor<10xf32>
  %sorted = "stablehlo.sort"(%column) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    }) : (tensor<10xf32>) -> tensor<10xf32>
  %more = stablehlo.slice %new_table [6:10, 0:8] : (tensor<10x8xf32>) -> tensor<4x8xf32>
  %joined = stablehlo.concatenate %new_table, %more, dim = 0 : (tensor<10x8xf32>, tensor<4x8xf32>) -> tensor<14x8xf32>
  return %new_w, %new_table, %new_few, %heads, %chances, %mean, %least, %sorted, %joined : tensor<8x12xf32>, tensor<10x8xf32>, tensor<1x8xf32>, tensor<7x4x3xf32>, tensor<7x10xf32>, tensor<f32>, tensor<12xf32>, tensor<10xf32>, tensor<14x8xf32>
}
