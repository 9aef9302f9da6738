// A loss that adds up squares of sums over pairs of samples, as a balance loss does: each micro-batch has one pair.
module attributes {st.exact, st.prepare = "differentiate,canonicalize,cse,add-optimizer{kind=sgd},canonicalize,exact-sums", st.passes = "apply-parallel-config{config=CONFIG},propagate-shardings,assign-stages,insert-reshards{min-part-bytes=16},global-to-local,simplify-collectives,split-tasks,schedule-pipeline", st.parallel = "{\"mode\": \"sharding\", \"accum_degree\": 3, \"data\": 1}"} {
func.func @main(%x: tensor<6x4xf32> {st.name = "x", st.role = "batch"}, %w: tensor<4xf32> {st.name = "w", st.role = "parameter", st.init = {kind = "normal", std = 1.0 : f64}}) -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %w, dims = [1] : (tensor<4xf32>) -> tensor<6x4xf32>
  %1 = stablehlo.multiply %x, %0 : tensor<6x4xf32>
  %2 = stablehlo.reshape %1 : (tensor<6x4xf32>) -> tensor<3x2x4xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<3x2x4xf32>, tensor<f32>) -> tensor<3x4xf32>
  %4 = stablehlo.multiply %3, %3 : tensor<3x4xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
  return %5 : tensor<f32>
}
}
