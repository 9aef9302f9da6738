// RUN: st-opt --fuse-transposes --verify-diagnostics %s

func.func @planned(%0: tensor<4x8x16xf32>) -> tensor<8x4x16xf32> {
  // expected-error @+1 {{'st.kernel' op already has an address: run fuse-transposes before plan-memory}}
  %k = st.kernel "attention" (%a = %0 : tensor<4x8x16xf32>) -> tensor<4x8x16xf32> attributes {st.addresses = [#st.address<offset = 0>]} {
    %s = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x8x16xf32>, tensor<4x8x16xf32>) -> tensor<4x8x8xf32>
    %e = stablehlo.tanh %s : tensor<4x8x8xf32>
    %o = stablehlo.dot_general %e, %a, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x8x8xf32>, tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
    st.yield %o : tensor<4x8x16xf32>
  }
  %t = st.kernel "copy" (%a = %k : tensor<4x8x16xf32>) -> tensor<8x4x16xf32> {
    %x = stablehlo.transpose %a, dims = [1, 0, 2] : (tensor<4x8x16xf32>) -> tensor<8x4x16xf32>
    st.yield %x : tensor<8x4x16xf32>
  }
  return %t : tensor<8x4x16xf32>
}
