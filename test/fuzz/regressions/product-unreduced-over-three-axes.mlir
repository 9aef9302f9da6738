module attributes {st.parallel = "{\22mode\22: \22hybrid\22, \22sharding_size\22: 8, \22sharding_dim\22: -1, \22stage_cnt\22: 3, \22accum_degree\22: 4, \22data\22: 1, \22schedule\22: \221f1b\22, \22recompute\22: \22selective\22}", st.passes = "apply-parallel-config{config=CONFIG},expand-branches,pad-dimensions,propagate-shardings,assign-stages,insert-reshards{min-part-bytes=16},global-to-local,simplify-collectives,split-tasks,rematerialise,combine-collectives,reuse-accumulators,schedule-pipeline,lower-loops,lower-tensor-ops,form-kernels,plan-memory,verify-memory-plan", st.prepare = "differentiate,canonicalize,cse,add-optimizer{kind=sgd clip-norm=0.5},canonicalize"} {
  st.mesh @mesh <["data"=2, "expert"=2, "tensor"=2], micro=1>
  func.func @main(%arg0: tensor<4x8xf32> {st.init = {kind = "normal", std = 1.000000e+00 : f64}, st.name = "w2", st.role = "parameter"}, %arg1: tensor<8x8xf32> {st.init = {kind = "normal", std = 1.000000e+00 : f64}, st.name = "w3", st.role = "parameter", st.sharding = #st.sharding<@mesh, [{}, {"tensor", "data", "expert"}]>}, %arg2: tensor<8xf32> {st.init = {kind = "normal", std = 1.000000e+00 : f64}, st.name = "w4", st.role = "parameter", st.sharding = #st.sharding<@mesh, [{"expert", "tensor"}]>}, %arg3: tensor<8x8xf32> {st.init = {kind = "normal", std = 1.000000e+00 : f64}, st.name = "w5", st.role = "parameter", st.sharding = #st.sharding<@mesh, [{"tensor", "expert"}, {"data"}]>}, %arg4: tensor<8x4xf32> {st.init = {kind = "normal", std = 1.000000e+00 : f64}, st.name = "w6", st.role = "parameter", st.sharding = #st.sharding<@mesh, [{"data"}, {"expert", "tensor"}]>}, %arg5: tensor<4x4xf32> {st.name = "target", st.role = "batch", st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>}) -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.dot_general %arg5, %arg0, contracting_dims = [1] x [0] {st.block = 0 : i64} : (tensor<4x4xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.dot_general %0, %arg1, contracting_dims = [1] x [0] {st.block = 1 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [1] {st.block = 1 : i64} : (tensor<8xf32>) -> tensor<4x8xf32>
    %3 = stablehlo.add %1, %2 {st.block = 1 : i64} : tensor<4x8xf32>
    %4 = stablehlo.tanh %3 {st.block = 1 : i64} : tensor<4x8xf32>
    %5 = stablehlo.dot_general %4, %arg3, contracting_dims = [1] x [0] {st.block = 1 : i64} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %6 = stablehlo.add %0, %5 {st.block = 1 : i64} : tensor<4x8xf32>
    %7 = stablehlo.reshape %6 {st.block = 2 : i64} : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
    %8 = stablehlo.reshape %7 {st.block = 2 : i64} : (tensor<4x2x4xf32>) -> tensor<4x8xf32>
    %9 = stablehlo.dot_general %8, %arg4, contracting_dims = [1] x [0] {st.block = 3 : i64} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %10 = stablehlo.reduce(%9 init: %cst) applies stablehlo.add across dimensions = [1] {st.block = 5 : i64} : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
    %11 = stablehlo.reduce(%10 init: %cst) applies stablehlo.add across dimensions = [0] {st.block = 5 : i64} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
    return %11 : tensor<f32>
  }
}
