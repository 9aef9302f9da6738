// RUN: st-opt --sink-conversions --verify-diagnostics %s

func.func @planned(%0: tensor<8xbf16>) -> tensor<8xf32> {
  // expected-error @+1 {{'st.kernel' op already has an address: run sink-conversions before plan-memory}}
  %k = st.kernel "loop" (%a = %0 : tensor<8xbf16>) -> tensor<8xf32> attributes {st.addresses = [#st.address<offset = 0>]} {
    %c = stablehlo.convert %a : (tensor<8xbf16>) -> tensor<8xf32>
    st.yield %c : tensor<8xf32>
  }
  return %k : tensor<8xf32>
}
