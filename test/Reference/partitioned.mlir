// One step of a linear layer, unsharded and sharded: tensor parallel over `t`, data parallel over `d`, accumulated over
// `micro`, with a scattered gradient.
//
// REQUIRES: jax
// RUN: %python %S/Inputs/random_inputs.py %t.in x=f32:8x6 w=f32:6x4 bias=f32:4
// RUN: st-translate --interpret --function=whole --inputs=%t.in --outputs=%t.whole %s
// RUN: st-translate --interpret --function=pieces --inputs=%t.in --outputs=%t.pieces %s
// RUN: %python %S/Inputs/compare.py %t.whole %t.pieces 1e-6 | FileCheck %s
// CHECK: 4 tensors agree

st.mesh @mesh <["d"=2, "t"=2], micro=2>

func.func @whole(%x: tensor<8x6xf32> {st.name = "x"}, %w: tensor<6x4xf32> {st.name = "w"},
                 %bias: tensor<4xf32> {st.name = "bias"})
    -> (tensor<f32> {st.name = "loss"}, tensor<8x4xf32> {st.name = "y"},
        tensor<6x4xf32> {st.name = "w"}, tensor<4xf32> {st.name = "max"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x6xf32>, tensor<6x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x4xf32>
  %y = stablehlo.tanh %2 : tensor<8x4xf32>
  %square = stablehlo.multiply %y, %y : tensor<8x4xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  %max = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<4xf32>
  %dw = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %new = stablehlo.subtract %w, %dw : tensor<6x4xf32>
  return %loss, %y, %new, %max : tensor<f32>, tensor<8x4xf32>, tensor<6x4xf32>, tensor<4xf32>
}

func.func @pieces(
    %x: tensor<2x6xf32> {st.global_type = tensor<8x6xf32>, st.name = "x", st.sharding = #st.sharding<@mesh, [{"micro", "d"}, {}]>},
    %w: tensor<3x2xf32> {st.global_type = tensor<6x4xf32>, st.name = "w", st.sharding = #st.sharding<@mesh, [{"d"}, {"t"}]>},
    %bias: tensor<2xf32> {st.global_type = tensor<4xf32>, st.name = "bias", st.sharding = #st.sharding<@mesh, [{"t"}]>})
    -> (tensor<f32> {st.name = "loss", st.sharding = #st.sharding<@mesh, []>},
        tensor<2x2xf32> {st.global_type = tensor<8x4xf32>, st.name = "y", st.sharding = #st.sharding<@mesh, [{"micro", "d"}, {"t"}]>},
        tensor<3x2xf32> {st.global_type = tensor<6x4xf32>, st.name = "w", st.sharding = #st.sharding<@mesh, [{"d"}, {"t"}]>},
        tensor<2xf32> {st.global_type = tensor<4xf32>, st.name = "max", st.sharding = #st.sharding<@mesh, [{"t"}], unreduced = max ["micro", "d"]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %all = st.all_gather %w dim 0 over ["d"] of @mesh : tensor<3x2xf32> -> tensor<6x2xf32>
  %0 = stablehlo.dot_general %x, %all, contracting_dims = [1] x [0] : (tensor<2x6xf32>, tensor<6x2xf32>) -> tensor<2x2xf32>
  %1 = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<2xf32>) -> tensor<2x2xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x2xf32>
  %y = stablehlo.tanh %2 : tensor<2x2xf32>
  %square = stablehlo.multiply %y, %y : tensor<2x2xf32>
  %partial = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<f32>
  %micro = st.accumulate %partial sum over micro : tensor<f32>
  %loss = st.all_reduce %micro sum over ["d", "t"] of @mesh : tensor<f32>
  %max = stablehlo.reduce(%y init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
  %dw = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<2x6xf32>, tensor<2x2xf32>) -> tensor<6x2xf32>
  %sum = st.accumulate %dw sum over micro : tensor<6x2xf32>
  %mine = st.reduce_scatter %sum sum dim 0 over ["d"] of @mesh : tensor<6x2xf32> -> tensor<3x2xf32>
  %new = stablehlo.subtract %w, %mine : tensor<3x2xf32>
  return %loss, %y, %new, %max : tensor<f32>, tensor<2x2xf32>, tensor<3x2xf32>, tensor<2xf32>
}
