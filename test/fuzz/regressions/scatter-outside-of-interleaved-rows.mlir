module attributes {st.passes = "expand-branches,propagate-shardings,insert-reshards,global-to-local"} {
  st.mesh @mesh <["data"=2, "expert"=2, "tensor"=2], micro=1>
  func.func @main(%arg0: tensor<8xi32> {st.sharding = #st.sharding<@mesh, [{"data", "expert", "tensor"}]>}, %arg1: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"tensor", "data"}, {}]>}) -> (tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"data", "tensor"}, {"expert"}]>}) {
    %c = stablehlo.constant dense<3> : tensor<8xi32>
    %0 = stablehlo.multiply %arg0, %c : tensor<8xi32>
    %1 = "stablehlo.scatter"(%arg1, %0, %arg1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<8x8xf32>, tensor<8xi32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    return %1 : tensor<8x8xf32>
  }
}
