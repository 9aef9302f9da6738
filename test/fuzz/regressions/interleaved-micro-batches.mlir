module attributes {st.passes = "expand-branches,propagate-shardings,insert-reshards,global-to-local"} {
  st.mesh @mesh <["tensor"=8], micro=2>
  func.func @main(%arg0: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"micro"}]>}) -> tensor<16xf32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<8xf32>) -> tensor<2x8xf32>
    %1 = stablehlo.reshape %0 : (tensor<2x8xf32>) -> tensor<16xf32>
    return %1 : tensor<16xf32>
  }
}
