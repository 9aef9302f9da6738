// RUN: st-opt --fuse-epilogues --split-input-file --verify-diagnostics %s

func.func @planned(%0: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{'st.kernel' op already has an address: run fuse-epilogues before plan-memory}}
  %k = st.kernel "matmul" (%a = %0 : tensor<4x4xf32>, %b = %0 : tensor<4x4xf32>) -> tensor<4x4xf32> attributes {st.addresses = [#st.address<offset = 64>]} {
    %p = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    st.yield %p : tensor<4x4xf32>
  }
  return %k : tensor<4x4xf32>
}
