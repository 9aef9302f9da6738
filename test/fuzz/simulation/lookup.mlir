// Rows gathered by index, and added up by index, in a wider and a narrower type.
func.func @main(%table: tensor<9x5xf32>, %rows: tensor<4x1xi32>) -> (tensor<4x5xbf16>, tensor<9x5xf32>) {
  %0 = "stablehlo.gather"(%table, %rows) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}> : (tensor<9x5xf32>, tensor<4x1xi32>) -> tensor<4x5xf32>
  %1 = "stablehlo.scatter"(%table, %rows, %0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<9x5xf32>, tensor<4x1xi32>, tensor<4x5xf32>) -> tensor<9x5xf32>
  %2 = stablehlo.convert %0 : (tensor<4x5xf32>) -> tensor<4x5xbf16>
  return %2, %1 : tensor<4x5xbf16>, tensor<9x5xf32>
}
