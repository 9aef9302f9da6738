// RUN: st-opt --split-reductions=cores=132 --verify-diagnostics %s

func.func @planned(%0: tensor<100000xf32>) -> tensor<f32> {
  // expected-error @+1 {{'st.kernel' op already has an address: run split-reductions before plan-memory}}
  %k = st.kernel "reduce" (%a = %0 : tensor<100000xf32>) -> tensor<f32> attributes {st.addresses = [#st.address<offset = 0>]} {
    %init = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%a init: %init) applies stablehlo.add across dimensions = [0] : (tensor<100000xf32>, tensor<f32>) -> tensor<f32>
    st.yield %r : tensor<f32>
  }
  return %k : tensor<f32>
}
