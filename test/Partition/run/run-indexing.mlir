// Lookups and their gradients, slices and joins, run unsharded and sharded. All sums are exact.
//
// RUN: st-translate --interpret %s > %t.whole
// RUN: st-opt --propagate-shardings --insert-reshards --global-to-local %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.parts
// RUN: diff %t.whole %t.parts

st.mesh @mesh <["a"=2, "b"=2], micro=2>
func.func @main() -> (tensor<4x6xf32>, tensor<640x6xf32>, tensor<640x6xf32>, tensor<640x8xf32>, tensor<4x6xf32>) {
  %i = stablehlo.iota dim = 0 : tensor<640x6xf32>
  %j = stablehlo.iota dim = 1 : tensor<640x6xf32>
  %t0 = stablehlo.multiply %i, %j : tensor<640x6xf32>
  // Rows over a and b: every shard looks up all ids, and finds those of its rows. The table has so many rows that
  // gathering it does not pay, even once for all micro-batches.
  %rows = st.constrain %t0 to <@mesh, [{"a", "b"}, {}]> : tensor<640x6xf32>
  %ids0 = stablehlo.constant dense<[[3], [7], [0], [63]]> : tensor<4x1xi32>
  %ids = st.constrain %ids0 to <@mesh, [{"micro"}, {}]> : tensor<4x1xi32>
  // CHECK: "stablehlo.gather"({{.*}}) {{.*}} : (tensor<160x6xf32>, tensor<2x1xi32>) -> tensor<2x6xf32>
  %0 = "stablehlo.gather"(%rows, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 6>}>
       : (tensor<640x6xf32>, tensor<4x1xi32>) -> tensor<4x6xf32>
  // CHECK: st.all_reduce {{.*}} sum over ["a", "b"]
  %1 = stablehlo.abs %0 : tensor<4x6xf32>

  // The gradient: updates over micro add up; rows over a stay where they are.
  %zeros = stablehlo.constant dense<0.0> : tensor<640x6xf32>
  // CHECK: "stablehlo.scatter"
  %2 = "stablehlo.scatter"(%zeros, %ids, %1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<640x6xf32>, tensor<4x1xi32>, tensor<4x6xf32>) -> tensor<640x6xf32>
  %3 = st.constrain %2 to <@mesh, [{"a"}, {"b"}]> : tensor<640x6xf32>
  // A non-zero initial value counts once: in the first micro-batch.
  %4 = "stablehlo.scatter"(%rows, %ids, %1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<640x6xf32>, tensor<4x1xi32>, tensor<4x6xf32>) -> tensor<640x6xf32>

  // Elements move along the dimension, so it is gathered for the op; the others stay split.
  // CHECK: stablehlo.pad
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %5 = stablehlo.pad %3, %zero, low = [0, 1], high = [0, 1], interior = [0, 0] : (tensor<640x6xf32>, tensor<f32>) -> tensor<640x8xf32>
  %6 = stablehlo.slice %rows [2:4, 0:6] : (tensor<640x6xf32>) -> tensor<2x6xf32>
  %7 = stablehlo.concatenate %6, %6, dim = 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<4x6xf32>
  return %1, %3, %4, %5, %7 : tensor<4x6xf32>, tensor<640x6xf32>, tensor<640x6xf32>, tensor<640x8xf32>, tensor<4x6xf32>
}
