module attributes {st.passes = "expand-branches,propagate-shardings,insert-reshards,global-to-local"} {
  st.mesh @mesh <["data"=2, "tensor"=3], micro=1>
  func.func @main(%x: tensor<3x12xf32> {st.sharding = #st.sharding<@mesh, [{"tensor"}, {"data"}]>}) -> (tensor<3x12xf32> {st.sharding = #st.sharding<@mesh, [{}, {"tensor", "data"}]>}) {
    return %x : tensor<3x12xf32>
  }
}
