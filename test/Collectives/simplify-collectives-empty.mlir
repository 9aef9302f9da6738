// A sum of no elements stays where it is.
// RUN: st-opt --simplify-collectives %s | FileCheck %s

// CHECK: st.reduce_scatter
// CHECK-NEXT: stablehlo.reduce(
st.mesh @mesh <["x"=2], micro=1>
func.func @main(%0: tensor<4x0x2xf32> {st.global_type = tensor<8x0x2xf32>, st.sharding = #st.sharding<@mesh, [{"x"}, {}, {}]>}) -> (tensor<2x2xf32> {st.global_type = tensor<4x2xf32>, st.sharding = #st.sharding<@mesh, [{"x"}, {}]>}) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = st.reduce_scatter %0 sum dim 0 over ["x"] of @mesh : tensor<4x0x2xf32> -> tensor<2x0x2xf32>
  %2 = stablehlo.reduce(%1 init: %z) applies stablehlo.add across dimensions = [1] : (tensor<2x0x2xf32>, tensor<f32>) -> tensor<2x2xf32>
  return %2 : tensor<2x2xf32>
}
