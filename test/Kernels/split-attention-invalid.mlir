// RUN: st-opt --split-attention --verify-diagnostics %s

func.func @planned(%0: tensor<8x4xf32>, %1: tensor<6x4xf32>) -> (tensor<8x4xf32>, tensor<6x4xf32>) {
  // expected-error @+1 {{'st.kernel' op already has an address: run split-attention before plan-memory}}
  %k:2 = st.kernel "attention" (%a = %0 : tensor<8x4xf32>, %b = %1 : tensor<6x4xf32>) -> (tensor<8x4xf32>, tensor<6x4xf32>) attributes {st.addresses = [#st.address<offset = 0>, #st.address<offset = 128>]} {
    %s = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<6x4xf32>) -> tensor<8x6xf32>
    %t = stablehlo.tanh %s : tensor<8x6xf32>
    %q = stablehlo.dot_general %t, %b, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
    %c = stablehlo.dot_general %t, %a, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
    st.yield %q, %c : tensor<8x4xf32>, tensor<6x4xf32>
  }
  return %k#0, %k#1 : tensor<8x4xf32>, tensor<6x4xf32>
}
