module attributes {st.passes = "expand-branches,propagate-shardings,insert-reshards,global-to-local"} {
  st.mesh @mesh <["tensor"=3], micro=2>
  func.func @main(%arg0: tensor<5x12x8xbf16> {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}, {}]>}, %arg1: tensor<16x3x4xbf16> {st.sharding = #st.sharding<@mesh, [{}, {"tensor"}, {}]>}) -> tensor<8x16x1xbf16> {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [0, f, b]x[o, i, 0]->[b, f, 0], window = {stride = [4], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1]} {batch_group_count = 1 : i64, feature_group_count = 4 : i64} : (tensor<5x12x8xbf16>, tensor<16x3x4xbf16>) -> tensor<8x16x1xbf16>
    return %0 : tensor<8x16x1xbf16>
  }
}
