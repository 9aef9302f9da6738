module attributes {st.parallel = "{\22mode\22: \22hybrid\22, \22sharding_size\22: 2, \22sharding_dim\22: 0, \22stage_cnt\22: 1, \22accum_degree\22: 1, \22data\22: 1, \22recompute\22: \22full\22}", st.passes = "apply-parallel-config{config=CONFIG},expand-branches,pad-dimensions,propagate-shardings,assign-stages,insert-reshards{min-part-bytes=16},global-to-local,simplify-collectives,split-tasks,rematerialise{otherwise=selective reuse-products},combine-collectives,reuse-accumulators,schedule-pipeline,form-loops,lower-loops,lower-tensor-ops,form-kernels", st.prepare = "differentiate,canonicalize,cse,add-optimizer{kind=sgd momentum=0 clip-norm=0.5},canonicalize"} {
  func.func @main(%arg0: tensor<4x8xf32> {st.init = {kind = "normal", std = 2.000000e-02 : f64}, st.name = "model.layers.0.self_attn.v_proj.weight", st.role = "parameter"}, %arg1: tensor<4x8xf32> {st.init = {kind = "normal", std = 2.000000e-02 : f64}, st.name = "lm_head.weight", st.role = "parameter"}) -> (tensor<f32> {st.name = "loss", st.role = "loss"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<1x4x8xf32>
    %0 = stablehlo.dot_general %cst_1, %arg0, contracting_dims = [2] x [1] {st.block = 1 : i64} : (tensor<1x4x8xf32>, tensor<4x8xf32>) -> tensor<1x4x4xf32>
    %1 = stablehlo.reshape %0 {st.block = 1 : i64} : (tensor<1x4x4xf32>) -> tensor<1x4x1x4xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<1x4x2x4xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1, 2, 4] {st.block = 1 : i64} : (tensor<1x4x1x4xf32>) -> tensor<1x4x1x2x4xf32>
    %3 = stablehlo.reshape %2 {st.block = 1 : i64} : (tensor<1x4x1x2x4xf32>) -> tensor<1x4x2x4xf32>
    %cst_3 = stablehlo.constant dense<1.000000e+00> : tensor<1x4x2x4xf32>
    %4 = stablehlo.dot_general %cst_3, %cst_2, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] {st.block = 1 : i64} : (tensor<1x4x2x4xf32>, tensor<1x4x2x4xf32>) -> tensor<1x2x4x4xf32>
    %5 = stablehlo.reduce(%4 init: %cst_0) applies stablehlo.maximum across dimensions = [3] {st.block = 1 : i64, st.stop_gradient} : (tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1, 2] {st.block = 1 : i64} : (tensor<1x2x4xf32>) -> tensor<1x2x4x4xf32>
    %7 = stablehlo.subtract %4, %6 {st.block = 1 : i64} : tensor<1x2x4x4xf32>
    %8 = stablehlo.exponential %7 {st.block = 1 : i64} : tensor<1x2x4x4xf32>
    %9 = stablehlo.dot_general %8, %3, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] {st.block = 1 : i64} : (tensor<1x2x4x4xf32>, tensor<1x4x2x4xf32>) -> tensor<1x2x4x4xf32>
    %10 = stablehlo.transpose %9, dims = [0, 2, 1, 3] {st.block = 1 : i64} : (tensor<1x2x4x4xf32>) -> tensor<1x4x2x4xf32>
    %11 = stablehlo.reshape %10 {st.block = 1 : i64} : (tensor<1x4x2x4xf32>) -> tensor<1x4x8xf32>
    %12 = stablehlo.add %11, %cst_1 {st.block = 1 : i64} : tensor<1x4x8xf32>
    %13 = stablehlo.add %12, %cst_1 {st.block = 1 : i64} : tensor<1x4x8xf32>
    %14 = stablehlo.dot_general %13, %arg1, contracting_dims = [2] x [1] {st.block = 2 : i64} : (tensor<1x4x8xf32>, tensor<4x8xf32>) -> tensor<1x4x4xf32>
    %15 = stablehlo.reduce(%14 init: %cst) applies stablehlo.add across dimensions = [2] {st.block = 2 : i64} : (tensor<1x4x4xf32>, tensor<f32>) -> tensor<1x4xf32>
    %16 = stablehlo.reduce(%15 init: %cst) applies stablehlo.add across dimensions = [0, 1] {st.block = 2 : i64} : (tensor<1x4xf32>, tensor<f32>) -> tensor<f32>
    return %16 : tensor<f32>
  }
}
