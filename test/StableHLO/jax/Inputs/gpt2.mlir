module @jit_train_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x8xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<8xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<8xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<8xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<8xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<8xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<8x8xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<8xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<8x3x8xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<3x8xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<8x16xf32> {tf.aliasing_output = 10 : i32}, %arg11: tensor<16xf32> {tf.aliasing_output = 11 : i32}, %arg12: tensor<8xf32> {tf.aliasing_output = 12 : i32}, %arg13: tensor<8xf32> {tf.aliasing_output = 13 : i32}, %arg14: tensor<4x8xf32> {tf.aliasing_output = 14 : i32}, %arg15: tensor<16x8xf32> {tf.aliasing_output = 15 : i32}, %arg16: tensor<16x8xf32> {tf.aliasing_output = 16 : i32}, %arg17: tensor<8xf32> {tf.aliasing_output = 17 : i32}, %arg18: tensor<8xf32> {tf.aliasing_output = 18 : i32}, %arg19: tensor<8xf32> {tf.aliasing_output = 19 : i32}, %arg20: tensor<8xf32> {tf.aliasing_output = 20 : i32}, %arg21: tensor<8xf32> {tf.aliasing_output = 21 : i32}, %arg22: tensor<8x8xf32> {tf.aliasing_output = 22 : i32}, %arg23: tensor<8xf32> {tf.aliasing_output = 23 : i32}, %arg24: tensor<8x3x8xf32> {tf.aliasing_output = 24 : i32}, %arg25: tensor<3x8xf32> {tf.aliasing_output = 25 : i32}, %arg26: tensor<8x16xf32> {tf.aliasing_output = 26 : i32}, %arg27: tensor<16xf32> {tf.aliasing_output = 27 : i32}, %arg28: tensor<8xf32> {tf.aliasing_output = 28 : i32}, %arg29: tensor<8xf32> {tf.aliasing_output = 29 : i32}, %arg30: tensor<4x8xf32> {tf.aliasing_output = 30 : i32}, %arg31: tensor<16x8xf32> {tf.aliasing_output = 31 : i32}, %arg32: tensor<16x8xf32> {tf.aliasing_output = 32 : i32}, %arg33: tensor<8xf32> {tf.aliasing_output = 33 : i32}, %arg34: tensor<8xf32> {tf.aliasing_output = 34 : i32}, %arg35: tensor<8xf32> {tf.aliasing_output = 35 : i32}, %arg36: tensor<8xf32> {tf.aliasing_output = 36 : i32}, %arg37: tensor<8xf32> {tf.aliasing_output = 37 : i32}, %arg38: tensor<8x8xf32> {tf.aliasing_output = 38 : i32}, %arg39: tensor<8xf32> {tf.aliasing_output = 39 : i32}, %arg40: tensor<8x3x8xf32> {tf.aliasing_output = 40 : i32}, %arg41: tensor<3x8xf32> {tf.aliasing_output = 41 : i32}, %arg42: tensor<8x16xf32> {tf.aliasing_output = 42 : i32}, %arg43: tensor<16xf32> {tf.aliasing_output = 43 : i32}, %arg44: tensor<8xf32> {tf.aliasing_output = 44 : i32}, %arg45: tensor<8xf32> {tf.aliasing_output = 45 : i32}, %arg46: tensor<4x8xf32> {tf.aliasing_output = 46 : i32}, %arg47: tensor<16x8xf32> {tf.aliasing_output = 47 : i32}, %arg48: tensor<f32> {tf.aliasing_output = 48 : i32}, %arg49: tensor<2x4xi32>, %arg50: tensor<2xui32>) -> (tensor<16x8xf32> {jax.result_info = "result[0][0]['layer_0']['down']"}, tensor<8xf32> {jax.result_info = "result[0][0]['layer_0']['down_bias']"}, tensor<8xf32> {jax.result_info = "result[0][0]['layer_0']['norm1']"}, tensor<8xf32> {jax.result_info = "result[0][0]['layer_0']['norm1_bias']"}, tensor<8xf32> {jax.result_info = "result[0][0]['layer_0']['norm2']"}, tensor<8xf32> {jax.result_info = "result[0][0]['layer_0']['norm2_bias']"}, tensor<8x8xf32> {jax.result_info = "result[0][0]['layer_0']['out']"}, tensor<8xf32> {jax.result_info = "result[0][0]['layer_0']['out_bias']"}, tensor<8x3x8xf32> {jax.result_info = "result[0][0]['layer_0']['qkv']"}, tensor<3x8xf32> {jax.result_info = "result[0][0]['layer_0']['qkv_bias']"}, tensor<8x16xf32> {jax.result_info = "result[0][0]['layer_0']['up']"}, tensor<16xf32> {jax.result_info = "result[0][0]['layer_0']['up_bias']"}, tensor<8xf32> {jax.result_info = "result[0][0]['norm']"}, tensor<8xf32> {jax.result_info = "result[0][0]['norm_bias']"}, tensor<4x8xf32> {jax.result_info = "result[0][0]['position']"}, tensor<16x8xf32> {jax.result_info = "result[0][0]['word']"}, tensor<16x8xf32> {jax.result_info = "result[0][1]['layer_0']['down']"}, tensor<8xf32> {jax.result_info = "result[0][1]['layer_0']['down_bias']"}, tensor<8xf32> {jax.result_info = "result[0][1]['layer_0']['norm1']"}, tensor<8xf32> {jax.result_info = "result[0][1]['layer_0']['norm1_bias']"}, tensor<8xf32> {jax.result_info = "result[0][1]['layer_0']['norm2']"}, tensor<8xf32> {jax.result_info = "result[0][1]['layer_0']['norm2_bias']"}, tensor<8x8xf32> {jax.result_info = "result[0][1]['layer_0']['out']"}, tensor<8xf32> {jax.result_info = "result[0][1]['layer_0']['out_bias']"}, tensor<8x3x8xf32> {jax.result_info = "result[0][1]['layer_0']['qkv']"}, tensor<3x8xf32> {jax.result_info = "result[0][1]['layer_0']['qkv_bias']"}, tensor<8x16xf32> {jax.result_info = "result[0][1]['layer_0']['up']"}, tensor<16xf32> {jax.result_info = "result[0][1]['layer_0']['up_bias']"}, tensor<8xf32> {jax.result_info = "result[0][1]['norm']"}, tensor<8xf32> {jax.result_info = "result[0][1]['norm_bias']"}, tensor<4x8xf32> {jax.result_info = "result[0][1]['position']"}, tensor<16x8xf32> {jax.result_info = "result[0][1]['word']"}, tensor<16x8xf32> {jax.result_info = "result[0][2]['layer_0']['down']"}, tensor<8xf32> {jax.result_info = "result[0][2]['layer_0']['down_bias']"}, tensor<8xf32> {jax.result_info = "result[0][2]['layer_0']['norm1']"}, tensor<8xf32> {jax.result_info = "result[0][2]['layer_0']['norm1_bias']"}, tensor<8xf32> {jax.result_info = "result[0][2]['layer_0']['norm2']"}, tensor<8xf32> {jax.result_info = "result[0][2]['layer_0']['norm2_bias']"}, tensor<8x8xf32> {jax.result_info = "result[0][2]['layer_0']['out']"}, tensor<8xf32> {jax.result_info = "result[0][2]['layer_0']['out_bias']"}, tensor<8x3x8xf32> {jax.result_info = "result[0][2]['layer_0']['qkv']"}, tensor<3x8xf32> {jax.result_info = "result[0][2]['layer_0']['qkv_bias']"}, tensor<8x16xf32> {jax.result_info = "result[0][2]['layer_0']['up']"}, tensor<16xf32> {jax.result_info = "result[0][2]['layer_0']['up_bias']"}, tensor<8xf32> {jax.result_info = "result[0][2]['norm']"}, tensor<8xf32> {jax.result_info = "result[0][2]['norm_bias']"}, tensor<4x8xf32> {jax.result_info = "result[0][2]['position']"}, tensor<16x8xf32> {jax.result_info = "result[0][2]['word']"}, tensor<f32> {jax.result_info = "result[0][3]"}, tensor<f32> {jax.result_info = "result[1]"}, tensor<f32> {jax.result_info = "result[2]"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.add %arg48, %cst : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.compare LT, %arg49, %1, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %c_0 = stablehlo.constant dense<16> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %4 = stablehlo.add %arg49, %3 : tensor<2x4xi32>
    %5 = stablehlo.select %2, %4, %arg49 : tensor<2x4xi1>, tensor<2x4xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %7 = "stablehlo.gather"(%arg15, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<16x8xf32>, tensor<2x4x1xi32>) -> tensor<2x4x8xf32>
    %8 = stablehlo.broadcast_in_dim %arg14, dims = [1, 2] : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x4x8xf32>) -> tensor<2x4x8xf32>
    %10 = stablehlo.add %7, %9 : tensor<2x4x8xf32>
    %cst_1 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %11 = call @_bernoulli(%arg50, %cst_1) : (tensor<2xui32>, tensor<f32>) -> tensor<2x4x8xi1>
    %cst_2 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x4x8xf32>
    %13 = stablehlo.divide %10, %12 : tensor<2x4x8xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %14 = call @_where(%11, %13, %cst_3) : (tensor<2x4x8xi1>, tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
    %c_4 = stablehlo.constant dense<true> : tensor<i1>
    %15 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i1>) -> tensor<4x4xi1>
    %16 = call @tril(%15) : (tensor<4x4xi1>) -> tensor<4x4xi1>
    %c_5 = stablehlo.constant dense<0> : tensor<ui32>
    %17 = call @_threefry_fold_in(%arg50, %c_5) : (tensor<2xui32>, tensor<ui32>) -> tensor<2xui32>
    %18 = call @_threefry_split(%17) : (tensor<2xui32>) -> tensor<2x2xui32>
    %19:7 = call @layer_norm(%14, %arg2, %arg3) : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x8xf32>, tensor<1x1x8xf32>, tensor<2x4x8xf32>)
    %20 = stablehlo.slice %18 [0:1, 0:2] : (tensor<2x2xui32>) -> tensor<1x2xui32>
    %21 = stablehlo.reshape %20 : (tensor<1x2xui32>) -> tensor<2xui32>
    %22 = stablehlo.dot_general %arg8, %19#0, contracting_dims = [0] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x3x8xf32>, tensor<2x4x8xf32>) -> tensor<3x8x2x4xf32>
    %23 = stablehlo.transpose %22, dims = [0, 2, 3, 1] : (tensor<3x8x2x4xf32>) -> tensor<3x2x4x8xf32>
    %24 = stablehlo.broadcast_in_dim %arg9, dims = [0, 3] : (tensor<3x8xf32>) -> tensor<3x1x1x8xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<3x1x1x8xf32>) -> tensor<3x2x4x8xf32>
    %26 = stablehlo.add %23, %25 : tensor<3x2x4x8xf32>
    %27 = stablehlo.slice %26 [0:1, 0:2, 0:4, 0:8] : (tensor<3x2x4x8xf32>) -> tensor<1x2x4x8xf32>
    %28 = stablehlo.reshape %27 : (tensor<1x2x4x8xf32>) -> tensor<2x4x8xf32>
    %29 = stablehlo.reshape %28 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %30 = stablehlo.slice %26 [1:2, 0:2, 0:4, 0:8] : (tensor<3x2x4x8xf32>) -> tensor<1x2x4x8xf32>
    %31 = stablehlo.reshape %30 : (tensor<1x2x4x8xf32>) -> tensor<2x4x8xf32>
    %32 = stablehlo.reshape %31 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %33 = stablehlo.slice %26 [2:3, 0:2, 0:4, 0:8] : (tensor<3x2x4x8xf32>) -> tensor<1x2x4x8xf32>
    %34 = stablehlo.reshape %33 : (tensor<1x2x4x8xf32>) -> tensor<2x4x8xf32>
    %35 = stablehlo.reshape %34 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %36 = stablehlo.dot_general %29, %32, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
    %cst_6 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %37 = stablehlo.sqrt %cst_6 : tensor<f32>
    %38 = stablehlo.convert %37 : tensor<f32>
    %39 = stablehlo.broadcast_in_dim %38, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %40 = stablehlo.divide %36, %39 : tensor<2x2x4x4xf32>
    %cst_7 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %41:2 = call @_where_4(%16, %40, %cst_7) : (tensor<4x4xi1>, tensor<2x2x4x4xf32>, tensor<f32>) -> (tensor<2x2x4x4xf32>, tensor<2x2x4x4xi1>)
    %cst_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %42 = stablehlo.reduce(%41#0 init: %cst_8) applies stablehlo.maximum across dimensions = [3] : (tensor<2x2x4x4xf32>, tensor<f32>) -> tensor<2x2x4xf32>
    %cst_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %43 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<2x2x4xf32>
    %44 = stablehlo.maximum %43, %42 : tensor<2x2x4xf32>
    %45 = stablehlo.broadcast_in_dim %44, dims = [0, 1, 2] : (tensor<2x2x4xf32>) -> tensor<2x2x4x1xf32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [0, 1, 2, 3] : (tensor<2x2x4x1xf32>) -> tensor<2x2x4x4xf32>
    %47 = stablehlo.subtract %41#0, %46 : tensor<2x2x4x4xf32>
    %48 = stablehlo.exponential %47 : tensor<2x2x4x4xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %49 = stablehlo.reduce(%48 init: %cst_10) applies stablehlo.add across dimensions = [3] : (tensor<2x2x4x4xf32>, tensor<f32>) -> tensor<2x2x4xf32>
    %50 = stablehlo.broadcast_in_dim %49, dims = [0, 1, 2] : (tensor<2x2x4xf32>) -> tensor<2x2x4x1xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2, 3] : (tensor<2x2x4x1xf32>) -> tensor<2x2x4x4xf32>
    %52 = stablehlo.divide %48, %51 : tensor<2x2x4x4xf32>
    %53 = stablehlo.multiply %50, %50 : tensor<2x2x4x1xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<2x2x4x1xf32>
    %55 = stablehlo.divide %54, %53 : tensor<2x2x4x1xf32>
    %cst_12 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %56 = call @_bernoulli_5(%21, %cst_12) : (tensor<2xui32>, tensor<f32>) -> tensor<2x2x4x4xi1>
    %cst_13 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %57 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %58 = stablehlo.divide %52, %57 : tensor<2x2x4x4xf32>
    %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %59 = call @_where_9(%56, %58, %cst_14) : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<f32>) -> tensor<2x2x4x4xf32>
    %60 = stablehlo.dot_general %35, %59, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4x2x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
    %61 = stablehlo.transpose %60, dims = [0, 3, 1, 2] : (tensor<2x2x4x4xf32>) -> tensor<2x4x2x4xf32>
    %62 = stablehlo.reshape %61 : (tensor<2x4x2x4xf32>) -> tensor<2x4x8xf32>
    %63 = stablehlo.dot_general %62, %arg6, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %64 = stablehlo.broadcast_in_dim %arg7, dims = [2] : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %65 = stablehlo.broadcast_in_dim %64, dims = [0, 1, 2] : (tensor<1x1x8xf32>) -> tensor<2x4x8xf32>
    %66 = stablehlo.add %63, %65 : tensor<2x4x8xf32>
    %67 = stablehlo.add %14, %66 : tensor<2x4x8xf32>
    %68:7 = call @layer_norm(%67, %arg4, %arg5) : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x8xf32>, tensor<1x1x8xf32>, tensor<2x4x8xf32>)
    %69 = stablehlo.dot_general %68#0, %arg10, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
    %70 = stablehlo.broadcast_in_dim %arg11, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %71 = stablehlo.broadcast_in_dim %70, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<2x4x16xf32>
    %72 = stablehlo.add %69, %71 : tensor<2x4x16xf32>
    %73 = stablehlo.multiply %72, %72 : tensor<2x4x16xf32>
    %74 = stablehlo.multiply %73, %72 : tensor<2x4x16xf32>
    %75 = stablehlo.multiply %72, %72 : tensor<2x4x16xf32>
    %cst_15 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %76 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %77 = stablehlo.multiply %76, %75 : tensor<2x4x16xf32>
    %cst_16 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %78 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %79 = stablehlo.multiply %78, %74 : tensor<2x4x16xf32>
    %80 = stablehlo.add %72, %79 : tensor<2x4x16xf32>
    %cst_17 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %81 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %82 = stablehlo.multiply %81, %80 : tensor<2x4x16xf32>
    %83 = stablehlo.tanh %82 : tensor<2x4x16xf32>
    %cst_18 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %84 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %85 = stablehlo.subtract %84, %83 : tensor<2x4x16xf32>
    %cst_19 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %86 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %87 = stablehlo.add %86, %83 : tensor<2x4x16xf32>
    %cst_20 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %88 = stablehlo.broadcast_in_dim %cst_20, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %89 = stablehlo.multiply %88, %87 : tensor<2x4x16xf32>
    %90 = stablehlo.multiply %72, %89 : tensor<2x4x16xf32>
    %91 = stablehlo.dot_general %90, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4x16xf32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
    %92 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %93 = stablehlo.broadcast_in_dim %92, dims = [0, 1, 2] : (tensor<1x1x8xf32>) -> tensor<2x4x8xf32>
    %94 = stablehlo.add %91, %93 : tensor<2x4x8xf32>
    %95 = stablehlo.slice %18 [1:2, 0:2] : (tensor<2x2xui32>) -> tensor<1x2xui32>
    %96 = stablehlo.reshape %95 : (tensor<1x2xui32>) -> tensor<2xui32>
    %cst_21 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %97 = call @_bernoulli(%96, %cst_21) : (tensor<2xui32>, tensor<f32>) -> tensor<2x4x8xi1>
    %cst_22 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %98 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<2x4x8xf32>
    %99 = stablehlo.divide %94, %98 : tensor<2x4x8xf32>
    %cst_23 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %100 = call @_where(%97, %99, %cst_23) : (tensor<2x4x8xi1>, tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
    %101 = stablehlo.add %67, %100 : tensor<2x4x8xf32>
    %102:7 = call @layer_norm(%101, %arg12, %arg13) : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x8xf32>, tensor<1x1x8xf32>, tensor<2x4x8xf32>)
    %103 = stablehlo.transpose %arg15, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %104 = stablehlo.dot_general %102#0, %103, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
    %105 = stablehlo.slice %104 [0:2, 0:3, 0:16] : (tensor<2x4x16xf32>) -> tensor<2x3x16xf32>
    %106 = stablehlo.slice %arg49 [0:2, 1:4] : (tensor<2x4xi32>) -> tensor<2x3xi32>
    %cst_24 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %107 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %108:3 = call @log_softmax(%105) : (tensor<2x3x16xf32>) -> (tensor<2x3x16xf32>, tensor<2x3x16xf32>, tensor<2x3x1xf32>)
    %109 = stablehlo.broadcast_in_dim %106, dims = [0, 1] : (tensor<2x3xi32>) -> tensor<2x3x1xi32>
    %110:2 = call @take_along_axis(%108#0, %109) : (tensor<2x3x16xf32>, tensor<2x3x1xi32>) -> (tensor<2x3x1xf32>, tensor<2x3x1x1xi32>)
    %111 = stablehlo.reshape %110#0 : (tensor<2x3x1xf32>) -> tensor<2x3xf32>
    %112 = stablehlo.multiply %111, %107 : tensor<2x3xf32>
    %cst_25 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %113 = stablehlo.reduce(%112 init: %cst_25) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
    %114 = stablehlo.negate %113 : tensor<f32>
    %cst_26 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %115 = stablehlo.reduce(%107 init: %cst_26) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<f32>
    %cst_27 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %116 = stablehlo.maximum %115, %cst_27 : tensor<f32>
    %117 = stablehlo.divide %114, %116 : tensor<f32>
    %cst_28 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %118 = stablehlo.divide %cst_28, %116 : tensor<f32>
    %119 = stablehlo.negate %118 : tensor<f32>
    %120 = stablehlo.broadcast_in_dim %119, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %121 = stablehlo.multiply %120, %107 : tensor<2x3xf32>
    %122 = stablehlo.broadcast_in_dim %121, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
    %123 = call @take_along_axis_10(%110#1, %122) : (tensor<2x3x1x1xi32>, tensor<2x3x1xf32>) -> tensor<2x3x16xf32>
    %124 = call @log_softmax_11(%108#1, %108#2, %123) : (tensor<2x3x16xf32>, tensor<2x3x1xf32>, tensor<2x3x16xf32>) -> tensor<2x3x16xf32>
    %cst_29 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %125 = stablehlo.pad %124, %cst_29, low = [0, 0, 0], high = [0, 1, 0], interior = [0, 0, 0] : (tensor<2x3x16xf32>, tensor<f32>) -> tensor<2x4x16xf32>
    %126 = stablehlo.dot_general %125, %102#0, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x16xf32>, tensor<2x4x8xf32>) -> tensor<16x8xf32>
    %127 = stablehlo.transpose %126, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %128 = stablehlo.dot_general %125, %103, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32>
    %129 = stablehlo.transpose %127, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %130:3 = call @layer_norm_12(%102#1, %102#2, %102#3, %102#4, %102#5, %102#6, %128) : (tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x8xf32>, tensor<1x1x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    %131 = call @_where_13(%97, %130#0) : (tensor<2x4x8xi1>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %cst_30 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %132 = stablehlo.broadcast_in_dim %cst_30, dims = [] : (tensor<f32>) -> tensor<2x4x8xf32>
    %133 = stablehlo.divide %131, %132 : tensor<2x4x8xf32>
    %cst_31 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %134 = stablehlo.reduce(%133 init: %cst_31) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<8xf32>
    %135 = stablehlo.reshape %134 : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %cst_32 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %136 = stablehlo.reduce(%135 init: %cst_32) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %137 = stablehlo.dot_general %133, %90, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<2x4x16xf32>) -> tensor<8x16xf32>
    %138 = stablehlo.transpose %137, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %139 = stablehlo.dot_general %133, %arg0, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
    %140 = stablehlo.multiply %72, %139 : tensor<2x4x16xf32>
    %141 = stablehlo.multiply %139, %89 : tensor<2x4x16xf32>
    %cst_33 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %142 = stablehlo.broadcast_in_dim %cst_33, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %143 = stablehlo.multiply %142, %140 : tensor<2x4x16xf32>
    %144 = stablehlo.multiply %143, %85 : tensor<2x4x16xf32>
    %145 = stablehlo.multiply %144, %83 : tensor<2x4x16xf32>
    %146 = stablehlo.add %144, %145 : tensor<2x4x16xf32>
    %cst_34 = stablehlo.constant dense<0.797884583> : tensor<f32>
    %147 = stablehlo.broadcast_in_dim %cst_34, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %148 = stablehlo.multiply %147, %146 : tensor<2x4x16xf32>
    %149 = stablehlo.add %141, %148 : tensor<2x4x16xf32>
    %cst_35 = stablehlo.constant dense<4.471500e-02> : tensor<f32>
    %150 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %151 = stablehlo.multiply %150, %148 : tensor<2x4x16xf32>
    %152 = stablehlo.multiply %151, %77 : tensor<2x4x16xf32>
    %153 = stablehlo.add %149, %152 : tensor<2x4x16xf32>
    %cst_36 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %154 = stablehlo.reduce(%153 init: %cst_36) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4x16xf32>, tensor<f32>) -> tensor<16xf32>
    %155 = stablehlo.reshape %154 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %cst_37 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %156 = stablehlo.reduce(%155 init: %cst_37) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %157 = stablehlo.dot_general %153, %68#0, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x16xf32>, tensor<2x4x8xf32>) -> tensor<16x8xf32>
    %158 = stablehlo.transpose %157, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %159 = stablehlo.dot_general %153, %arg10, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32>
    %160:3 = call @layer_norm_12(%68#1, %68#2, %68#3, %68#4, %68#5, %68#6, %159) : (tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x8xf32>, tensor<1x1x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    %161 = stablehlo.add %130#0, %160#0 : tensor<2x4x8xf32>
    %cst_38 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %162 = stablehlo.reduce(%161 init: %cst_38) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<8xf32>
    %163 = stablehlo.reshape %162 : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %cst_39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %164 = stablehlo.reduce(%163 init: %cst_39) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %165 = stablehlo.dot_general %161, %62, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<8x8xf32>
    %166 = stablehlo.transpose %165, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %167 = stablehlo.dot_general %161, %arg6, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %168 = stablehlo.reshape %167 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %169 = stablehlo.transpose %168, dims = [0, 2, 3, 1] : (tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
    %170 = stablehlo.dot_general %169, %35, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x4x4xf32>, tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
    %171 = stablehlo.dot_general %169, %59, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
    %172 = stablehlo.transpose %171, dims = [0, 3, 1, 2] : (tensor<2x2x4x4xf32>) -> tensor<2x4x2x4xf32>
    %173 = call @_where_14(%56, %170) : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
    %cst_40 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %174 = stablehlo.broadcast_in_dim %cst_40, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %175 = stablehlo.divide %173, %174 : tensor<2x2x4x4xf32>
    %176 = stablehlo.broadcast_in_dim %55, dims = [0, 1, 2, 3] : (tensor<2x2x4x1xf32>) -> tensor<2x2x4x4xf32>
    %177 = stablehlo.multiply %175, %176 : tensor<2x2x4x4xf32>
    %178 = stablehlo.multiply %177, %48 : tensor<2x2x4x4xf32>
    %cst_41 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %179 = stablehlo.reduce(%178 init: %cst_41) applies stablehlo.add across dimensions = [3] : (tensor<2x2x4x4xf32>, tensor<f32>) -> tensor<2x2x4xf32>
    %180 = stablehlo.reshape %179 : (tensor<2x2x4xf32>) -> tensor<2x2x4x1xf32>
    %181 = stablehlo.negate %180 : tensor<2x2x4x1xf32>
    %182 = stablehlo.broadcast_in_dim %50, dims = [0, 1, 2, 3] : (tensor<2x2x4x1xf32>) -> tensor<2x2x4x4xf32>
    %183 = stablehlo.divide %175, %182 : tensor<2x2x4x4xf32>
    %cst_42 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %184 = stablehlo.reduce(%181 init: %cst_42) applies stablehlo.add across dimensions = [3] : (tensor<2x2x4x1xf32>, tensor<f32>) -> tensor<2x2x4xf32>
    %185 = stablehlo.broadcast_in_dim %184, dims = [0, 1, 2] : (tensor<2x2x4xf32>) -> tensor<2x2x4x4xf32>
    %186 = stablehlo.add %183, %185 : tensor<2x2x4x4xf32>
    %187 = stablehlo.multiply %186, %48 : tensor<2x2x4x4xf32>
    %188 = call @_where_15(%41#1, %187) : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
    %189 = stablehlo.broadcast_in_dim %38, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %190 = stablehlo.divide %188, %189 : tensor<2x2x4x4xf32>
    %191 = stablehlo.dot_general %190, %29, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x2x4x4xf32>, tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
    %192 = stablehlo.transpose %191, dims = [0, 2, 1, 3] : (tensor<2x2x4x4xf32>) -> tensor<2x4x2x4xf32>
    %193 = stablehlo.dot_general %190, %32, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x2x4x4xf32>, tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
    %194 = stablehlo.transpose %193, dims = [0, 2, 1, 3] : (tensor<2x2x4x4xf32>) -> tensor<2x4x2x4xf32>
    %195 = stablehlo.reshape %172 : (tensor<2x4x2x4xf32>) -> tensor<2x4x8xf32>
    %196 = stablehlo.broadcast_in_dim %195, dims = [1, 2, 3] : (tensor<2x4x8xf32>) -> tensor<1x2x4x8xf32>
    %cst_43 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %197 = stablehlo.pad %196, %cst_43, low = [2, 0, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x2x4x8xf32>, tensor<f32>) -> tensor<3x2x4x8xf32>
    %198 = stablehlo.reshape %192 : (tensor<2x4x2x4xf32>) -> tensor<2x4x8xf32>
    %199 = stablehlo.broadcast_in_dim %198, dims = [1, 2, 3] : (tensor<2x4x8xf32>) -> tensor<1x2x4x8xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %200 = stablehlo.pad %199, %cst_44, low = [1, 0, 0, 0], high = [1, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x2x4x8xf32>, tensor<f32>) -> tensor<3x2x4x8xf32>
    %201 = stablehlo.add %197, %200 : tensor<3x2x4x8xf32>
    %202 = stablehlo.reshape %194 : (tensor<2x4x2x4xf32>) -> tensor<2x4x8xf32>
    %203 = stablehlo.broadcast_in_dim %202, dims = [1, 2, 3] : (tensor<2x4x8xf32>) -> tensor<1x2x4x8xf32>
    %cst_45 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %204 = stablehlo.pad %203, %cst_45, low = [0, 0, 0, 0], high = [2, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x2x4x8xf32>, tensor<f32>) -> tensor<3x2x4x8xf32>
    %205 = stablehlo.add %201, %204 : tensor<3x2x4x8xf32>
    %cst_46 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %206 = stablehlo.reduce(%205 init: %cst_46) applies stablehlo.add across dimensions = [1, 2] : (tensor<3x2x4x8xf32>, tensor<f32>) -> tensor<3x8xf32>
    %207 = stablehlo.reshape %206 : (tensor<3x8xf32>) -> tensor<3x1x1x8xf32>
    %cst_47 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %208 = stablehlo.reduce(%207 init: %cst_47) applies stablehlo.add across dimensions = [1, 2] : (tensor<3x1x1x8xf32>, tensor<f32>) -> tensor<3x8xf32>
    %209 = stablehlo.transpose %205, dims = [0, 3, 1, 2] : (tensor<3x2x4x8xf32>) -> tensor<3x8x2x4xf32>
    %210 = stablehlo.dot_general %209, %arg8, contracting_dims = [0, 1] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<3x8x2x4xf32>, tensor<8x3x8xf32>) -> tensor<2x4x8xf32>
    %211 = stablehlo.dot_general %209, %19#0, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<3x8x2x4xf32>, tensor<2x4x8xf32>) -> tensor<3x8x8xf32>
    %212 = stablehlo.transpose %211, dims = [2, 0, 1] : (tensor<3x8x8xf32>) -> tensor<8x3x8xf32>
    %213:3 = call @layer_norm_12(%19#1, %19#2, %19#3, %19#4, %19#5, %19#6, %210) : (tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x8xf32>, tensor<1x1x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    %214 = stablehlo.add %161, %213#0 : tensor<2x4x8xf32>
    %215 = call @_where_13(%11, %214) : (tensor<2x4x8xi1>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %cst_48 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %216 = stablehlo.broadcast_in_dim %cst_48, dims = [] : (tensor<f32>) -> tensor<2x4x8xf32>
    %217 = stablehlo.divide %215, %216 : tensor<2x4x8xf32>
    %cst_49 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %218 = stablehlo.reduce(%217 init: %cst_49) applies stablehlo.add across dimensions = [0] : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %219 = stablehlo.reshape %218 : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
    %cst_50 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %220 = stablehlo.reduce(%219 init: %cst_50) applies stablehlo.add across dimensions = [0] : (tensor<1x4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %cst_51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %221 = stablehlo.broadcast_in_dim %cst_51, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %222 = "stablehlo.scatter"(%221, %6, %217) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg51: tensor<f32>, %arg52: tensor<f32>):
      %293 = stablehlo.add %arg51, %arg52 : tensor<f32>
      stablehlo.return %293 : tensor<f32>
    }) : (tensor<16x8xf32>, tensor<2x4x1xi32>, tensor<2x4x8xf32>) -> tensor<16x8xf32>
    %223 = stablehlo.add %129, %222 : tensor<16x8xf32>
    %224 = stablehlo.reshape %138 : (tensor<16x8xf32>) -> tensor<128xf32>
    %225 = stablehlo.reshape %138 : (tensor<16x8xf32>) -> tensor<128xf32>
    %226 = stablehlo.dot_general %224, %225, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128xf32>, tensor<128xf32>) -> tensor<f32>
    %cst_52 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %227 = stablehlo.add %cst_52, %226 : tensor<f32>
    %228 = stablehlo.dot_general %136, %136, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %229 = stablehlo.add %227, %228 : tensor<f32>
    %230 = stablehlo.dot_general %213#1, %213#1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %231 = stablehlo.add %229, %230 : tensor<f32>
    %232 = stablehlo.dot_general %213#2, %213#2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %233 = stablehlo.add %231, %232 : tensor<f32>
    %234 = stablehlo.dot_general %160#1, %160#1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %235 = stablehlo.add %233, %234 : tensor<f32>
    %236 = stablehlo.dot_general %160#2, %160#2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %237 = stablehlo.add %235, %236 : tensor<f32>
    %238 = stablehlo.reshape %166 : (tensor<8x8xf32>) -> tensor<64xf32>
    %239 = stablehlo.reshape %166 : (tensor<8x8xf32>) -> tensor<64xf32>
    %240 = stablehlo.dot_general %238, %239, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64xf32>, tensor<64xf32>) -> tensor<f32>
    %241 = stablehlo.add %237, %240 : tensor<f32>
    %242 = stablehlo.dot_general %164, %164, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %243 = stablehlo.add %241, %242 : tensor<f32>
    %244 = stablehlo.reshape %212 : (tensor<8x3x8xf32>) -> tensor<192xf32>
    %245 = stablehlo.reshape %212 : (tensor<8x3x8xf32>) -> tensor<192xf32>
    %246 = stablehlo.dot_general %244, %245, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<192xf32>, tensor<192xf32>) -> tensor<f32>
    %247 = stablehlo.add %243, %246 : tensor<f32>
    %248 = stablehlo.reshape %208 : (tensor<3x8xf32>) -> tensor<24xf32>
    %249 = stablehlo.reshape %208 : (tensor<3x8xf32>) -> tensor<24xf32>
    %250 = stablehlo.dot_general %248, %249, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24xf32>, tensor<24xf32>) -> tensor<f32>
    %251 = stablehlo.add %247, %250 : tensor<f32>
    %252 = stablehlo.reshape %158 : (tensor<8x16xf32>) -> tensor<128xf32>
    %253 = stablehlo.reshape %158 : (tensor<8x16xf32>) -> tensor<128xf32>
    %254 = stablehlo.dot_general %252, %253, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128xf32>, tensor<128xf32>) -> tensor<f32>
    %255 = stablehlo.add %251, %254 : tensor<f32>
    %256 = stablehlo.dot_general %156, %156, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16xf32>, tensor<16xf32>) -> tensor<f32>
    %257 = stablehlo.add %255, %256 : tensor<f32>
    %258 = stablehlo.dot_general %130#1, %130#1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %259 = stablehlo.add %257, %258 : tensor<f32>
    %260 = stablehlo.dot_general %130#2, %130#2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %261 = stablehlo.add %259, %260 : tensor<f32>
    %262 = stablehlo.reshape %220 : (tensor<4x8xf32>) -> tensor<32xf32>
    %263 = stablehlo.reshape %220 : (tensor<4x8xf32>) -> tensor<32xf32>
    %264 = stablehlo.dot_general %262, %263, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32xf32>, tensor<32xf32>) -> tensor<f32>
    %265 = stablehlo.add %261, %264 : tensor<f32>
    %266 = stablehlo.reshape %223 : (tensor<16x8xf32>) -> tensor<128xf32>
    %267 = stablehlo.reshape %223 : (tensor<16x8xf32>) -> tensor<128xf32>
    %268 = stablehlo.dot_general %266, %267, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128xf32>, tensor<128xf32>) -> tensor<f32>
    %269 = stablehlo.add %265, %268 : tensor<f32>
    %270 = stablehlo.sqrt %269 : tensor<f32>
    %cst_53 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %271 = stablehlo.add %270, %cst_53 : tensor<f32>
    %cst_54 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %272 = stablehlo.divide %cst_54, %271 : tensor<f32>
    %cst_55 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %273 = stablehlo.minimum %cst_55, %272 : tensor<f32>
    %cst_56 = stablehlo.constant dense<1.000000e+01> : tensor<f32>
    %274 = stablehlo.divide %0, %cst_56 : tensor<f32>
    %cst_57 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %275 = stablehlo.minimum %cst_57, %274 : tensor<f32>
    %cst_58 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %276 = stablehlo.multiply %cst_58, %275 : tensor<f32>
    %277:3 = call @adamw(%arg0, %138, %arg16, %arg32, %273, %0, %276) : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>)
    %278:3 = call @adamw_16(%arg1, %136, %arg17, %arg33, %273, %0, %276) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %279:3 = call @adamw_16(%arg2, %213#1, %arg18, %arg34, %273, %0, %276) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %280:3 = call @adamw_16(%arg3, %213#2, %arg19, %arg35, %273, %0, %276) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %281:3 = call @adamw_16(%arg4, %160#1, %arg20, %arg36, %273, %0, %276) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %282:3 = call @adamw_16(%arg5, %160#2, %arg21, %arg37, %273, %0, %276) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %283:3 = call @adamw_17(%arg6, %166, %arg22, %arg38, %273, %0, %276) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>)
    %284:3 = call @adamw_16(%arg7, %164, %arg23, %arg39, %273, %0, %276) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %285:3 = call @adamw_18(%arg8, %212, %arg24, %arg40, %273, %0, %276) : (tensor<8x3x8xf32>, tensor<8x3x8xf32>, tensor<8x3x8xf32>, tensor<8x3x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x3x8xf32>, tensor<8x3x8xf32>, tensor<8x3x8xf32>)
    %286:3 = call @adamw_19(%arg9, %208, %arg25, %arg41, %273, %0, %276) : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>)
    %287:3 = call @adamw_20(%arg10, %158, %arg26, %arg42, %273, %0, %276) : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
    %288:3 = call @adamw_21(%arg11, %156, %arg27, %arg43, %273, %0, %276) : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
    %289:3 = call @adamw_16(%arg12, %130#1, %arg28, %arg44, %273, %0, %276) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %290:3 = call @adamw_16(%arg13, %130#2, %arg29, %arg45, %273, %0, %276) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %291:3 = call @adamw_22(%arg14, %220, %arg30, %arg46, %273, %0, %276) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
    %292:3 = call @adamw(%arg15, %223, %arg31, %arg47, %273, %0, %276) : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>)
    return %277#0, %278#0, %279#0, %280#0, %281#0, %282#0, %283#0, %284#0, %285#0, %286#0, %287#0, %288#0, %289#0, %290#0, %291#0, %292#0, %277#1, %278#1, %279#1, %280#1, %281#1, %282#1, %283#1, %284#1, %285#1, %286#1, %287#1, %288#1, %289#1, %290#1, %291#1, %292#1, %277#2, %278#2, %279#2, %280#2, %281#2, %282#2, %283#2, %284#2, %285#2, %286#2, %287#2, %288#2, %289#2, %290#2, %291#2, %292#2, %0, %117, %270 : tensor<16x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x3x8xf32>, tensor<3x8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x3x8xf32>, tensor<3x8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x3x8xf32>, tensor<3x8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<8xf32>, tensor<8xf32>, tensor<4x8xf32>, tensor<16x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>
  }
  func.func private @_bernoulli(%arg0: tensor<2xui32>, %arg1: tensor<f32>) -> tensor<2x4x8xi1> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = call @_uniform(%arg0, %cst, %cst_0) : (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<2x4x8xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<2x4x8xf32>
    %2 = stablehlo.compare LT, %0, %1, FLOAT : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xi1>
    return %2 : tensor<2x4x8xi1>
  }
  func.func private @_uniform(%arg0: tensor<2xui32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<2x4x8xf32> {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.convert %arg2 : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<1x1x1xf32>
    %4 = stablehlo.slice %arg0 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %5 = stablehlo.reshape %4 : (tensor<1xui32>) -> tensor<ui32>
    %6 = stablehlo.slice %arg0 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %7 = stablehlo.reshape %6 : (tensor<1xui32>) -> tensor<ui32>
    %8 = stablehlo.iota dim = 0 : tensor<2x4x8xui64>
    %9 = stablehlo.iota dim = 1 : tensor<2x4x8xui64>
    %10 = stablehlo.iota dim = 2 : tensor<2x4x8xui64>
    %c = stablehlo.constant dense<32> : tensor<ui64>
    %11 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui64>) -> tensor<2x4x8xui64>
    %12 = stablehlo.multiply %11, %8 : tensor<2x4x8xui64>
    %c_0 = stablehlo.constant dense<8> : tensor<ui64>
    %13 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui64>) -> tensor<2x4x8xui64>
    %14 = stablehlo.multiply %13, %9 : tensor<2x4x8xui64>
    %c_1 = stablehlo.constant dense<1> : tensor<ui64>
    %15 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<ui64>) -> tensor<2x4x8xui64>
    %16 = stablehlo.multiply %15, %10 : tensor<2x4x8xui64>
    %17 = stablehlo.add %12, %14 : tensor<2x4x8xui64>
    %18 = stablehlo.add %17, %16 : tensor<2x4x8xui64>
    %c_2 = stablehlo.constant dense<32> : tensor<ui64>
    %19 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui64>) -> tensor<2x4x8xui64>
    %20 = stablehlo.shift_right_logical %18, %19 : tensor<2x4x8xui64>
    %21 = stablehlo.convert %18 : (tensor<2x4x8xui64>) -> tensor<2x4x8xui32>
    %22 = stablehlo.convert %20 : (tensor<2x4x8xui64>) -> tensor<2x4x8xui32>
    %23:2 = call @threefry2x32(%5, %7, %22, %21) : (tensor<ui32>, tensor<ui32>, tensor<2x4x8xui32>, tensor<2x4x8xui32>) -> (tensor<2x4x8xui32>, tensor<2x4x8xui32>)
    %24 = stablehlo.xor %23#0, %23#1 : tensor<2x4x8xui32>
    %c_3 = stablehlo.constant dense<9> : tensor<ui32>
    %25 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %26 = stablehlo.shift_right_logical %24, %25 : tensor<2x4x8xui32>
    %c_4 = stablehlo.constant dense<1065353216> : tensor<ui32>
    %27 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %28 = stablehlo.or %26, %27 : tensor<2x4x8xui32>
    %29 = stablehlo.bitcast_convert %28 : (tensor<2x4x8xui32>) -> tensor<2x4x8xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %30 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x8xf32>
    %31 = stablehlo.subtract %29, %30 : tensor<2x4x8xf32>
    %32 = stablehlo.subtract %3, %2 : tensor<1x1x1xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<2x4x8xf32>
    %34 = stablehlo.multiply %31, %33 : tensor<2x4x8xf32>
    %35 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<2x4x8xf32>
    %36 = stablehlo.add %34, %35 : tensor<2x4x8xf32>
    %37 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<2x4x8xf32>
    %38 = stablehlo.maximum %37, %36 : tensor<2x4x8xf32>
    return %38 : tensor<2x4x8xf32>
  }
  func.func private @threefry2x32(%arg0: tensor<ui32>, %arg1: tensor<ui32>, %arg2: tensor<2x4x8xui32>, %arg3: tensor<2x4x8xui32>) -> (tensor<2x4x8xui32>, tensor<2x4x8xui32>) {
    %c = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
    %c_0 = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
    %0 = stablehlo.xor %arg0, %arg1 : tensor<ui32>
    %c_1 = stablehlo.constant dense<466688986> : tensor<ui32>
    %1 = stablehlo.xor %0, %c_1 : tensor<ui32>
    %2 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %3 = stablehlo.add %arg2, %2 : tensor<2x4x8xui32>
    %4 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %5 = stablehlo.add %arg3, %4 : tensor<2x4x8xui32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %6:9 = stablehlo.while(%iterArg = %c_3, %iterArg_4 = %c_2, %iterArg_5 = %3, %iterArg_6 = %5, %iterArg_7 = %arg1, %iterArg_8 = %1, %iterArg_9 = %arg0, %iterArg_10 = %c, %iterArg_11 = %c_0) : tensor<i32>, tensor<i32>, tensor<2x4x8xui32>, tensor<2x4x8xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    cond {
      %c_12 = stablehlo.constant dense<5> : tensor<i32>
      %7 = stablehlo.compare LT, %iterArg, %c_12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %7:8 = func.call @closed_call(%iterArg_4, %iterArg_5, %iterArg_6, %iterArg_7, %iterArg_8, %iterArg_9, %iterArg_10, %iterArg_11) : (tensor<i32>, tensor<2x4x8xui32>, tensor<2x4x8xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<2x4x8xui32>, tensor<2x4x8xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %c_12 = stablehlo.constant dense<1> : tensor<i32>
      %8 = stablehlo.add %iterArg, %c_12 : tensor<i32>
      stablehlo.return %8, %7#0, %7#1, %7#2, %7#3, %7#4, %7#5, %7#6, %7#7 : tensor<i32>, tensor<i32>, tensor<2x4x8xui32>, tensor<2x4x8xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    }
    return %6#2, %6#3 : tensor<2x4x8xui32>, tensor<2x4x8xui32>
  }
  func.func private @closed_call(%arg0: tensor<i32>, %arg1: tensor<2x4x8xui32>, %arg2: tensor<2x4x8xui32>, %arg3: tensor<ui32>, %arg4: tensor<ui32>, %arg5: tensor<ui32>, %arg6: tensor<4xui32>, %arg7: tensor<4xui32>) -> (tensor<i32>, tensor<2x4x8xui32>, tensor<2x4x8xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg0, %c : tensor<i32>
    %1 = stablehlo.slice %arg6 [0:1] : (tensor<4xui32>) -> tensor<1xui32>
    %2 = stablehlo.reshape %1 : (tensor<1xui32>) -> tensor<ui32>
    %3 = stablehlo.add %arg1, %arg2 : tensor<2x4x8xui32>
    %4 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %5 = stablehlo.shift_left %arg2, %4 : tensor<2x4x8xui32>
    %c_0 = stablehlo.constant dense<32> : tensor<ui32>
    %6 = stablehlo.subtract %c_0, %2 : tensor<ui32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %8 = stablehlo.shift_right_logical %arg2, %7 : tensor<2x4x8xui32>
    %9 = stablehlo.or %5, %8 : tensor<2x4x8xui32>
    %10 = stablehlo.xor %3, %9 : tensor<2x4x8xui32>
    %11 = stablehlo.slice %arg6 [1:2] : (tensor<4xui32>) -> tensor<1xui32>
    %12 = stablehlo.reshape %11 : (tensor<1xui32>) -> tensor<ui32>
    %13 = stablehlo.add %3, %10 : tensor<2x4x8xui32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %15 = stablehlo.shift_left %10, %14 : tensor<2x4x8xui32>
    %c_1 = stablehlo.constant dense<32> : tensor<ui32>
    %16 = stablehlo.subtract %c_1, %12 : tensor<ui32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %18 = stablehlo.shift_right_logical %10, %17 : tensor<2x4x8xui32>
    %19 = stablehlo.or %15, %18 : tensor<2x4x8xui32>
    %20 = stablehlo.xor %13, %19 : tensor<2x4x8xui32>
    %21 = stablehlo.slice %arg6 [2:3] : (tensor<4xui32>) -> tensor<1xui32>
    %22 = stablehlo.reshape %21 : (tensor<1xui32>) -> tensor<ui32>
    %23 = stablehlo.add %13, %20 : tensor<2x4x8xui32>
    %24 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %25 = stablehlo.shift_left %20, %24 : tensor<2x4x8xui32>
    %c_2 = stablehlo.constant dense<32> : tensor<ui32>
    %26 = stablehlo.subtract %c_2, %22 : tensor<ui32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %28 = stablehlo.shift_right_logical %20, %27 : tensor<2x4x8xui32>
    %29 = stablehlo.or %25, %28 : tensor<2x4x8xui32>
    %30 = stablehlo.xor %23, %29 : tensor<2x4x8xui32>
    %31 = stablehlo.slice %arg6 [3:4] : (tensor<4xui32>) -> tensor<1xui32>
    %32 = stablehlo.reshape %31 : (tensor<1xui32>) -> tensor<ui32>
    %33 = stablehlo.add %23, %30 : tensor<2x4x8xui32>
    %34 = stablehlo.broadcast_in_dim %32, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %35 = stablehlo.shift_left %30, %34 : tensor<2x4x8xui32>
    %c_3 = stablehlo.constant dense<32> : tensor<ui32>
    %36 = stablehlo.subtract %c_3, %32 : tensor<ui32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %38 = stablehlo.shift_right_logical %30, %37 : tensor<2x4x8xui32>
    %39 = stablehlo.or %35, %38 : tensor<2x4x8xui32>
    %40 = stablehlo.xor %33, %39 : tensor<2x4x8xui32>
    %41 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %42 = stablehlo.add %33, %41 : tensor<2x4x8xui32>
    %43 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %44 = stablehlo.add %40, %43 : tensor<2x4x8xui32>
    %c_4 = stablehlo.constant dense<1> : tensor<i32>
    %45 = stablehlo.add %arg0, %c_4 : tensor<i32>
    %46 = stablehlo.convert %45 : (tensor<i32>) -> tensor<ui32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [] : (tensor<ui32>) -> tensor<2x4x8xui32>
    %48 = stablehlo.add %44, %47 : tensor<2x4x8xui32>
    return %0, %42, %48, %arg4, %arg5, %arg3, %arg7, %arg6 : tensor<i32>, tensor<2x4x8xui32>, tensor<2x4x8xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
  }
  func.func private @_where(%arg0: tensor<2x4x8xi1>, %arg1: tensor<2x4x8xf32>, %arg2: tensor<f32>) -> tensor<2x4x8xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x4x8xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<2x4x8xi1>, tensor<2x4x8xf32>
    return %2 : tensor<2x4x8xf32>
  }
  func.func private @tril(%arg0: tensor<4x4xi1>) -> tensor<4x4xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x4xi32>
    %2 = stablehlo.add %0, %1 : tensor<4x4xi32>
    %3 = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<4x4xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<4x4xi1>, tensor<4x4xi1>
    return %6 : tensor<4x4xi1>
  }
  func.func private @_threefry_fold_in(%arg0: tensor<2xui32>, %arg1: tensor<ui32>) -> tensor<2xui32> {
    %c = stablehlo.constant dense<32> : tensor<ui32>
    %0 = stablehlo.shift_right_logical %arg1, %c : tensor<ui32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %c_0 = stablehlo.constant dense<4294967295> : tensor<ui32>
    %2 = stablehlo.and %arg1, %c_0 : tensor<ui32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %4 = stablehlo.concatenate %1, %3, dim = 0 : (tensor<1xui32>, tensor<1xui32>) -> tensor<2xui32>
    %5 = stablehlo.slice %arg0 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %6 = stablehlo.reshape %5 : (tensor<1xui32>) -> tensor<ui32>
    %7 = stablehlo.slice %arg0 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %8 = stablehlo.reshape %7 : (tensor<1xui32>) -> tensor<ui32>
    %9 = stablehlo.slice %4 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %10 = stablehlo.slice %4 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %11:2 = call @threefry2x32_0(%6, %8, %9, %10) : (tensor<ui32>, tensor<ui32>, tensor<1xui32>, tensor<1xui32>) -> (tensor<1xui32>, tensor<1xui32>)
    %12 = stablehlo.concatenate %11#0, %11#1, dim = 0 : (tensor<1xui32>, tensor<1xui32>) -> tensor<2xui32>
    return %12 : tensor<2xui32>
  }
  func.func private @threefry2x32_0(%arg0: tensor<ui32>, %arg1: tensor<ui32>, %arg2: tensor<1xui32>, %arg3: tensor<1xui32>) -> (tensor<1xui32>, tensor<1xui32>) {
    %c = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
    %c_0 = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
    %0 = stablehlo.xor %arg0, %arg1 : tensor<ui32>
    %c_1 = stablehlo.constant dense<466688986> : tensor<ui32>
    %1 = stablehlo.xor %0, %c_1 : tensor<ui32>
    %2 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %3 = stablehlo.add %arg2, %2 : tensor<1xui32>
    %4 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %5 = stablehlo.add %arg3, %4 : tensor<1xui32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %6:9 = stablehlo.while(%iterArg = %c_3, %iterArg_4 = %c_2, %iterArg_5 = %3, %iterArg_6 = %5, %iterArg_7 = %arg1, %iterArg_8 = %1, %iterArg_9 = %arg0, %iterArg_10 = %c, %iterArg_11 = %c_0) : tensor<i32>, tensor<i32>, tensor<1xui32>, tensor<1xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    cond {
      %c_12 = stablehlo.constant dense<5> : tensor<i32>
      %7 = stablehlo.compare LT, %iterArg, %c_12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %7:8 = func.call @closed_call_1(%iterArg_4, %iterArg_5, %iterArg_6, %iterArg_7, %iterArg_8, %iterArg_9, %iterArg_10, %iterArg_11) : (tensor<i32>, tensor<1xui32>, tensor<1xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<1xui32>, tensor<1xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %c_12 = stablehlo.constant dense<1> : tensor<i32>
      %8 = stablehlo.add %iterArg, %c_12 : tensor<i32>
      stablehlo.return %8, %7#0, %7#1, %7#2, %7#3, %7#4, %7#5, %7#6, %7#7 : tensor<i32>, tensor<i32>, tensor<1xui32>, tensor<1xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    }
    return %6#2, %6#3 : tensor<1xui32>, tensor<1xui32>
  }
  func.func private @closed_call_1(%arg0: tensor<i32>, %arg1: tensor<1xui32>, %arg2: tensor<1xui32>, %arg3: tensor<ui32>, %arg4: tensor<ui32>, %arg5: tensor<ui32>, %arg6: tensor<4xui32>, %arg7: tensor<4xui32>) -> (tensor<i32>, tensor<1xui32>, tensor<1xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg0, %c : tensor<i32>
    %1 = stablehlo.slice %arg6 [0:1] : (tensor<4xui32>) -> tensor<1xui32>
    %2 = stablehlo.reshape %1 : (tensor<1xui32>) -> tensor<ui32>
    %3 = stablehlo.add %arg1, %arg2 : tensor<1xui32>
    %4 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %5 = stablehlo.shift_left %arg2, %4 : tensor<1xui32>
    %c_0 = stablehlo.constant dense<32> : tensor<ui32>
    %6 = stablehlo.subtract %c_0, %2 : tensor<ui32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %8 = stablehlo.shift_right_logical %arg2, %7 : tensor<1xui32>
    %9 = stablehlo.or %5, %8 : tensor<1xui32>
    %10 = stablehlo.xor %3, %9 : tensor<1xui32>
    %11 = stablehlo.slice %arg6 [1:2] : (tensor<4xui32>) -> tensor<1xui32>
    %12 = stablehlo.reshape %11 : (tensor<1xui32>) -> tensor<ui32>
    %13 = stablehlo.add %3, %10 : tensor<1xui32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %15 = stablehlo.shift_left %10, %14 : tensor<1xui32>
    %c_1 = stablehlo.constant dense<32> : tensor<ui32>
    %16 = stablehlo.subtract %c_1, %12 : tensor<ui32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %18 = stablehlo.shift_right_logical %10, %17 : tensor<1xui32>
    %19 = stablehlo.or %15, %18 : tensor<1xui32>
    %20 = stablehlo.xor %13, %19 : tensor<1xui32>
    %21 = stablehlo.slice %arg6 [2:3] : (tensor<4xui32>) -> tensor<1xui32>
    %22 = stablehlo.reshape %21 : (tensor<1xui32>) -> tensor<ui32>
    %23 = stablehlo.add %13, %20 : tensor<1xui32>
    %24 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %25 = stablehlo.shift_left %20, %24 : tensor<1xui32>
    %c_2 = stablehlo.constant dense<32> : tensor<ui32>
    %26 = stablehlo.subtract %c_2, %22 : tensor<ui32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %28 = stablehlo.shift_right_logical %20, %27 : tensor<1xui32>
    %29 = stablehlo.or %25, %28 : tensor<1xui32>
    %30 = stablehlo.xor %23, %29 : tensor<1xui32>
    %31 = stablehlo.slice %arg6 [3:4] : (tensor<4xui32>) -> tensor<1xui32>
    %32 = stablehlo.reshape %31 : (tensor<1xui32>) -> tensor<ui32>
    %33 = stablehlo.add %23, %30 : tensor<1xui32>
    %34 = stablehlo.broadcast_in_dim %32, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %35 = stablehlo.shift_left %30, %34 : tensor<1xui32>
    %c_3 = stablehlo.constant dense<32> : tensor<ui32>
    %36 = stablehlo.subtract %c_3, %32 : tensor<ui32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %38 = stablehlo.shift_right_logical %30, %37 : tensor<1xui32>
    %39 = stablehlo.or %35, %38 : tensor<1xui32>
    %40 = stablehlo.xor %33, %39 : tensor<1xui32>
    %41 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %42 = stablehlo.add %33, %41 : tensor<1xui32>
    %43 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %44 = stablehlo.add %40, %43 : tensor<1xui32>
    %c_4 = stablehlo.constant dense<1> : tensor<i32>
    %45 = stablehlo.add %arg0, %c_4 : tensor<i32>
    %46 = stablehlo.convert %45 : (tensor<i32>) -> tensor<ui32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [] : (tensor<ui32>) -> tensor<1xui32>
    %48 = stablehlo.add %44, %47 : tensor<1xui32>
    return %0, %42, %48, %arg4, %arg5, %arg3, %arg7, %arg6 : tensor<i32>, tensor<1xui32>, tensor<1xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
  }
  func.func private @_threefry_split(%arg0: tensor<2xui32>) -> tensor<2x2xui32> {
    %0 = stablehlo.slice %arg0 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %1 = stablehlo.reshape %0 : (tensor<1xui32>) -> tensor<ui32>
    %2 = stablehlo.slice %arg0 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %3 = stablehlo.reshape %2 : (tensor<1xui32>) -> tensor<ui32>
    %4 = stablehlo.iota dim = 0 : tensor<2xui64>
    %c = stablehlo.constant dense<1> : tensor<ui64>
    %5 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui64>) -> tensor<2xui64>
    %6 = stablehlo.multiply %5, %4 : tensor<2xui64>
    %c_0 = stablehlo.constant dense<32> : tensor<ui64>
    %7 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui64>) -> tensor<2xui64>
    %8 = stablehlo.shift_right_logical %6, %7 : tensor<2xui64>
    %9 = stablehlo.convert %6 : (tensor<2xui64>) -> tensor<2xui32>
    %10 = stablehlo.convert %8 : (tensor<2xui64>) -> tensor<2xui32>
    %11:2 = call @threefry2x32_2(%1, %3, %10, %9) : (tensor<ui32>, tensor<ui32>, tensor<2xui32>, tensor<2xui32>) -> (tensor<2xui32>, tensor<2xui32>)
    %12 = stablehlo.broadcast_in_dim %11#0, dims = [0] : (tensor<2xui32>) -> tensor<2x1xui32>
    %13 = stablehlo.broadcast_in_dim %11#1, dims = [0] : (tensor<2xui32>) -> tensor<2x1xui32>
    %14 = stablehlo.concatenate %12, %13, dim = 1 : (tensor<2x1xui32>, tensor<2x1xui32>) -> tensor<2x2xui32>
    return %14 : tensor<2x2xui32>
  }
  func.func private @threefry2x32_2(%arg0: tensor<ui32>, %arg1: tensor<ui32>, %arg2: tensor<2xui32>, %arg3: tensor<2xui32>) -> (tensor<2xui32>, tensor<2xui32>) {
    %c = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
    %c_0 = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
    %0 = stablehlo.xor %arg0, %arg1 : tensor<ui32>
    %c_1 = stablehlo.constant dense<466688986> : tensor<ui32>
    %1 = stablehlo.xor %0, %c_1 : tensor<ui32>
    %2 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %3 = stablehlo.add %arg2, %2 : tensor<2xui32>
    %4 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %5 = stablehlo.add %arg3, %4 : tensor<2xui32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %6:9 = stablehlo.while(%iterArg = %c_3, %iterArg_4 = %c_2, %iterArg_5 = %3, %iterArg_6 = %5, %iterArg_7 = %arg1, %iterArg_8 = %1, %iterArg_9 = %arg0, %iterArg_10 = %c, %iterArg_11 = %c_0) : tensor<i32>, tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    cond {
      %c_12 = stablehlo.constant dense<5> : tensor<i32>
      %7 = stablehlo.compare LT, %iterArg, %c_12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %7:8 = func.call @closed_call_3(%iterArg_4, %iterArg_5, %iterArg_6, %iterArg_7, %iterArg_8, %iterArg_9, %iterArg_10, %iterArg_11) : (tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %c_12 = stablehlo.constant dense<1> : tensor<i32>
      %8 = stablehlo.add %iterArg, %c_12 : tensor<i32>
      stablehlo.return %8, %7#0, %7#1, %7#2, %7#3, %7#4, %7#5, %7#6, %7#7 : tensor<i32>, tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    }
    return %6#2, %6#3 : tensor<2xui32>, tensor<2xui32>
  }
  func.func private @closed_call_3(%arg0: tensor<i32>, %arg1: tensor<2xui32>, %arg2: tensor<2xui32>, %arg3: tensor<ui32>, %arg4: tensor<ui32>, %arg5: tensor<ui32>, %arg6: tensor<4xui32>, %arg7: tensor<4xui32>) -> (tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg0, %c : tensor<i32>
    %1 = stablehlo.slice %arg6 [0:1] : (tensor<4xui32>) -> tensor<1xui32>
    %2 = stablehlo.reshape %1 : (tensor<1xui32>) -> tensor<ui32>
    %3 = stablehlo.add %arg1, %arg2 : tensor<2xui32>
    %4 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %5 = stablehlo.shift_left %arg2, %4 : tensor<2xui32>
    %c_0 = stablehlo.constant dense<32> : tensor<ui32>
    %6 = stablehlo.subtract %c_0, %2 : tensor<ui32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %8 = stablehlo.shift_right_logical %arg2, %7 : tensor<2xui32>
    %9 = stablehlo.or %5, %8 : tensor<2xui32>
    %10 = stablehlo.xor %3, %9 : tensor<2xui32>
    %11 = stablehlo.slice %arg6 [1:2] : (tensor<4xui32>) -> tensor<1xui32>
    %12 = stablehlo.reshape %11 : (tensor<1xui32>) -> tensor<ui32>
    %13 = stablehlo.add %3, %10 : tensor<2xui32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %15 = stablehlo.shift_left %10, %14 : tensor<2xui32>
    %c_1 = stablehlo.constant dense<32> : tensor<ui32>
    %16 = stablehlo.subtract %c_1, %12 : tensor<ui32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %18 = stablehlo.shift_right_logical %10, %17 : tensor<2xui32>
    %19 = stablehlo.or %15, %18 : tensor<2xui32>
    %20 = stablehlo.xor %13, %19 : tensor<2xui32>
    %21 = stablehlo.slice %arg6 [2:3] : (tensor<4xui32>) -> tensor<1xui32>
    %22 = stablehlo.reshape %21 : (tensor<1xui32>) -> tensor<ui32>
    %23 = stablehlo.add %13, %20 : tensor<2xui32>
    %24 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %25 = stablehlo.shift_left %20, %24 : tensor<2xui32>
    %c_2 = stablehlo.constant dense<32> : tensor<ui32>
    %26 = stablehlo.subtract %c_2, %22 : tensor<ui32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %28 = stablehlo.shift_right_logical %20, %27 : tensor<2xui32>
    %29 = stablehlo.or %25, %28 : tensor<2xui32>
    %30 = stablehlo.xor %23, %29 : tensor<2xui32>
    %31 = stablehlo.slice %arg6 [3:4] : (tensor<4xui32>) -> tensor<1xui32>
    %32 = stablehlo.reshape %31 : (tensor<1xui32>) -> tensor<ui32>
    %33 = stablehlo.add %23, %30 : tensor<2xui32>
    %34 = stablehlo.broadcast_in_dim %32, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %35 = stablehlo.shift_left %30, %34 : tensor<2xui32>
    %c_3 = stablehlo.constant dense<32> : tensor<ui32>
    %36 = stablehlo.subtract %c_3, %32 : tensor<ui32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %38 = stablehlo.shift_right_logical %30, %37 : tensor<2xui32>
    %39 = stablehlo.or %35, %38 : tensor<2xui32>
    %40 = stablehlo.xor %33, %39 : tensor<2xui32>
    %41 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %42 = stablehlo.add %33, %41 : tensor<2xui32>
    %43 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %44 = stablehlo.add %40, %43 : tensor<2xui32>
    %c_4 = stablehlo.constant dense<1> : tensor<i32>
    %45 = stablehlo.add %arg0, %c_4 : tensor<i32>
    %46 = stablehlo.convert %45 : (tensor<i32>) -> tensor<ui32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [] : (tensor<ui32>) -> tensor<2xui32>
    %48 = stablehlo.add %44, %47 : tensor<2xui32>
    return %0, %42, %48, %arg4, %arg5, %arg3, %arg7, %arg6 : tensor<i32>, tensor<2xui32>, tensor<2xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
  }
  func.func private @layer_norm(%arg0: tensor<2x4x8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x8xf32>, tensor<1x1x8xf32>, tensor<2x4x8xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x1xf32>
    %cst_0 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4x1xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x4x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x4x8xf32>
    %6 = chlo.square %5 : tensor<2x4x8xf32> -> tensor<2x4x8xf32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x4x8xf32>
    %8 = stablehlo.multiply %7, %5 : tensor<2x4x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %9 = stablehlo.reduce(%6 init: %cst_2) applies stablehlo.add across dimensions = [2] : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x1xf32>
    %cst_3 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<2x4x1xf32>
    %12 = stablehlo.divide %10, %11 : tensor<2x4x1xf32>
    %13 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %14 = stablehlo.subtract %arg0, %13 : tensor<2x4x8xf32>
    %cst_4 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x4x1xf32>
    %16 = stablehlo.add %12, %15 : tensor<2x4x1xf32>
    %17 = stablehlo.rsqrt %16 : tensor<2x4x1xf32>
    %18 = stablehlo.divide %17, %16 : tensor<2x4x1xf32>
    %cst_5 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x4x1xf32>
    %20 = stablehlo.multiply %19, %18 : tensor<2x4x1xf32>
    %21 = stablehlo.broadcast_in_dim %17, dims = [0, 1, 2] : (tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %22 = stablehlo.multiply %14, %21 : tensor<2x4x8xf32>
    %23 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2] : (tensor<1x1x8xf32>) -> tensor<2x4x8xf32>
    %25 = stablehlo.multiply %22, %24 : tensor<2x4x8xf32>
    %26 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [0, 1, 2] : (tensor<1x1x8xf32>) -> tensor<2x4x8xf32>
    %28 = stablehlo.add %25, %27 : tensor<2x4x8xf32>
    return %28, %8, %20, %17, %14, %23, %22 : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x8xf32>, tensor<1x1x8xf32>, tensor<2x4x8xf32>
  }
  func.func private @_where_4(%arg0: tensor<4x4xi1>, %arg1: tensor<2x2x4x4xf32>, %arg2: tensor<f32>) -> (tensor<2x2x4x4xf32>, tensor<2x2x4x4xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<4x4xi1>) -> tensor<2x2x4x4xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>
    return %3, %1 : tensor<2x2x4x4xf32>, tensor<2x2x4x4xi1>
  }
  func.func private @_bernoulli_5(%arg0: tensor<2xui32>, %arg1: tensor<f32>) -> tensor<2x2x4x4xi1> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = call @_uniform_6(%arg0, %cst, %cst_0) : (tensor<2xui32>, tensor<f32>, tensor<f32>) -> tensor<2x2x4x4xf32>
    %1 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %2 = stablehlo.compare LT, %0, %1, FLOAT : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xi1>
    return %2 : tensor<2x2x4x4xi1>
  }
  func.func private @_uniform_6(%arg0: tensor<2xui32>, %arg1: tensor<f32>, %arg2: tensor<f32>) -> tensor<2x2x4x4xf32> {
    %0 = stablehlo.convert %arg1 : tensor<f32>
    %1 = stablehlo.convert %arg2 : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1x1x1x1xf32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<1x1x1x1xf32>
    %4 = stablehlo.slice %arg0 [0:1] : (tensor<2xui32>) -> tensor<1xui32>
    %5 = stablehlo.reshape %4 : (tensor<1xui32>) -> tensor<ui32>
    %6 = stablehlo.slice %arg0 [1:2] : (tensor<2xui32>) -> tensor<1xui32>
    %7 = stablehlo.reshape %6 : (tensor<1xui32>) -> tensor<ui32>
    %8 = stablehlo.iota dim = 0 : tensor<2x2x4x4xui64>
    %9 = stablehlo.iota dim = 1 : tensor<2x2x4x4xui64>
    %10 = stablehlo.iota dim = 2 : tensor<2x2x4x4xui64>
    %11 = stablehlo.iota dim = 3 : tensor<2x2x4x4xui64>
    %c = stablehlo.constant dense<32> : tensor<ui64>
    %12 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<ui64>) -> tensor<2x2x4x4xui64>
    %13 = stablehlo.multiply %12, %8 : tensor<2x2x4x4xui64>
    %c_0 = stablehlo.constant dense<16> : tensor<ui64>
    %14 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<ui64>) -> tensor<2x2x4x4xui64>
    %15 = stablehlo.multiply %14, %9 : tensor<2x2x4x4xui64>
    %c_1 = stablehlo.constant dense<4> : tensor<ui64>
    %16 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<ui64>) -> tensor<2x2x4x4xui64>
    %17 = stablehlo.multiply %16, %10 : tensor<2x2x4x4xui64>
    %c_2 = stablehlo.constant dense<1> : tensor<ui64>
    %18 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<ui64>) -> tensor<2x2x4x4xui64>
    %19 = stablehlo.multiply %18, %11 : tensor<2x2x4x4xui64>
    %20 = stablehlo.add %13, %15 : tensor<2x2x4x4xui64>
    %21 = stablehlo.add %20, %17 : tensor<2x2x4x4xui64>
    %22 = stablehlo.add %21, %19 : tensor<2x2x4x4xui64>
    %c_3 = stablehlo.constant dense<32> : tensor<ui64>
    %23 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<ui64>) -> tensor<2x2x4x4xui64>
    %24 = stablehlo.shift_right_logical %22, %23 : tensor<2x2x4x4xui64>
    %25 = stablehlo.convert %22 : (tensor<2x2x4x4xui64>) -> tensor<2x2x4x4xui32>
    %26 = stablehlo.convert %24 : (tensor<2x2x4x4xui64>) -> tensor<2x2x4x4xui32>
    %27:2 = call @threefry2x32_7(%5, %7, %26, %25) : (tensor<ui32>, tensor<ui32>, tensor<2x2x4x4xui32>, tensor<2x2x4x4xui32>) -> (tensor<2x2x4x4xui32>, tensor<2x2x4x4xui32>)
    %28 = stablehlo.xor %27#0, %27#1 : tensor<2x2x4x4xui32>
    %c_4 = stablehlo.constant dense<9> : tensor<ui32>
    %29 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %30 = stablehlo.shift_right_logical %28, %29 : tensor<2x2x4x4xui32>
    %c_5 = stablehlo.constant dense<1065353216> : tensor<ui32>
    %31 = stablehlo.broadcast_in_dim %c_5, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %32 = stablehlo.or %30, %31 : tensor<2x2x4x4xui32>
    %33 = stablehlo.bitcast_convert %32 : (tensor<2x2x4x4xui32>) -> tensor<2x2x4x4xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %34 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %35 = stablehlo.subtract %33, %34 : tensor<2x2x4x4xf32>
    %36 = stablehlo.subtract %3, %2 : tensor<1x1x1x1xf32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xf32>) -> tensor<2x2x4x4xf32>
    %38 = stablehlo.multiply %35, %37 : tensor<2x2x4x4xf32>
    %39 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xf32>) -> tensor<2x2x4x4xf32>
    %40 = stablehlo.add %38, %39 : tensor<2x2x4x4xf32>
    %41 = stablehlo.broadcast_in_dim %2, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xf32>) -> tensor<2x2x4x4xf32>
    %42 = stablehlo.maximum %41, %40 : tensor<2x2x4x4xf32>
    return %42 : tensor<2x2x4x4xf32>
  }
  func.func private @threefry2x32_7(%arg0: tensor<ui32>, %arg1: tensor<ui32>, %arg2: tensor<2x2x4x4xui32>, %arg3: tensor<2x2x4x4xui32>) -> (tensor<2x2x4x4xui32>, tensor<2x2x4x4xui32>) {
    %c = stablehlo.constant dense<[13, 15, 26, 6]> : tensor<4xui32>
    %c_0 = stablehlo.constant dense<[17, 29, 16, 24]> : tensor<4xui32>
    %0 = stablehlo.xor %arg0, %arg1 : tensor<ui32>
    %c_1 = stablehlo.constant dense<466688986> : tensor<ui32>
    %1 = stablehlo.xor %0, %c_1 : tensor<ui32>
    %2 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %3 = stablehlo.add %arg2, %2 : tensor<2x2x4x4xui32>
    %4 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %5 = stablehlo.add %arg3, %4 : tensor<2x2x4x4xui32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %6:9 = stablehlo.while(%iterArg = %c_3, %iterArg_4 = %c_2, %iterArg_5 = %3, %iterArg_6 = %5, %iterArg_7 = %arg1, %iterArg_8 = %1, %iterArg_9 = %arg0, %iterArg_10 = %c, %iterArg_11 = %c_0) : tensor<i32>, tensor<i32>, tensor<2x2x4x4xui32>, tensor<2x2x4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    cond {
      %c_12 = stablehlo.constant dense<5> : tensor<i32>
      %7 = stablehlo.compare LT, %iterArg, %c_12, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %7:8 = func.call @closed_call_8(%iterArg_4, %iterArg_5, %iterArg_6, %iterArg_7, %iterArg_8, %iterArg_9, %iterArg_10, %iterArg_11) : (tensor<i32>, tensor<2x2x4x4xui32>, tensor<2x2x4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) -> (tensor<i32>, tensor<2x2x4x4xui32>, tensor<2x2x4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>)
      %c_12 = stablehlo.constant dense<1> : tensor<i32>
      %8 = stablehlo.add %iterArg, %c_12 : tensor<i32>
      stablehlo.return %8, %7#0, %7#1, %7#2, %7#3, %7#4, %7#5, %7#6, %7#7 : tensor<i32>, tensor<i32>, tensor<2x2x4x4xui32>, tensor<2x2x4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
    }
    return %6#2, %6#3 : tensor<2x2x4x4xui32>, tensor<2x2x4x4xui32>
  }
  func.func private @closed_call_8(%arg0: tensor<i32>, %arg1: tensor<2x2x4x4xui32>, %arg2: tensor<2x2x4x4xui32>, %arg3: tensor<ui32>, %arg4: tensor<ui32>, %arg5: tensor<ui32>, %arg6: tensor<4xui32>, %arg7: tensor<4xui32>) -> (tensor<i32>, tensor<2x2x4x4xui32>, tensor<2x2x4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>) {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.add %arg0, %c : tensor<i32>
    %1 = stablehlo.slice %arg6 [0:1] : (tensor<4xui32>) -> tensor<1xui32>
    %2 = stablehlo.reshape %1 : (tensor<1xui32>) -> tensor<ui32>
    %3 = stablehlo.add %arg1, %arg2 : tensor<2x2x4x4xui32>
    %4 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %5 = stablehlo.shift_left %arg2, %4 : tensor<2x2x4x4xui32>
    %c_0 = stablehlo.constant dense<32> : tensor<ui32>
    %6 = stablehlo.subtract %c_0, %2 : tensor<ui32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %8 = stablehlo.shift_right_logical %arg2, %7 : tensor<2x2x4x4xui32>
    %9 = stablehlo.or %5, %8 : tensor<2x2x4x4xui32>
    %10 = stablehlo.xor %3, %9 : tensor<2x2x4x4xui32>
    %11 = stablehlo.slice %arg6 [1:2] : (tensor<4xui32>) -> tensor<1xui32>
    %12 = stablehlo.reshape %11 : (tensor<1xui32>) -> tensor<ui32>
    %13 = stablehlo.add %3, %10 : tensor<2x2x4x4xui32>
    %14 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %15 = stablehlo.shift_left %10, %14 : tensor<2x2x4x4xui32>
    %c_1 = stablehlo.constant dense<32> : tensor<ui32>
    %16 = stablehlo.subtract %c_1, %12 : tensor<ui32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %18 = stablehlo.shift_right_logical %10, %17 : tensor<2x2x4x4xui32>
    %19 = stablehlo.or %15, %18 : tensor<2x2x4x4xui32>
    %20 = stablehlo.xor %13, %19 : tensor<2x2x4x4xui32>
    %21 = stablehlo.slice %arg6 [2:3] : (tensor<4xui32>) -> tensor<1xui32>
    %22 = stablehlo.reshape %21 : (tensor<1xui32>) -> tensor<ui32>
    %23 = stablehlo.add %13, %20 : tensor<2x2x4x4xui32>
    %24 = stablehlo.broadcast_in_dim %22, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %25 = stablehlo.shift_left %20, %24 : tensor<2x2x4x4xui32>
    %c_2 = stablehlo.constant dense<32> : tensor<ui32>
    %26 = stablehlo.subtract %c_2, %22 : tensor<ui32>
    %27 = stablehlo.broadcast_in_dim %26, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %28 = stablehlo.shift_right_logical %20, %27 : tensor<2x2x4x4xui32>
    %29 = stablehlo.or %25, %28 : tensor<2x2x4x4xui32>
    %30 = stablehlo.xor %23, %29 : tensor<2x2x4x4xui32>
    %31 = stablehlo.slice %arg6 [3:4] : (tensor<4xui32>) -> tensor<1xui32>
    %32 = stablehlo.reshape %31 : (tensor<1xui32>) -> tensor<ui32>
    %33 = stablehlo.add %23, %30 : tensor<2x2x4x4xui32>
    %34 = stablehlo.broadcast_in_dim %32, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %35 = stablehlo.shift_left %30, %34 : tensor<2x2x4x4xui32>
    %c_3 = stablehlo.constant dense<32> : tensor<ui32>
    %36 = stablehlo.subtract %c_3, %32 : tensor<ui32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %38 = stablehlo.shift_right_logical %30, %37 : tensor<2x2x4x4xui32>
    %39 = stablehlo.or %35, %38 : tensor<2x2x4x4xui32>
    %40 = stablehlo.xor %33, %39 : tensor<2x2x4x4xui32>
    %41 = stablehlo.broadcast_in_dim %arg3, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %42 = stablehlo.add %33, %41 : tensor<2x2x4x4xui32>
    %43 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %44 = stablehlo.add %40, %43 : tensor<2x2x4x4xui32>
    %c_4 = stablehlo.constant dense<1> : tensor<i32>
    %45 = stablehlo.add %arg0, %c_4 : tensor<i32>
    %46 = stablehlo.convert %45 : (tensor<i32>) -> tensor<ui32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [] : (tensor<ui32>) -> tensor<2x2x4x4xui32>
    %48 = stablehlo.add %44, %47 : tensor<2x2x4x4xui32>
    return %0, %42, %48, %arg4, %arg5, %arg3, %arg7, %arg6 : tensor<i32>, tensor<2x2x4x4xui32>, tensor<2x2x4x4xui32>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<4xui32>, tensor<4xui32>
  }
  func.func private @_where_9(%arg0: tensor<2x2x4x4xi1>, %arg1: tensor<2x2x4x4xf32>, %arg2: tensor<f32>) -> tensor<2x2x4x4xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>
    return %2 : tensor<2x2x4x4xf32>
  }
  func.func private @log_softmax(%arg0: tensor<2x3x16xf32>) -> (tensor<2x3x16xf32>, tensor<2x3x16xf32>, tensor<2x3x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<2x3x16xf32>, tensor<f32>) -> tensor<2x3xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<2x3xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x3x1xf32>) -> tensor<2x3x16xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x3x16xf32>
    %6 = stablehlo.exponential %5 : tensor<2x3x16xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<2x3x16xf32>, tensor<f32>) -> tensor<2x3xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
    %9 = stablehlo.log %8 : tensor<2x3x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<2x3x1xf32>) -> tensor<2x3x16xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<2x3x16xf32>
    return %11, %6, %8 : tensor<2x3x16xf32>, tensor<2x3x16xf32>, tensor<2x3x1xf32>
  }
  func.func private @take_along_axis(%arg0: tensor<2x3x16xf32>, %arg1: tensor<2x3x1xi32>) -> (tensor<2x3x1xf32>, tensor<2x3x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x3x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<2x3x1xi32>, tensor<2x3x1xi32>) -> tensor<2x3x1xi1>
    %c_0 = stablehlo.constant dense<16> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x3x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<2x3x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<2x3x1xi1>, tensor<2x3x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<2x3x1xi32>) -> tensor<2x3x1x1xi32>
    %c_1 = stablehlo.constant dense<15> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2x3x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<2x3x1x1xi32>, tensor<2x3x1x1xi32>) -> tensor<2x3x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xi32>) -> tensor<2x3x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<2x3x1x1xi32>, tensor<2x3x1x1xi32>) -> tensor<2x3x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<2x3x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [3] : (tensor<2x3x1x1xi1>, tensor<i1>) -> tensor<2x3x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x3x16xf32>, tensor<2x3x1x1xi32>) -> tensor<2x3x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<2x3x1xi1>, tensor<2x3x1xf32>
    return %15, %5 : tensor<2x3x1xf32>, tensor<2x3x1x1xi32>
  }
  func.func private @take_along_axis_10(%arg0: tensor<2x3x1x1xi32>, %arg1: tensor<2x3x1xf32>) -> tensor<2x3x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x16xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<2x3x16xf32>, tensor<2x3x1x1xi32>, tensor<2x3x1xf32>) -> tensor<2x3x16xf32>
    return %1 : tensor<2x3x16xf32>
  }
  func.func private @log_softmax_11(%arg0: tensor<2x3x16xf32>, %arg1: tensor<2x3x1xf32>, %arg2: tensor<2x3x16xf32>) -> tensor<2x3x16xf32> {
    %0 = stablehlo.negate %arg2 : tensor<2x3x16xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x3x16xf32>, tensor<f32>) -> tensor<2x3xf32>
    %2 = stablehlo.reshape %1 : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<2x3x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x3xf32>) -> tensor<2x3x16xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<2x3x16xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<2x3x16xf32>
    return %7 : tensor<2x3x16xf32>
  }
  func.func private @layer_norm_12(%arg0: tensor<2x4x8xf32>, %arg1: tensor<2x4x1xf32>, %arg2: tensor<2x4x1xf32>, %arg3: tensor<2x4x8xf32>, %arg4: tensor<1x1x8xf32>, %arg5: tensor<2x4x8xf32>, %arg6: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg6 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<8xf32>
    %1 = stablehlo.reshape %0 : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.reduce(%1 init: %cst_0) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %3 = stablehlo.multiply %arg5, %arg6 : tensor<2x4x8xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_1) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<8xf32>
    %5 = stablehlo.reshape %4 : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %6 = stablehlo.broadcast_in_dim %arg4, dims = [0, 1, 2] : (tensor<1x1x8xf32>) -> tensor<2x4x8xf32>
    %7 = stablehlo.multiply %arg6, %6 : tensor<2x4x8xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %8 = stablehlo.reduce(%5 init: %cst_2) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %9 = stablehlo.multiply %arg3, %7 : tensor<2x4x8xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %10 = stablehlo.reduce(%9 init: %cst_3) applies stablehlo.add across dimensions = [2] : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4xf32>
    %11 = stablehlo.reshape %10 : (tensor<2x4xf32>) -> tensor<2x4x1xf32>
    %12 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 2] : (tensor<2x4x1xf32>) -> tensor<2x4x8xf32>
    %13 = stablehlo.multiply %7, %12 : tensor<2x4x8xf32>
    %14 = stablehlo.multiply %11, %arg1 : tensor<2x4x1xf32>
    %15 = stablehlo.negate %13 : tensor<2x4x8xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %16 = stablehlo.reduce(%15 init: %cst_4) applies stablehlo.add across dimensions = [2] : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4xf32>
    %17 = stablehlo.reshape %16 : (tensor<2x4xf32>) -> tensor<2x4x1xf32>
    %cst_5 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<2x4x1xf32>
    %19 = stablehlo.divide %14, %18 : tensor<2x4x1xf32>
    %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %20 = stablehlo.reduce(%19 init: %cst_6) applies stablehlo.add across dimensions = [2] : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x8xf32>
    %22 = stablehlo.multiply %21, %arg0 : tensor<2x4x8xf32>
    %23 = stablehlo.negate %22 : tensor<2x4x8xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.reduce(%23 init: %cst_7) applies stablehlo.add across dimensions = [2] : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4xf32>
    %25 = stablehlo.reshape %24 : (tensor<2x4xf32>) -> tensor<2x4x1xf32>
    %26 = stablehlo.add %13, %22 : tensor<2x4x8xf32>
    %27 = stablehlo.add %17, %25 : tensor<2x4x1xf32>
    %cst_8 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x4x1xf32>
    %29 = stablehlo.divide %27, %28 : tensor<2x4x1xf32>
    %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %30 = stablehlo.reduce(%29 init: %cst_9) applies stablehlo.add across dimensions = [2] : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4xf32>
    %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x8xf32>
    %32 = stablehlo.add %26, %31 : tensor<2x4x8xf32>
    return %32, %8, %2 : tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  func.func private @_where_13(%arg0: tensor<2x4x8xi1>, %arg1: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x8xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x4x8xi1>, tensor<2x4x8xf32>
    return %1 : tensor<2x4x8xf32>
  }
  func.func private @_where_14(%arg0: tensor<2x2x4x4xi1>, %arg1: tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>
    return %1 : tensor<2x2x4x4xf32>
  }
  func.func private @_where_15(%arg0: tensor<2x2x4x4xi1>, %arg1: tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>
    return %1 : tensor<2x2x4x4xf32>
  }
  func.func private @adamw(%arg0: tensor<16x8xf32>, %arg1: tensor<16x8xf32>, %arg2: tensor<16x8xf32>, %arg3: tensor<16x8xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %1 = stablehlo.multiply %arg1, %0 : tensor<16x8xf32>
    %cst = stablehlo.constant dense<0.899999976> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %3 = stablehlo.multiply %2, %arg2 : tensor<16x8xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %5 = stablehlo.multiply %4, %1 : tensor<16x8xf32>
    %6 = stablehlo.add %3, %5 : tensor<16x8xf32>
    %cst_1 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %8 = stablehlo.multiply %7, %arg3 : tensor<16x8xf32>
    %9 = chlo.square %1 : tensor<16x8xf32> -> tensor<16x8xf32>
    %cst_2 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<16x8xf32>
    %12 = stablehlo.add %8, %11 : tensor<16x8xf32>
    %cst_3 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %13 = stablehlo.power %cst_3, %arg5 : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.subtract %cst_4, %13 : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %16 = stablehlo.divide %6, %15 : tensor<16x8xf32>
    %cst_5 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %17 = stablehlo.power %cst_5, %arg5 : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.subtract %cst_6, %17 : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %20 = stablehlo.divide %12, %19 : tensor<16x8xf32>
    %21 = stablehlo.sqrt %20 : tensor<16x8xf32>
    %cst_7 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %23 = stablehlo.add %21, %22 : tensor<16x8xf32>
    %24 = stablehlo.divide %16, %23 : tensor<16x8xf32>
    %cst_8 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %26 = stablehlo.multiply %25, %arg0 : tensor<16x8xf32>
    %27 = stablehlo.add %24, %26 : tensor<16x8xf32>
    %28 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %29 = stablehlo.multiply %28, %27 : tensor<16x8xf32>
    %30 = stablehlo.subtract %arg0, %29 : tensor<16x8xf32>
    return %30, %6, %12 : tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>
  }
  func.func private @adamw_16(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %1 = stablehlo.multiply %arg1, %0 : tensor<8xf32>
    %cst = stablehlo.constant dense<0.899999976> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %3 = stablehlo.multiply %2, %arg2 : tensor<8xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %5 = stablehlo.multiply %4, %1 : tensor<8xf32>
    %6 = stablehlo.add %3, %5 : tensor<8xf32>
    %cst_1 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %8 = stablehlo.multiply %7, %arg3 : tensor<8xf32>
    %9 = chlo.square %1 : tensor<8xf32> -> tensor<8xf32>
    %cst_2 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<8xf32>
    %12 = stablehlo.add %8, %11 : tensor<8xf32>
    %cst_3 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %13 = stablehlo.power %cst_3, %arg5 : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.subtract %cst_4, %13 : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %16 = stablehlo.divide %6, %15 : tensor<8xf32>
    %cst_5 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %17 = stablehlo.power %cst_5, %arg5 : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.subtract %cst_6, %17 : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %20 = stablehlo.divide %12, %19 : tensor<8xf32>
    %21 = stablehlo.sqrt %20 : tensor<8xf32>
    %cst_7 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %23 = stablehlo.add %21, %22 : tensor<8xf32>
    %24 = stablehlo.divide %16, %23 : tensor<8xf32>
    %cst_8 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %26 = stablehlo.multiply %25, %arg0 : tensor<8xf32>
    %27 = stablehlo.add %24, %26 : tensor<8xf32>
    %28 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %29 = stablehlo.multiply %28, %27 : tensor<8xf32>
    %30 = stablehlo.subtract %arg0, %29 : tensor<8xf32>
    return %30, %6, %12 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }
  func.func private @adamw_17(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32>, %arg2: tensor<8x8xf32>, %arg3: tensor<8x8xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %1 = stablehlo.multiply %arg1, %0 : tensor<8x8xf32>
    %cst = stablehlo.constant dense<0.899999976> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %3 = stablehlo.multiply %2, %arg2 : tensor<8x8xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %5 = stablehlo.multiply %4, %1 : tensor<8x8xf32>
    %6 = stablehlo.add %3, %5 : tensor<8x8xf32>
    %cst_1 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %8 = stablehlo.multiply %7, %arg3 : tensor<8x8xf32>
    %9 = chlo.square %1 : tensor<8x8xf32> -> tensor<8x8xf32>
    %cst_2 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<8x8xf32>
    %12 = stablehlo.add %8, %11 : tensor<8x8xf32>
    %cst_3 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %13 = stablehlo.power %cst_3, %arg5 : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.subtract %cst_4, %13 : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %16 = stablehlo.divide %6, %15 : tensor<8x8xf32>
    %cst_5 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %17 = stablehlo.power %cst_5, %arg5 : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.subtract %cst_6, %17 : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %20 = stablehlo.divide %12, %19 : tensor<8x8xf32>
    %21 = stablehlo.sqrt %20 : tensor<8x8xf32>
    %cst_7 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %23 = stablehlo.add %21, %22 : tensor<8x8xf32>
    %24 = stablehlo.divide %16, %23 : tensor<8x8xf32>
    %cst_8 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %26 = stablehlo.multiply %25, %arg0 : tensor<8x8xf32>
    %27 = stablehlo.add %24, %26 : tensor<8x8xf32>
    %28 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
    %29 = stablehlo.multiply %28, %27 : tensor<8x8xf32>
    %30 = stablehlo.subtract %arg0, %29 : tensor<8x8xf32>
    return %30, %6, %12 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
  }
  func.func private @adamw_18(%arg0: tensor<8x3x8xf32>, %arg1: tensor<8x3x8xf32>, %arg2: tensor<8x3x8xf32>, %arg3: tensor<8x3x8xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<8x3x8xf32>, tensor<8x3x8xf32>, tensor<8x3x8xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f32>) -> tensor<8x3x8xf32>
    %1 = stablehlo.multiply %arg1, %0 : tensor<8x3x8xf32>
    %cst = stablehlo.constant dense<0.899999976> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x3x8xf32>
    %3 = stablehlo.multiply %2, %arg2 : tensor<8x3x8xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x3x8xf32>
    %5 = stablehlo.multiply %4, %1 : tensor<8x3x8xf32>
    %6 = stablehlo.add %3, %5 : tensor<8x3x8xf32>
    %cst_1 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x3x8xf32>
    %8 = stablehlo.multiply %7, %arg3 : tensor<8x3x8xf32>
    %9 = chlo.square %1 : tensor<8x3x8xf32> -> tensor<8x3x8xf32>
    %cst_2 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x3x8xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<8x3x8xf32>
    %12 = stablehlo.add %8, %11 : tensor<8x3x8xf32>
    %cst_3 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %13 = stablehlo.power %cst_3, %arg5 : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.subtract %cst_4, %13 : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<8x3x8xf32>
    %16 = stablehlo.divide %6, %15 : tensor<8x3x8xf32>
    %cst_5 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %17 = stablehlo.power %cst_5, %arg5 : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.subtract %cst_6, %17 : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<8x3x8xf32>
    %20 = stablehlo.divide %12, %19 : tensor<8x3x8xf32>
    %21 = stablehlo.sqrt %20 : tensor<8x3x8xf32>
    %cst_7 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<8x3x8xf32>
    %23 = stablehlo.add %21, %22 : tensor<8x3x8xf32>
    %24 = stablehlo.divide %16, %23 : tensor<8x3x8xf32>
    %cst_8 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8x3x8xf32>
    %26 = stablehlo.multiply %25, %arg0 : tensor<8x3x8xf32>
    %27 = stablehlo.add %24, %26 : tensor<8x3x8xf32>
    %28 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<8x3x8xf32>
    %29 = stablehlo.multiply %28, %27 : tensor<8x3x8xf32>
    %30 = stablehlo.subtract %arg0, %29 : tensor<8x3x8xf32>
    return %30, %6, %12 : tensor<8x3x8xf32>, tensor<8x3x8xf32>, tensor<8x3x8xf32>
  }
  func.func private @adamw_19(%arg0: tensor<3x8xf32>, %arg1: tensor<3x8xf32>, %arg2: tensor<3x8xf32>, %arg3: tensor<3x8xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
    %1 = stablehlo.multiply %arg1, %0 : tensor<3x8xf32>
    %cst = stablehlo.constant dense<0.899999976> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
    %3 = stablehlo.multiply %2, %arg2 : tensor<3x8xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
    %5 = stablehlo.multiply %4, %1 : tensor<3x8xf32>
    %6 = stablehlo.add %3, %5 : tensor<3x8xf32>
    %cst_1 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
    %8 = stablehlo.multiply %7, %arg3 : tensor<3x8xf32>
    %9 = chlo.square %1 : tensor<3x8xf32> -> tensor<3x8xf32>
    %cst_2 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<3x8xf32>
    %12 = stablehlo.add %8, %11 : tensor<3x8xf32>
    %cst_3 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %13 = stablehlo.power %cst_3, %arg5 : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.subtract %cst_4, %13 : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
    %16 = stablehlo.divide %6, %15 : tensor<3x8xf32>
    %cst_5 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %17 = stablehlo.power %cst_5, %arg5 : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.subtract %cst_6, %17 : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
    %20 = stablehlo.divide %12, %19 : tensor<3x8xf32>
    %21 = stablehlo.sqrt %20 : tensor<3x8xf32>
    %cst_7 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
    %23 = stablehlo.add %21, %22 : tensor<3x8xf32>
    %24 = stablehlo.divide %16, %23 : tensor<3x8xf32>
    %cst_8 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
    %26 = stablehlo.multiply %25, %arg0 : tensor<3x8xf32>
    %27 = stablehlo.add %24, %26 : tensor<3x8xf32>
    %28 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<3x8xf32>
    %29 = stablehlo.multiply %28, %27 : tensor<3x8xf32>
    %30 = stablehlo.subtract %arg0, %29 : tensor<3x8xf32>
    return %30, %6, %12 : tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>
  }
  func.func private @adamw_20(%arg0: tensor<8x16xf32>, %arg1: tensor<8x16xf32>, %arg2: tensor<8x16xf32>, %arg3: tensor<8x16xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %1 = stablehlo.multiply %arg1, %0 : tensor<8x16xf32>
    %cst = stablehlo.constant dense<0.899999976> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %3 = stablehlo.multiply %2, %arg2 : tensor<8x16xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %5 = stablehlo.multiply %4, %1 : tensor<8x16xf32>
    %6 = stablehlo.add %3, %5 : tensor<8x16xf32>
    %cst_1 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %8 = stablehlo.multiply %7, %arg3 : tensor<8x16xf32>
    %9 = chlo.square %1 : tensor<8x16xf32> -> tensor<8x16xf32>
    %cst_2 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<8x16xf32>
    %12 = stablehlo.add %8, %11 : tensor<8x16xf32>
    %cst_3 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %13 = stablehlo.power %cst_3, %arg5 : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.subtract %cst_4, %13 : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %16 = stablehlo.divide %6, %15 : tensor<8x16xf32>
    %cst_5 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %17 = stablehlo.power %cst_5, %arg5 : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.subtract %cst_6, %17 : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %20 = stablehlo.divide %12, %19 : tensor<8x16xf32>
    %21 = stablehlo.sqrt %20 : tensor<8x16xf32>
    %cst_7 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %23 = stablehlo.add %21, %22 : tensor<8x16xf32>
    %24 = stablehlo.divide %16, %23 : tensor<8x16xf32>
    %cst_8 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %26 = stablehlo.multiply %25, %arg0 : tensor<8x16xf32>
    %27 = stablehlo.add %24, %26 : tensor<8x16xf32>
    %28 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<8x16xf32>
    %29 = stablehlo.multiply %28, %27 : tensor<8x16xf32>
    %30 = stablehlo.subtract %arg0, %29 : tensor<8x16xf32>
    return %30, %6, %12 : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>
  }
  func.func private @adamw_21(%arg0: tensor<16xf32>, %arg1: tensor<16xf32>, %arg2: tensor<16xf32>, %arg3: tensor<16xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %1 = stablehlo.multiply %arg1, %0 : tensor<16xf32>
    %cst = stablehlo.constant dense<0.899999976> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %3 = stablehlo.multiply %2, %arg2 : tensor<16xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %5 = stablehlo.multiply %4, %1 : tensor<16xf32>
    %6 = stablehlo.add %3, %5 : tensor<16xf32>
    %cst_1 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %8 = stablehlo.multiply %7, %arg3 : tensor<16xf32>
    %9 = chlo.square %1 : tensor<16xf32> -> tensor<16xf32>
    %cst_2 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<16xf32>
    %12 = stablehlo.add %8, %11 : tensor<16xf32>
    %cst_3 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %13 = stablehlo.power %cst_3, %arg5 : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.subtract %cst_4, %13 : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %16 = stablehlo.divide %6, %15 : tensor<16xf32>
    %cst_5 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %17 = stablehlo.power %cst_5, %arg5 : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.subtract %cst_6, %17 : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %20 = stablehlo.divide %12, %19 : tensor<16xf32>
    %21 = stablehlo.sqrt %20 : tensor<16xf32>
    %cst_7 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %23 = stablehlo.add %21, %22 : tensor<16xf32>
    %24 = stablehlo.divide %16, %23 : tensor<16xf32>
    %cst_8 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %26 = stablehlo.multiply %25, %arg0 : tensor<16xf32>
    %27 = stablehlo.add %24, %26 : tensor<16xf32>
    %28 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %29 = stablehlo.multiply %28, %27 : tensor<16xf32>
    %30 = stablehlo.subtract %arg0, %29 : tensor<16xf32>
    return %30, %6, %12 : tensor<16xf32>, tensor<16xf32>, tensor<16xf32>
  }
  func.func private @adamw_22(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<4x8xf32>, %arg3: tensor<4x8xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %1 = stablehlo.multiply %arg1, %0 : tensor<4x8xf32>
    %cst = stablehlo.constant dense<0.899999976> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %3 = stablehlo.multiply %2, %arg2 : tensor<4x8xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %5 = stablehlo.multiply %4, %1 : tensor<4x8xf32>
    %6 = stablehlo.add %3, %5 : tensor<4x8xf32>
    %cst_1 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %8 = stablehlo.multiply %7, %arg3 : tensor<4x8xf32>
    %9 = chlo.square %1 : tensor<4x8xf32> -> tensor<4x8xf32>
    %cst_2 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<4x8xf32>
    %12 = stablehlo.add %8, %11 : tensor<4x8xf32>
    %cst_3 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %13 = stablehlo.power %cst_3, %arg5 : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.subtract %cst_4, %13 : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %16 = stablehlo.divide %6, %15 : tensor<4x8xf32>
    %cst_5 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %17 = stablehlo.power %cst_5, %arg5 : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.subtract %cst_6, %17 : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %20 = stablehlo.divide %12, %19 : tensor<4x8xf32>
    %21 = stablehlo.sqrt %20 : tensor<4x8xf32>
    %cst_7 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %23 = stablehlo.add %21, %22 : tensor<4x8xf32>
    %24 = stablehlo.divide %16, %23 : tensor<4x8xf32>
    %cst_8 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %26 = stablehlo.multiply %25, %arg0 : tensor<4x8xf32>
    %27 = stablehlo.add %24, %26 : tensor<4x8xf32>
    %28 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %29 = stablehlo.multiply %28, %27 : tensor<4x8xf32>
    %30 = stablehlo.subtract %arg0, %29 : tensor<4x8xf32>
    return %30, %6, %12 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
  }
}
