module attributes {st.passes = "expand-branches,pad-dimensions,propagate-shardings,insert-reshards,global-to-local"} {
  st.mesh @mesh <["data"=4, "tensor"=4], micro=1>
  func.func @main(%arg0: tensor<16x16x5xf32> {st.sharding = #st.sharding<@mesh, [{}, {"data"}, {}]>}, %arg1: tensor<16x16x16xf32> {st.sharding = #st.sharding<@mesh, [{"tensor"}, {}, {"data"}]>}) -> tensor<5x2x16x16xf32> {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [f, 0, b]x[o, 0, i]->[b, f, 0], window = {stride = [12], pad = [[9, 7]], lhs_dilate = [1], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<16x16x5xf32>, tensor<16x16x16xf32>) -> tensor<5x16x2xf32>
    %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [2] : (tensor<5x16x2xf32>, tensor<16x16x16xf32>) -> tensor<5x2x16x16xf32>
    return %1 : tensor<5x2x16x16xf32>
  }
}
