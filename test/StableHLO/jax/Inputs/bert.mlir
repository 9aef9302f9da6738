module @jit_train_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<16x8xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<8xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<8xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<8xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<8xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<8xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<8x8xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<8xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<8x3x8xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<3x8xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<8x16xf32> {tf.aliasing_output = 10 : i32}, %arg11: tensor<16xf32> {tf.aliasing_output = 11 : i32}, %arg12: tensor<8x2xf32> {tf.aliasing_output = 12 : i32}, %arg13: tensor<8xf32> {tf.aliasing_output = 13 : i32}, %arg14: tensor<8xf32> {tf.aliasing_output = 14 : i32}, %arg15: tensor<8x8xf32> {tf.aliasing_output = 15 : i32}, %arg16: tensor<4x8xf32> {tf.aliasing_output = 16 : i32}, %arg17: tensor<2x8xf32> {tf.aliasing_output = 17 : i32}, %arg18: tensor<16x8xf32> {tf.aliasing_output = 18 : i32}, %arg19: tensor<16x8xf32> {tf.aliasing_output = 19 : i32}, %arg20: tensor<8xf32> {tf.aliasing_output = 20 : i32}, %arg21: tensor<8xf32> {tf.aliasing_output = 21 : i32}, %arg22: tensor<8xf32> {tf.aliasing_output = 22 : i32}, %arg23: tensor<8xf32> {tf.aliasing_output = 23 : i32}, %arg24: tensor<8xf32> {tf.aliasing_output = 24 : i32}, %arg25: tensor<8x8xf32> {tf.aliasing_output = 25 : i32}, %arg26: tensor<8xf32> {tf.aliasing_output = 26 : i32}, %arg27: tensor<8x3x8xf32> {tf.aliasing_output = 27 : i32}, %arg28: tensor<3x8xf32> {tf.aliasing_output = 28 : i32}, %arg29: tensor<8x16xf32> {tf.aliasing_output = 29 : i32}, %arg30: tensor<16xf32> {tf.aliasing_output = 30 : i32}, %arg31: tensor<8x2xf32> {tf.aliasing_output = 31 : i32}, %arg32: tensor<8xf32> {tf.aliasing_output = 32 : i32}, %arg33: tensor<8xf32> {tf.aliasing_output = 33 : i32}, %arg34: tensor<8x8xf32> {tf.aliasing_output = 34 : i32}, %arg35: tensor<4x8xf32> {tf.aliasing_output = 35 : i32}, %arg36: tensor<2x8xf32> {tf.aliasing_output = 36 : i32}, %arg37: tensor<16x8xf32> {tf.aliasing_output = 37 : i32}, %arg38: tensor<16x8xf32> {tf.aliasing_output = 38 : i32}, %arg39: tensor<8xf32> {tf.aliasing_output = 39 : i32}, %arg40: tensor<8xf32> {tf.aliasing_output = 40 : i32}, %arg41: tensor<8xf32> {tf.aliasing_output = 41 : i32}, %arg42: tensor<8xf32> {tf.aliasing_output = 42 : i32}, %arg43: tensor<8xf32> {tf.aliasing_output = 43 : i32}, %arg44: tensor<8x8xf32> {tf.aliasing_output = 44 : i32}, %arg45: tensor<8xf32> {tf.aliasing_output = 45 : i32}, %arg46: tensor<8x3x8xf32> {tf.aliasing_output = 46 : i32}, %arg47: tensor<3x8xf32> {tf.aliasing_output = 47 : i32}, %arg48: tensor<8x16xf32> {tf.aliasing_output = 48 : i32}, %arg49: tensor<16xf32> {tf.aliasing_output = 49 : i32}, %arg50: tensor<8x2xf32> {tf.aliasing_output = 50 : i32}, %arg51: tensor<8xf32> {tf.aliasing_output = 51 : i32}, %arg52: tensor<8xf32> {tf.aliasing_output = 52 : i32}, %arg53: tensor<8x8xf32> {tf.aliasing_output = 53 : i32}, %arg54: tensor<4x8xf32> {tf.aliasing_output = 54 : i32}, %arg55: tensor<2x8xf32> {tf.aliasing_output = 55 : i32}, %arg56: tensor<16x8xf32> {tf.aliasing_output = 56 : i32}, %arg57: tensor<f32> {tf.aliasing_output = 57 : i32}, %arg58: tensor<2x4xi1>, %arg59: tensor<2x4xi32>, %arg60: tensor<2x4xi32>, %arg61: tensor<2xi32>, %arg62: tensor<2x4xi32>, %arg63: tensor<2x4xf32>, %arg64: tensor<2xui32>) -> (tensor<16x8xf32> {jax.result_info = "result[0][0]['layer_0']['down']"}, tensor<8xf32> {jax.result_info = "result[0][0]['layer_0']['down_bias']"}, tensor<8xf32> {jax.result_info = "result[0][0]['layer_0']['norm1']"}, tensor<8xf32> {jax.result_info = "result[0][0]['layer_0']['norm1_bias']"}, tensor<8xf32> {jax.result_info = "result[0][0]['layer_0']['norm2']"}, tensor<8xf32> {jax.result_info = "result[0][0]['layer_0']['norm2_bias']"}, tensor<8x8xf32> {jax.result_info = "result[0][0]['layer_0']['out']"}, tensor<8xf32> {jax.result_info = "result[0][0]['layer_0']['out_bias']"}, tensor<8x3x8xf32> {jax.result_info = "result[0][0]['layer_0']['qkv']"}, tensor<3x8xf32> {jax.result_info = "result[0][0]['layer_0']['qkv_bias']"}, tensor<8x16xf32> {jax.result_info = "result[0][0]['layer_0']['up']"}, tensor<16xf32> {jax.result_info = "result[0][0]['layer_0']['up_bias']"}, tensor<8x2xf32> {jax.result_info = "result[0][0]['next']"}, tensor<8xf32> {jax.result_info = "result[0][0]['norm']"}, tensor<8xf32> {jax.result_info = "result[0][0]['norm_bias']"}, tensor<8x8xf32> {jax.result_info = "result[0][0]['pooler']"}, tensor<4x8xf32> {jax.result_info = "result[0][0]['position']"}, tensor<2x8xf32> {jax.result_info = "result[0][0]['segment']"}, tensor<16x8xf32> {jax.result_info = "result[0][0]['word']"}, tensor<16x8xf32> {jax.result_info = "result[0][1]['layer_0']['down']"}, tensor<8xf32> {jax.result_info = "result[0][1]['layer_0']['down_bias']"}, tensor<8xf32> {jax.result_info = "result[0][1]['layer_0']['norm1']"}, tensor<8xf32> {jax.result_info = "result[0][1]['layer_0']['norm1_bias']"}, tensor<8xf32> {jax.result_info = "result[0][1]['layer_0']['norm2']"}, tensor<8xf32> {jax.result_info = "result[0][1]['layer_0']['norm2_bias']"}, tensor<8x8xf32> {jax.result_info = "result[0][1]['layer_0']['out']"}, tensor<8xf32> {jax.result_info = "result[0][1]['layer_0']['out_bias']"}, tensor<8x3x8xf32> {jax.result_info = "result[0][1]['layer_0']['qkv']"}, tensor<3x8xf32> {jax.result_info = "result[0][1]['layer_0']['qkv_bias']"}, tensor<8x16xf32> {jax.result_info = "result[0][1]['layer_0']['up']"}, tensor<16xf32> {jax.result_info = "result[0][1]['layer_0']['up_bias']"}, tensor<8x2xf32> {jax.result_info = "result[0][1]['next']"}, tensor<8xf32> {jax.result_info = "result[0][1]['norm']"}, tensor<8xf32> {jax.result_info = "result[0][1]['norm_bias']"}, tensor<8x8xf32> {jax.result_info = "result[0][1]['pooler']"}, tensor<4x8xf32> {jax.result_info = "result[0][1]['position']"}, tensor<2x8xf32> {jax.result_info = "result[0][1]['segment']"}, tensor<16x8xf32> {jax.result_info = "result[0][1]['word']"}, tensor<16x8xf32> {jax.result_info = "result[0][2]['layer_0']['down']"}, tensor<8xf32> {jax.result_info = "result[0][2]['layer_0']['down_bias']"}, tensor<8xf32> {jax.result_info = "result[0][2]['layer_0']['norm1']"}, tensor<8xf32> {jax.result_info = "result[0][2]['layer_0']['norm1_bias']"}, tensor<8xf32> {jax.result_info = "result[0][2]['layer_0']['norm2']"}, tensor<8xf32> {jax.result_info = "result[0][2]['layer_0']['norm2_bias']"}, tensor<8x8xf32> {jax.result_info = "result[0][2]['layer_0']['out']"}, tensor<8xf32> {jax.result_info = "result[0][2]['layer_0']['out_bias']"}, tensor<8x3x8xf32> {jax.result_info = "result[0][2]['layer_0']['qkv']"}, tensor<3x8xf32> {jax.result_info = "result[0][2]['layer_0']['qkv_bias']"}, tensor<8x16xf32> {jax.result_info = "result[0][2]['layer_0']['up']"}, tensor<16xf32> {jax.result_info = "result[0][2]['layer_0']['up_bias']"}, tensor<8x2xf32> {jax.result_info = "result[0][2]['next']"}, tensor<8xf32> {jax.result_info = "result[0][2]['norm']"}, tensor<8xf32> {jax.result_info = "result[0][2]['norm_bias']"}, tensor<8x8xf32> {jax.result_info = "result[0][2]['pooler']"}, tensor<4x8xf32> {jax.result_info = "result[0][2]['position']"}, tensor<2x8xf32> {jax.result_info = "result[0][2]['segment']"}, tensor<16x8xf32> {jax.result_info = "result[0][2]['word']"}, tensor<f32> {jax.result_info = "result[0][3]"}, tensor<f32> {jax.result_info = "result[1]"}, tensor<f32> {jax.result_info = "result[2]"}) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %0 = stablehlo.add %arg57, %cst : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %2 = stablehlo.compare LT, %arg59, %1, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %c_0 = stablehlo.constant dense<16> : tensor<i32>
    %3 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %4 = stablehlo.add %arg59, %3 : tensor<2x4xi32>
    %5 = stablehlo.select %2, %4, %arg59 : tensor<2x4xi1>, tensor<2x4xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %7 = "stablehlo.gather"(%arg18, %6) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<16x8xf32>, tensor<2x4x1xi32>) -> tensor<2x4x8xf32>
    %8 = stablehlo.broadcast_in_dim %arg16, dims = [1, 2] : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x4x8xf32>) -> tensor<2x4x8xf32>
    %10 = stablehlo.add %7, %9 : tensor<2x4x8xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %11 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %12 = stablehlo.compare LT, %arg62, %11, SIGNED : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi1>
    %c_2 = stablehlo.constant dense<2> : tensor<i32>
    %13 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2x4xi32>
    %14 = stablehlo.add %arg62, %13 : tensor<2x4xi32>
    %15 = stablehlo.select %12, %14, %arg62 : tensor<2x4xi1>, tensor<2x4xi32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1] : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %17 = "stablehlo.gather"(%arg17, %16) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<2x8xf32>, tensor<2x4x1xi32>) -> tensor<2x4x8xf32>
    %18 = stablehlo.add %10, %17 : tensor<2x4x8xf32>
    %19:7 = call @layer_norm(%18, %arg13, %arg14) : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x8xf32>, tensor<1x1x8xf32>, tensor<2x4x8xf32>)
    %cst_3 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %20 = call @_bernoulli(%arg64, %cst_3) : (tensor<2xui32>, tensor<f32>) -> tensor<2x4x8xi1>
    %cst_4 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %21 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<2x4x8xf32>
    %22 = stablehlo.divide %19#0, %21 : tensor<2x4x8xf32>
    %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = call @_where(%20, %22, %cst_5) : (tensor<2x4x8xi1>, tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
    %24 = stablehlo.broadcast_in_dim %arg58, dims = [0, 3] : (tensor<2x4xi1>) -> tensor<2x1x1x4xi1>
    %c_6 = stablehlo.constant dense<0> : tensor<ui32>
    %25 = call @_threefry_fold_in(%arg64, %c_6) : (tensor<2xui32>, tensor<ui32>) -> tensor<2xui32>
    %26 = call @_threefry_split(%25) : (tensor<2xui32>) -> tensor<2x2xui32>
    %27 = stablehlo.slice %26 [0:1, 0:2] : (tensor<2x2xui32>) -> tensor<1x2xui32>
    %28 = stablehlo.reshape %27 : (tensor<1x2xui32>) -> tensor<2xui32>
    %29 = stablehlo.dot_general %arg8, %23, contracting_dims = [0] x [2], precision = [DEFAULT, DEFAULT] : (tensor<8x3x8xf32>, tensor<2x4x8xf32>) -> tensor<3x8x2x4xf32>
    %30 = stablehlo.transpose %29, dims = [0, 2, 3, 1] : (tensor<3x8x2x4xf32>) -> tensor<3x2x4x8xf32>
    %31 = stablehlo.broadcast_in_dim %arg9, dims = [0, 3] : (tensor<3x8xf32>) -> tensor<3x1x1x8xf32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0, 1, 2, 3] : (tensor<3x1x1x8xf32>) -> tensor<3x2x4x8xf32>
    %33 = stablehlo.add %30, %32 : tensor<3x2x4x8xf32>
    %34 = stablehlo.slice %33 [0:1, 0:2, 0:4, 0:8] : (tensor<3x2x4x8xf32>) -> tensor<1x2x4x8xf32>
    %35 = stablehlo.reshape %34 : (tensor<1x2x4x8xf32>) -> tensor<2x4x8xf32>
    %36 = stablehlo.reshape %35 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %37 = stablehlo.slice %33 [1:2, 0:2, 0:4, 0:8] : (tensor<3x2x4x8xf32>) -> tensor<1x2x4x8xf32>
    %38 = stablehlo.reshape %37 : (tensor<1x2x4x8xf32>) -> tensor<2x4x8xf32>
    %39 = stablehlo.reshape %38 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %40 = stablehlo.slice %33 [2:3, 0:2, 0:4, 0:8] : (tensor<3x2x4x8xf32>) -> tensor<1x2x4x8xf32>
    %41 = stablehlo.reshape %40 : (tensor<1x2x4x8xf32>) -> tensor<2x4x8xf32>
    %42 = stablehlo.reshape %41 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %43 = stablehlo.dot_general %36, %39, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4x2x4xf32>, tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
    %cst_7 = stablehlo.constant dense<4.000000e+00> : tensor<f32>
    %44 = stablehlo.sqrt %cst_7 : tensor<f32>
    %45 = stablehlo.convert %44 : tensor<f32>
    %46 = stablehlo.broadcast_in_dim %45, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %47 = stablehlo.divide %43, %46 : tensor<2x2x4x4xf32>
    %cst_8 = stablehlo.constant dense<-1.000000e+09> : tensor<f32>
    %48:2 = call @_where_4(%24, %47, %cst_8) : (tensor<2x1x1x4xi1>, tensor<2x2x4x4xf32>, tensor<f32>) -> (tensor<2x2x4x4xf32>, tensor<2x2x4x4xi1>)
    %cst_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %49 = stablehlo.reduce(%48#0 init: %cst_9) applies stablehlo.maximum across dimensions = [3] : (tensor<2x2x4x4xf32>, tensor<f32>) -> tensor<2x2x4xf32>
    %cst_10 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<2x2x4xf32>
    %51 = stablehlo.maximum %50, %49 : tensor<2x2x4xf32>
    %52 = stablehlo.broadcast_in_dim %51, dims = [0, 1, 2] : (tensor<2x2x4xf32>) -> tensor<2x2x4x1xf32>
    %53 = stablehlo.broadcast_in_dim %52, dims = [0, 1, 2, 3] : (tensor<2x2x4x1xf32>) -> tensor<2x2x4x4xf32>
    %54 = stablehlo.subtract %48#0, %53 : tensor<2x2x4x4xf32>
    %55 = stablehlo.exponential %54 : tensor<2x2x4x4xf32>
    %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %56 = stablehlo.reduce(%55 init: %cst_11) applies stablehlo.add across dimensions = [3] : (tensor<2x2x4x4xf32>, tensor<f32>) -> tensor<2x2x4xf32>
    %57 = stablehlo.broadcast_in_dim %56, dims = [0, 1, 2] : (tensor<2x2x4xf32>) -> tensor<2x2x4x1xf32>
    %58 = stablehlo.broadcast_in_dim %57, dims = [0, 1, 2, 3] : (tensor<2x2x4x1xf32>) -> tensor<2x2x4x4xf32>
    %59 = stablehlo.divide %55, %58 : tensor<2x2x4x4xf32>
    %60 = stablehlo.multiply %57, %57 : tensor<2x2x4x1xf32>
    %cst_12 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %61 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<2x2x4x1xf32>
    %62 = stablehlo.divide %61, %60 : tensor<2x2x4x1xf32>
    %cst_13 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %63 = call @_bernoulli_5(%28, %cst_13) : (tensor<2xui32>, tensor<f32>) -> tensor<2x2x4x4xi1>
    %cst_14 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %64 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %65 = stablehlo.divide %59, %64 : tensor<2x2x4x4xf32>
    %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %66 = call @_where_9(%63, %65, %cst_15) : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>, tensor<f32>) -> tensor<2x2x4x4xf32>
    %67 = stablehlo.dot_general %42, %66, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x4x2x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
    %68 = stablehlo.transpose %67, dims = [0, 3, 1, 2] : (tensor<2x2x4x4xf32>) -> tensor<2x4x2x4xf32>
    %69 = stablehlo.reshape %68 : (tensor<2x4x2x4xf32>) -> tensor<2x4x8xf32>
    %70 = stablehlo.dot_general %69, %arg6, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %71 = stablehlo.broadcast_in_dim %arg7, dims = [2] : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %72 = stablehlo.broadcast_in_dim %71, dims = [0, 1, 2] : (tensor<1x1x8xf32>) -> tensor<2x4x8xf32>
    %73 = stablehlo.add %70, %72 : tensor<2x4x8xf32>
    %74 = stablehlo.add %23, %73 : tensor<2x4x8xf32>
    %75:7 = call @layer_norm(%74, %arg2, %arg3) : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x8xf32>, tensor<1x1x8xf32>, tensor<2x4x8xf32>)
    %76 = stablehlo.slice %26 [1:2, 0:2] : (tensor<2x2xui32>) -> tensor<1x2xui32>
    %77 = stablehlo.reshape %76 : (tensor<1x2xui32>) -> tensor<2xui32>
    %78 = stablehlo.dot_general %75#0, %arg10, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
    %79 = stablehlo.broadcast_in_dim %arg11, dims = [2] : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %80 = stablehlo.broadcast_in_dim %79, dims = [0, 1, 2] : (tensor<1x1x16xf32>) -> tensor<2x4x16xf32>
    %81 = stablehlo.add %78, %80 : tensor<2x4x16xf32>
    %cst_16 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %82 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %83 = stablehlo.multiply %82, %81 : tensor<2x4x16xf32>
    %84 = stablehlo.negate %81 : tensor<2x4x16xf32>
    %cst_17 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %85 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %86 = stablehlo.multiply %84, %85 : tensor<2x4x16xf32>
    %87 = chlo.erfc %86 : tensor<2x4x16xf32> -> tensor<2x4x16xf32>
    %88 = chlo.square %86 : tensor<2x4x16xf32> -> tensor<2x4x16xf32>
    %89 = stablehlo.negate %88 : tensor<2x4x16xf32>
    %90 = stablehlo.exponential %89 : tensor<2x4x16xf32>
    %91 = stablehlo.multiply %83, %87 : tensor<2x4x16xf32>
    %92 = stablehlo.dot_general %91, %arg0, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4x16xf32>, tensor<16x8xf32>) -> tensor<2x4x8xf32>
    %93 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %94 = stablehlo.broadcast_in_dim %93, dims = [0, 1, 2] : (tensor<1x1x8xf32>) -> tensor<2x4x8xf32>
    %95 = stablehlo.add %92, %94 : tensor<2x4x8xf32>
    %cst_18 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %96 = call @_bernoulli(%77, %cst_18) : (tensor<2xui32>, tensor<f32>) -> tensor<2x4x8xi1>
    %cst_19 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %97 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<2x4x8xf32>
    %98 = stablehlo.divide %95, %97 : tensor<2x4x8xf32>
    %cst_20 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %99 = call @_where(%96, %98, %cst_20) : (tensor<2x4x8xi1>, tensor<2x4x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
    %100 = stablehlo.add %75#0, %99 : tensor<2x4x8xf32>
    %101:7 = call @layer_norm(%100, %arg4, %arg5) : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x8xf32>, tensor<1x1x8xf32>, tensor<2x4x8xf32>)
    %102 = stablehlo.transpose %arg18, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %103 = stablehlo.dot_general %101#0, %102, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<8x16xf32>) -> tensor<2x4x16xf32>
    %104:3 = call @log_softmax(%103) : (tensor<2x4x16xf32>) -> (tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x4x1xf32>)
    %105 = stablehlo.broadcast_in_dim %arg60, dims = [0, 1] : (tensor<2x4xi32>) -> tensor<2x4x1xi32>
    %106:2 = call @take_along_axis(%104#0, %105) : (tensor<2x4x16xf32>, tensor<2x4x1xi32>) -> (tensor<2x4x1xf32>, tensor<2x4x1x1xi32>)
    %107 = stablehlo.reshape %106#0 : (tensor<2x4x1xf32>) -> tensor<2x4xf32>
    %108 = stablehlo.multiply %107, %arg63 : tensor<2x4xf32>
    %cst_21 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %109 = stablehlo.reduce(%108 init: %cst_21) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
    %110 = stablehlo.negate %109 : tensor<f32>
    %cst_22 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %111 = stablehlo.reduce(%arg63 init: %cst_22) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4xf32>, tensor<f32>) -> tensor<f32>
    %cst_23 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %112 = stablehlo.maximum %111, %cst_23 : tensor<f32>
    %113 = stablehlo.divide %110, %112 : tensor<f32>
    %114 = stablehlo.slice %101#0 [0:2, 0:1, 0:8] : (tensor<2x4x8xf32>) -> tensor<2x1x8xf32>
    %115 = stablehlo.reshape %114 : (tensor<2x1x8xf32>) -> tensor<2x8xf32>
    %116 = stablehlo.dot_general %115, %arg15, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %117 = stablehlo.tanh %116 : tensor<2x8xf32>
    %cst_24 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %118 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %119 = stablehlo.subtract %118, %117 : tensor<2x8xf32>
    %120 = stablehlo.dot_general %117, %arg12, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8xf32>, tensor<8x2xf32>) -> tensor<2x2xf32>
    %cst_25 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %121 = stablehlo.broadcast_in_dim %cst_25, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %122:3 = call @log_softmax_10(%120) : (tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>)
    %123 = stablehlo.broadcast_in_dim %arg61, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %124:2 = call @take_along_axis_11(%122#0, %123) : (tensor<2x2xf32>, tensor<2x1xi32>) -> (tensor<2x1xf32>, tensor<2x1x1xi32>)
    %125 = stablehlo.reshape %124#0 : (tensor<2x1xf32>) -> tensor<2xf32>
    %126 = stablehlo.multiply %125, %121 : tensor<2xf32>
    %cst_26 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %127 = stablehlo.reduce(%126 init: %cst_26) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %128 = stablehlo.negate %127 : tensor<f32>
    %cst_27 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %129 = stablehlo.reduce(%121 init: %cst_27) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %cst_28 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %130 = stablehlo.maximum %129, %cst_28 : tensor<f32>
    %131 = stablehlo.divide %128, %130 : tensor<f32>
    %132 = stablehlo.add %113, %131 : tensor<f32>
    %cst_29 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %133 = stablehlo.divide %cst_29, %130 : tensor<f32>
    %134 = stablehlo.negate %133 : tensor<f32>
    %135 = stablehlo.broadcast_in_dim %134, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %136 = stablehlo.multiply %135, %121 : tensor<2xf32>
    %137 = stablehlo.broadcast_in_dim %136, dims = [0] : (tensor<2xf32>) -> tensor<2x1xf32>
    %138 = call @take_along_axis_12(%124#1, %137) : (tensor<2x1x1xi32>, tensor<2x1xf32>) -> tensor<2x2xf32>
    %139 = call @log_softmax_13(%122#1, %122#2, %138) : (tensor<2x2xf32>, tensor<2x1xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %140 = stablehlo.dot_general %139, %117, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x2xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
    %141 = stablehlo.transpose %140, dims = [1, 0] : (tensor<2x8xf32>) -> tensor<8x2xf32>
    %142 = stablehlo.dot_general %139, %arg12, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x2xf32>, tensor<8x2xf32>) -> tensor<2x8xf32>
    %143 = stablehlo.multiply %142, %119 : tensor<2x8xf32>
    %144 = stablehlo.multiply %143, %117 : tensor<2x8xf32>
    %145 = stablehlo.add %143, %144 : tensor<2x8xf32>
    %146 = stablehlo.dot_general %145, %115, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
    %147 = stablehlo.transpose %146, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %148 = stablehlo.dot_general %145, %arg15, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %149 = stablehlo.broadcast_in_dim %148, dims = [0, 2] : (tensor<2x8xf32>) -> tensor<2x1x8xf32>
    %cst_30 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %150 = stablehlo.pad %149, %cst_30, low = [0, 0, 0], high = [0, 3, 0], interior = [0, 0, 0] : (tensor<2x1x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
    %cst_31 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %151 = stablehlo.divide %cst_31, %112 : tensor<f32>
    %152 = stablehlo.negate %151 : tensor<f32>
    %153 = stablehlo.broadcast_in_dim %152, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %154 = stablehlo.multiply %153, %arg63 : tensor<2x4xf32>
    %155 = stablehlo.broadcast_in_dim %154, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x1xf32>
    %156 = call @take_along_axis_14(%106#1, %155) : (tensor<2x4x1x1xi32>, tensor<2x4x1xf32>) -> tensor<2x4x16xf32>
    %157 = call @log_softmax_15(%104#1, %104#2, %156) : (tensor<2x4x16xf32>, tensor<2x4x1xf32>, tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
    %158 = stablehlo.dot_general %157, %101#0, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x16xf32>, tensor<2x4x8xf32>) -> tensor<16x8xf32>
    %159 = stablehlo.transpose %158, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %160 = stablehlo.dot_general %157, %102, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32>
    %161 = stablehlo.add %150, %160 : tensor<2x4x8xf32>
    %162 = stablehlo.transpose %159, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %163:3 = call @layer_norm_16(%101#1, %101#2, %101#3, %101#4, %101#5, %101#6, %161) : (tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x8xf32>, tensor<1x1x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    %164 = call @_where_17(%96, %163#0) : (tensor<2x4x8xi1>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %cst_32 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %165 = stablehlo.broadcast_in_dim %cst_32, dims = [] : (tensor<f32>) -> tensor<2x4x8xf32>
    %166 = stablehlo.divide %164, %165 : tensor<2x4x8xf32>
    %cst_33 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %167 = stablehlo.reduce(%166 init: %cst_33) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<8xf32>
    %168 = stablehlo.reshape %167 : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %cst_34 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %169 = stablehlo.reduce(%168 init: %cst_34) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %170 = stablehlo.dot_general %166, %91, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<2x4x16xf32>) -> tensor<8x16xf32>
    %171 = stablehlo.transpose %170, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
    %172 = stablehlo.dot_general %166, %arg0, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
    %173 = stablehlo.multiply %83, %172 : tensor<2x4x16xf32>
    %174 = stablehlo.multiply %172, %87 : tensor<2x4x16xf32>
    %cst_35 = stablehlo.constant dense<-1.12837923> : tensor<f32>
    %175 = stablehlo.broadcast_in_dim %cst_35, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %176 = stablehlo.multiply %175, %173 : tensor<2x4x16xf32>
    %177 = stablehlo.multiply %176, %90 : tensor<2x4x16xf32>
    %cst_36 = stablehlo.constant dense<0.707106769> : tensor<f32>
    %178 = stablehlo.broadcast_in_dim %cst_36, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %179 = stablehlo.multiply %177, %178 : tensor<2x4x16xf32>
    %180 = stablehlo.negate %179 : tensor<2x4x16xf32>
    %cst_37 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %181 = stablehlo.broadcast_in_dim %cst_37, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %182 = stablehlo.multiply %181, %174 : tensor<2x4x16xf32>
    %183 = stablehlo.add %180, %182 : tensor<2x4x16xf32>
    %cst_38 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %184 = stablehlo.reduce(%183 init: %cst_38) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4x16xf32>, tensor<f32>) -> tensor<16xf32>
    %185 = stablehlo.reshape %184 : (tensor<16xf32>) -> tensor<1x1x16xf32>
    %cst_39 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %186 = stablehlo.reduce(%185 init: %cst_39) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x16xf32>, tensor<f32>) -> tensor<16xf32>
    %187 = stablehlo.dot_general %183, %75#0, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x16xf32>, tensor<2x4x8xf32>) -> tensor<16x8xf32>
    %188 = stablehlo.transpose %187, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
    %189 = stablehlo.dot_general %183, %arg10, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x16xf32>, tensor<8x16xf32>) -> tensor<2x4x8xf32>
    %190 = stablehlo.add %163#0, %189 : tensor<2x4x8xf32>
    %191:3 = call @layer_norm_16(%75#1, %75#2, %75#3, %75#4, %75#5, %75#6, %190) : (tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x8xf32>, tensor<1x1x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    %cst_40 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %192 = stablehlo.reduce(%191#0 init: %cst_40) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<8xf32>
    %193 = stablehlo.reshape %192 : (tensor<8xf32>) -> tensor<1x1x8xf32>
    %cst_41 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %194 = stablehlo.reduce(%193 init: %cst_41) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %195 = stablehlo.dot_general %191#0, %69, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<8x8xf32>
    %196 = stablehlo.transpose %195, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %197 = stablehlo.dot_general %191#0, %arg6, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    %198 = stablehlo.reshape %197 : (tensor<2x4x8xf32>) -> tensor<2x4x2x4xf32>
    %199 = stablehlo.transpose %198, dims = [0, 2, 3, 1] : (tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
    %200 = stablehlo.dot_general %199, %42, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x2x4x4xf32>, tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
    %201 = stablehlo.dot_general %199, %66, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x2x4x4xf32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
    %202 = stablehlo.transpose %201, dims = [0, 3, 1, 2] : (tensor<2x2x4x4xf32>) -> tensor<2x4x2x4xf32>
    %203 = call @_where_18(%63, %200) : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
    %cst_42 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %204 = stablehlo.broadcast_in_dim %cst_42, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %205 = stablehlo.divide %203, %204 : tensor<2x2x4x4xf32>
    %206 = stablehlo.broadcast_in_dim %62, dims = [0, 1, 2, 3] : (tensor<2x2x4x1xf32>) -> tensor<2x2x4x4xf32>
    %207 = stablehlo.multiply %205, %206 : tensor<2x2x4x4xf32>
    %208 = stablehlo.multiply %207, %55 : tensor<2x2x4x4xf32>
    %cst_43 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %209 = stablehlo.reduce(%208 init: %cst_43) applies stablehlo.add across dimensions = [3] : (tensor<2x2x4x4xf32>, tensor<f32>) -> tensor<2x2x4xf32>
    %210 = stablehlo.reshape %209 : (tensor<2x2x4xf32>) -> tensor<2x2x4x1xf32>
    %211 = stablehlo.negate %210 : tensor<2x2x4x1xf32>
    %212 = stablehlo.broadcast_in_dim %57, dims = [0, 1, 2, 3] : (tensor<2x2x4x1xf32>) -> tensor<2x2x4x4xf32>
    %213 = stablehlo.divide %205, %212 : tensor<2x2x4x4xf32>
    %cst_44 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %214 = stablehlo.reduce(%211 init: %cst_44) applies stablehlo.add across dimensions = [3] : (tensor<2x2x4x1xf32>, tensor<f32>) -> tensor<2x2x4xf32>
    %215 = stablehlo.broadcast_in_dim %214, dims = [0, 1, 2] : (tensor<2x2x4xf32>) -> tensor<2x2x4x4xf32>
    %216 = stablehlo.add %213, %215 : tensor<2x2x4x4xf32>
    %217 = stablehlo.multiply %216, %55 : tensor<2x2x4x4xf32>
    %218 = call @_where_19(%48#1, %217) : (tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
    %219 = stablehlo.broadcast_in_dim %45, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %220 = stablehlo.divide %218, %219 : tensor<2x2x4x4xf32>
    %221 = stablehlo.dot_general %220, %36, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x2x4x4xf32>, tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
    %222 = stablehlo.transpose %221, dims = [0, 2, 1, 3] : (tensor<2x2x4x4xf32>) -> tensor<2x4x2x4xf32>
    %223 = stablehlo.dot_general %220, %39, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x2x4x4xf32>, tensor<2x4x2x4xf32>) -> tensor<2x2x4x4xf32>
    %224 = stablehlo.transpose %223, dims = [0, 2, 1, 3] : (tensor<2x2x4x4xf32>) -> tensor<2x4x2x4xf32>
    %225 = stablehlo.reshape %202 : (tensor<2x4x2x4xf32>) -> tensor<2x4x8xf32>
    %226 = stablehlo.broadcast_in_dim %225, dims = [1, 2, 3] : (tensor<2x4x8xf32>) -> tensor<1x2x4x8xf32>
    %cst_45 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %227 = stablehlo.pad %226, %cst_45, low = [2, 0, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x2x4x8xf32>, tensor<f32>) -> tensor<3x2x4x8xf32>
    %228 = stablehlo.reshape %222 : (tensor<2x4x2x4xf32>) -> tensor<2x4x8xf32>
    %229 = stablehlo.broadcast_in_dim %228, dims = [1, 2, 3] : (tensor<2x4x8xf32>) -> tensor<1x2x4x8xf32>
    %cst_46 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %230 = stablehlo.pad %229, %cst_46, low = [1, 0, 0, 0], high = [1, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x2x4x8xf32>, tensor<f32>) -> tensor<3x2x4x8xf32>
    %231 = stablehlo.add %227, %230 : tensor<3x2x4x8xf32>
    %232 = stablehlo.reshape %224 : (tensor<2x4x2x4xf32>) -> tensor<2x4x8xf32>
    %233 = stablehlo.broadcast_in_dim %232, dims = [1, 2, 3] : (tensor<2x4x8xf32>) -> tensor<1x2x4x8xf32>
    %cst_47 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %234 = stablehlo.pad %233, %cst_47, low = [0, 0, 0, 0], high = [2, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x2x4x8xf32>, tensor<f32>) -> tensor<3x2x4x8xf32>
    %235 = stablehlo.add %231, %234 : tensor<3x2x4x8xf32>
    %cst_48 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %236 = stablehlo.reduce(%235 init: %cst_48) applies stablehlo.add across dimensions = [1, 2] : (tensor<3x2x4x8xf32>, tensor<f32>) -> tensor<3x8xf32>
    %237 = stablehlo.reshape %236 : (tensor<3x8xf32>) -> tensor<3x1x1x8xf32>
    %cst_49 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %238 = stablehlo.reduce(%237 init: %cst_49) applies stablehlo.add across dimensions = [1, 2] : (tensor<3x1x1x8xf32>, tensor<f32>) -> tensor<3x8xf32>
    %239 = stablehlo.transpose %235, dims = [0, 3, 1, 2] : (tensor<3x2x4x8xf32>) -> tensor<3x8x2x4xf32>
    %240 = stablehlo.dot_general %239, %arg8, contracting_dims = [0, 1] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<3x8x2x4xf32>, tensor<8x3x8xf32>) -> tensor<2x4x8xf32>
    %241 = stablehlo.add %191#0, %240 : tensor<2x4x8xf32>
    %242 = stablehlo.dot_general %239, %23, contracting_dims = [2, 3] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<3x8x2x4xf32>, tensor<2x4x8xf32>) -> tensor<3x8x8xf32>
    %243 = stablehlo.transpose %242, dims = [2, 0, 1] : (tensor<3x8x8xf32>) -> tensor<8x3x8xf32>
    %244 = call @_where_17(%20, %241) : (tensor<2x4x8xi1>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    %cst_50 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %245 = stablehlo.broadcast_in_dim %cst_50, dims = [] : (tensor<f32>) -> tensor<2x4x8xf32>
    %246 = stablehlo.divide %244, %245 : tensor<2x4x8xf32>
    %247:3 = call @layer_norm_16(%19#1, %19#2, %19#3, %19#4, %19#5, %19#6, %246) : (tensor<2x4x8xf32>, tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<2x4x8xf32>, tensor<1x1x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
    %cst_51 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %248 = stablehlo.broadcast_in_dim %cst_51, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %249 = "stablehlo.scatter"(%248, %16, %247#0) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg65: tensor<f32>, %arg66: tensor<f32>):
      %340 = stablehlo.add %arg65, %arg66 : tensor<f32>
      stablehlo.return %340 : tensor<f32>
    }) : (tensor<2x8xf32>, tensor<2x4x1xi32>, tensor<2x4x8xf32>) -> tensor<2x8xf32>
    %cst_52 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %250 = stablehlo.reduce(%247#0 init: %cst_52) applies stablehlo.add across dimensions = [0] : (tensor<2x4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %251 = stablehlo.reshape %250 : (tensor<4x8xf32>) -> tensor<1x4x8xf32>
    %cst_53 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %252 = stablehlo.reduce(%251 init: %cst_53) applies stablehlo.add across dimensions = [0] : (tensor<1x4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %cst_54 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %253 = stablehlo.broadcast_in_dim %cst_54, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %254 = "stablehlo.scatter"(%253, %6, %247#0) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg65: tensor<f32>, %arg66: tensor<f32>):
      %340 = stablehlo.add %arg65, %arg66 : tensor<f32>
      stablehlo.return %340 : tensor<f32>
    }) : (tensor<16x8xf32>, tensor<2x4x1xi32>, tensor<2x4x8xf32>) -> tensor<16x8xf32>
    %255 = stablehlo.add %162, %254 : tensor<16x8xf32>
    %256 = stablehlo.reshape %171 : (tensor<16x8xf32>) -> tensor<128xf32>
    %257 = stablehlo.reshape %171 : (tensor<16x8xf32>) -> tensor<128xf32>
    %258 = stablehlo.dot_general %256, %257, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128xf32>, tensor<128xf32>) -> tensor<f32>
    %cst_55 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %259 = stablehlo.add %cst_55, %258 : tensor<f32>
    %260 = stablehlo.dot_general %169, %169, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %261 = stablehlo.add %259, %260 : tensor<f32>
    %262 = stablehlo.dot_general %191#1, %191#1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %263 = stablehlo.add %261, %262 : tensor<f32>
    %264 = stablehlo.dot_general %191#2, %191#2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %265 = stablehlo.add %263, %264 : tensor<f32>
    %266 = stablehlo.dot_general %163#1, %163#1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %267 = stablehlo.add %265, %266 : tensor<f32>
    %268 = stablehlo.dot_general %163#2, %163#2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %269 = stablehlo.add %267, %268 : tensor<f32>
    %270 = stablehlo.reshape %196 : (tensor<8x8xf32>) -> tensor<64xf32>
    %271 = stablehlo.reshape %196 : (tensor<8x8xf32>) -> tensor<64xf32>
    %272 = stablehlo.dot_general %270, %271, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64xf32>, tensor<64xf32>) -> tensor<f32>
    %273 = stablehlo.add %269, %272 : tensor<f32>
    %274 = stablehlo.dot_general %194, %194, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %275 = stablehlo.add %273, %274 : tensor<f32>
    %276 = stablehlo.reshape %243 : (tensor<8x3x8xf32>) -> tensor<192xf32>
    %277 = stablehlo.reshape %243 : (tensor<8x3x8xf32>) -> tensor<192xf32>
    %278 = stablehlo.dot_general %276, %277, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<192xf32>, tensor<192xf32>) -> tensor<f32>
    %279 = stablehlo.add %275, %278 : tensor<f32>
    %280 = stablehlo.reshape %238 : (tensor<3x8xf32>) -> tensor<24xf32>
    %281 = stablehlo.reshape %238 : (tensor<3x8xf32>) -> tensor<24xf32>
    %282 = stablehlo.dot_general %280, %281, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<24xf32>, tensor<24xf32>) -> tensor<f32>
    %283 = stablehlo.add %279, %282 : tensor<f32>
    %284 = stablehlo.reshape %188 : (tensor<8x16xf32>) -> tensor<128xf32>
    %285 = stablehlo.reshape %188 : (tensor<8x16xf32>) -> tensor<128xf32>
    %286 = stablehlo.dot_general %284, %285, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128xf32>, tensor<128xf32>) -> tensor<f32>
    %287 = stablehlo.add %283, %286 : tensor<f32>
    %288 = stablehlo.dot_general %186, %186, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16xf32>, tensor<16xf32>) -> tensor<f32>
    %289 = stablehlo.add %287, %288 : tensor<f32>
    %290 = stablehlo.reshape %141 : (tensor<8x2xf32>) -> tensor<16xf32>
    %291 = stablehlo.reshape %141 : (tensor<8x2xf32>) -> tensor<16xf32>
    %292 = stablehlo.dot_general %290, %291, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16xf32>, tensor<16xf32>) -> tensor<f32>
    %293 = stablehlo.add %289, %292 : tensor<f32>
    %294 = stablehlo.dot_general %247#1, %247#1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %295 = stablehlo.add %293, %294 : tensor<f32>
    %296 = stablehlo.dot_general %247#2, %247#2, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
    %297 = stablehlo.add %295, %296 : tensor<f32>
    %298 = stablehlo.reshape %147 : (tensor<8x8xf32>) -> tensor<64xf32>
    %299 = stablehlo.reshape %147 : (tensor<8x8xf32>) -> tensor<64xf32>
    %300 = stablehlo.dot_general %298, %299, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64xf32>, tensor<64xf32>) -> tensor<f32>
    %301 = stablehlo.add %297, %300 : tensor<f32>
    %302 = stablehlo.reshape %252 : (tensor<4x8xf32>) -> tensor<32xf32>
    %303 = stablehlo.reshape %252 : (tensor<4x8xf32>) -> tensor<32xf32>
    %304 = stablehlo.dot_general %302, %303, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32xf32>, tensor<32xf32>) -> tensor<f32>
    %305 = stablehlo.add %301, %304 : tensor<f32>
    %306 = stablehlo.reshape %249 : (tensor<2x8xf32>) -> tensor<16xf32>
    %307 = stablehlo.reshape %249 : (tensor<2x8xf32>) -> tensor<16xf32>
    %308 = stablehlo.dot_general %306, %307, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16xf32>, tensor<16xf32>) -> tensor<f32>
    %309 = stablehlo.add %305, %308 : tensor<f32>
    %310 = stablehlo.reshape %255 : (tensor<16x8xf32>) -> tensor<128xf32>
    %311 = stablehlo.reshape %255 : (tensor<16x8xf32>) -> tensor<128xf32>
    %312 = stablehlo.dot_general %310, %311, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<128xf32>, tensor<128xf32>) -> tensor<f32>
    %313 = stablehlo.add %309, %312 : tensor<f32>
    %314 = stablehlo.sqrt %313 : tensor<f32>
    %cst_56 = stablehlo.constant dense<9.99999997E-7> : tensor<f32>
    %315 = stablehlo.add %314, %cst_56 : tensor<f32>
    %cst_57 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %316 = stablehlo.divide %cst_57, %315 : tensor<f32>
    %cst_58 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %317 = stablehlo.minimum %cst_58, %316 : tensor<f32>
    %cst_59 = stablehlo.constant dense<1.000000e+01> : tensor<f32>
    %318 = stablehlo.divide %0, %cst_59 : tensor<f32>
    %cst_60 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %319 = stablehlo.minimum %cst_60, %318 : tensor<f32>
    %cst_61 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %320 = stablehlo.multiply %cst_61, %319 : tensor<f32>
    %321:3 = call @adamw(%arg0, %171, %arg19, %arg38, %317, %0, %320) : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>)
    %322:3 = call @adamw_20(%arg1, %169, %arg20, %arg39, %317, %0, %320) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %323:3 = call @adamw_20(%arg2, %191#1, %arg21, %arg40, %317, %0, %320) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %324:3 = call @adamw_20(%arg3, %191#2, %arg22, %arg41, %317, %0, %320) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %325:3 = call @adamw_20(%arg4, %163#1, %arg23, %arg42, %317, %0, %320) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %326:3 = call @adamw_20(%arg5, %163#2, %arg24, %arg43, %317, %0, %320) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %327:3 = call @adamw_21(%arg6, %196, %arg25, %arg44, %317, %0, %320) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>)
    %328:3 = call @adamw_20(%arg7, %194, %arg26, %arg45, %317, %0, %320) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %329:3 = call @adamw_22(%arg8, %243, %arg27, %arg46, %317, %0, %320) : (tensor<8x3x8xf32>, tensor<8x3x8xf32>, tensor<8x3x8xf32>, tensor<8x3x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x3x8xf32>, tensor<8x3x8xf32>, tensor<8x3x8xf32>)
    %330:3 = call @adamw_23(%arg9, %238, %arg28, %arg47, %317, %0, %320) : (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>)
    %331:3 = call @adamw_24(%arg10, %188, %arg29, %arg48, %317, %0, %320) : (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>)
    %332:3 = call @adamw_25(%arg11, %186, %arg30, %arg49, %317, %0, %320) : (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<16xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>)
    %333:3 = call @adamw_26(%arg12, %141, %arg31, %arg50, %317, %0, %320) : (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>)
    %334:3 = call @adamw_20(%arg13, %247#1, %arg32, %arg51, %317, %0, %320) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %335:3 = call @adamw_20(%arg14, %247#2, %arg33, %arg52, %317, %0, %320) : (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
    %336:3 = call @adamw_21(%arg15, %147, %arg34, %arg53, %317, %0, %320) : (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>)
    %337:3 = call @adamw_27(%arg16, %252, %arg35, %arg54, %317, %0, %320) : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>)
    %338:3 = call @adamw_28(%arg17, %249, %arg36, %arg55, %317, %0, %320) : (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>)
    %339:3 = call @adamw(%arg18, %255, %arg37, %arg56, %317, %0, %320) : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>)
    return %321#0, %322#0, %323#0, %324#0, %325#0, %326#0, %327#0, %328#0, %329#0, %330#0, %331#0, %332#0, %333#0, %334#0, %335#0, %336#0, %337#0, %338#0, %339#0, %321#1, %322#1, %323#1, %324#1, %325#1, %326#1, %327#1, %328#1, %329#1, %330#1, %331#1, %332#1, %333#1, %334#1, %335#1, %336#1, %337#1, %338#1, %339#1, %321#2, %322#2, %323#2, %324#2, %325#2, %326#2, %327#2, %328#2, %329#2, %330#2, %331#2, %332#2, %333#2, %334#2, %335#2, %336#2, %337#2, %338#2, %339#2, %0, %132, %314 : tensor<16x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x3x8xf32>, tensor<3x8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<8x2xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<4x8xf32>, tensor<2x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x3x8xf32>, tensor<3x8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<8x2xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<4x8xf32>, tensor<2x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<8xf32>, tensor<8x3x8xf32>, tensor<3x8xf32>, tensor<8x16xf32>, tensor<16xf32>, tensor<8x2xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x8xf32>, tensor<4x8xf32>, tensor<2x8xf32>, tensor<16x8xf32>, tensor<f32>, tensor<f32>, tensor<f32>
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
  func.func private @_where_4(%arg0: tensor<2x1x1x4xi1>, %arg1: tensor<2x2x4x4xf32>, %arg2: tensor<f32>) -> (tensor<2x2x4x4xf32>, tensor<2x2x4x4xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1, 2, 3] : (tensor<2x1x1x4xi1>) -> tensor<2x2x4x4xi1>
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
  func.func private @log_softmax(%arg0: tensor<2x4x16xf32>) -> (tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x4x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [2] : (tensor<2x4x16xf32>, tensor<f32>) -> tensor<2x4xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<2x4xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1, 2] : (tensor<2x4x1xf32>) -> tensor<2x4x16xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x4x16xf32>
    %6 = stablehlo.exponential %5 : tensor<2x4x16xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [2] : (tensor<2x4x16xf32>, tensor<f32>) -> tensor<2x4xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x1xf32>
    %9 = stablehlo.log %8 : tensor<2x4x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1, 2] : (tensor<2x4x1xf32>) -> tensor<2x4x16xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<2x4x16xf32>
    return %11, %6, %8 : tensor<2x4x16xf32>, tensor<2x4x16xf32>, tensor<2x4x1xf32>
  }
  func.func private @take_along_axis(%arg0: tensor<2x4x16xf32>, %arg1: tensor<2x4x1xi32>) -> (tensor<2x4x1xf32>, tensor<2x4x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x4x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<2x4x1xi32>, tensor<2x4x1xi32>) -> tensor<2x4x1xi1>
    %c_0 = stablehlo.constant dense<16> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x4x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<2x4x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<2x4x1xi1>, tensor<2x4x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<2x4x1xi32>) -> tensor<2x4x1x1xi32>
    %c_1 = stablehlo.constant dense<15> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2x4x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<2x4x1x1xi32>, tensor<2x4x1x1xi32>) -> tensor<2x4x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xi32>) -> tensor<2x4x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<2x4x1x1xi32>, tensor<2x4x1x1xi32>) -> tensor<2x4x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<2x4x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [3] : (tensor<2x4x1x1xi1>, tensor<i1>) -> tensor<2x4x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x4x16xf32>, tensor<2x4x1x1xi32>) -> tensor<2x4x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<2x4x1xi1>, tensor<2x4x1xf32>
    return %15, %5 : tensor<2x4x1xf32>, tensor<2x4x1x1xi32>
  }
  func.func private @log_softmax_10(%arg0: tensor<2x2xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.maximum %1, %0 : tensor<2xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0] : (tensor<2xf32>) -> tensor<2x1xf32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x2xf32>
    %5 = stablehlo.subtract %arg0, %4 : tensor<2x2xf32>
    %6 = stablehlo.exponential %5 : tensor<2x2xf32>
    %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %7 = stablehlo.reduce(%6 init: %cst_1) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [0] : (tensor<2xf32>) -> tensor<2x1xf32>
    %9 = stablehlo.log %8 : tensor<2x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x2xf32>
    %11 = stablehlo.subtract %5, %10 : tensor<2x2xf32>
    return %11, %6, %8 : tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x1xf32>
  }
  func.func private @take_along_axis_11(%arg0: tensor<2x2xf32>, %arg1: tensor<2x1xi32>) -> (tensor<2x1xf32>, tensor<2x1x1xi32>) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2x1xi32>
    %1 = stablehlo.compare LT, %arg1, %0, SIGNED : (tensor<2x1xi32>, tensor<2x1xi32>) -> tensor<2x1xi1>
    %c_0 = stablehlo.constant dense<2> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2x1xi32>
    %3 = stablehlo.add %arg1, %2 : tensor<2x1xi32>
    %4 = stablehlo.select %1, %3, %arg1 : tensor<2x1xi1>, tensor<2x1xi32>
    %5 = stablehlo.reshape %4 : (tensor<2x1xi32>) -> tensor<2x1x1xi32>
    %c_1 = stablehlo.constant dense<1> : tensor<1xi32>
    %c_2 = stablehlo.constant dense<0> : tensor<i32>
    %6 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<2x1x1xi32>
    %7 = stablehlo.compare GE, %5, %6, SIGNED : (tensor<2x1x1xi32>, tensor<2x1x1xi32>) -> tensor<2x1x1xi1>
    %8 = stablehlo.broadcast_in_dim %c_1, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<2x1x1xi32>
    %10 = stablehlo.compare LE, %5, %9, SIGNED : (tensor<2x1x1xi32>, tensor<2x1x1xi32>) -> tensor<2x1x1xi1>
    %11 = stablehlo.and %7, %10 : tensor<2x1x1xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<i1>
    %12 = stablehlo.reduce(%11 init: %c_3) applies stablehlo.and across dimensions = [2] : (tensor<2x1x1xi1>, tensor<i1>) -> tensor<2x1xi1>
    %13 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<2x2xf32>, tensor<2x1x1xi32>) -> tensor<2x1xf32>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x1xf32>
    %15 = stablehlo.select %12, %13, %14 : tensor<2x1xi1>, tensor<2x1xf32>
    return %15, %5 : tensor<2x1xf32>, tensor<2x1x1xi32>
  }
  func.func private @take_along_axis_12(%arg0: tensor<2x1x1xi32>, %arg1: tensor<2x1xf32>) -> tensor<2x2xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<2x2xf32>, tensor<2x1x1xi32>, tensor<2x1xf32>) -> tensor<2x2xf32>
    return %1 : tensor<2x2xf32>
  }
  func.func private @log_softmax_13(%arg0: tensor<2x2xf32>, %arg1: tensor<2x1xf32>, %arg2: tensor<2x2xf32>) -> tensor<2x2xf32> {
    %0 = stablehlo.negate %arg2 : tensor<2x2xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<2x2xf32>, tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.reshape %1 : (tensor<2xf32>) -> tensor<2x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<2x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [1] : (tensor<2x1xf32>, tensor<f32>) -> tensor<2xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xf32>) -> tensor<2x2xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<2x2xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<2x2xf32>
    return %7 : tensor<2x2xf32>
  }
  func.func private @take_along_axis_14(%arg0: tensor<2x4x1x1xi32>, %arg1: tensor<2x4x1xf32>) -> tensor<2x4x16xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x16xf32>
    %1 = "stablehlo.scatter"(%0, %arg0, %arg1) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<2x4x16xf32>, tensor<2x4x1x1xi32>, tensor<2x4x1xf32>) -> tensor<2x4x16xf32>
    return %1 : tensor<2x4x16xf32>
  }
  func.func private @log_softmax_15(%arg0: tensor<2x4x16xf32>, %arg1: tensor<2x4x1xf32>, %arg2: tensor<2x4x16xf32>) -> tensor<2x4x16xf32> {
    %0 = stablehlo.negate %arg2 : tensor<2x4x16xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<2x4x16xf32>, tensor<f32>) -> tensor<2x4xf32>
    %2 = stablehlo.reshape %1 : (tensor<2x4xf32>) -> tensor<2x4x1xf32>
    %3 = stablehlo.divide %2, %arg1 : tensor<2x4x1xf32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.reduce(%3 init: %cst_0) applies stablehlo.add across dimensions = [2] : (tensor<2x4x1xf32>, tensor<f32>) -> tensor<2x4xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<2x4xf32>) -> tensor<2x4x16xf32>
    %6 = stablehlo.multiply %5, %arg0 : tensor<2x4x16xf32>
    %7 = stablehlo.add %arg2, %6 : tensor<2x4x16xf32>
    return %7 : tensor<2x4x16xf32>
  }
  func.func private @layer_norm_16(%arg0: tensor<2x4x8xf32>, %arg1: tensor<2x4x1xf32>, %arg2: tensor<2x4x1xf32>, %arg3: tensor<2x4x8xf32>, %arg4: tensor<1x1x8xf32>, %arg5: tensor<2x4x8xf32>, %arg6: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) {
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
  func.func private @_where_17(%arg0: tensor<2x4x8xi1>, %arg1: tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x8xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x4x8xi1>, tensor<2x4x8xf32>
    return %1 : tensor<2x4x8xf32>
  }
  func.func private @_where_18(%arg0: tensor<2x2x4x4xi1>, %arg1: tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x2x4x4xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<2x2x4x4xi1>, tensor<2x2x4x4xf32>
    return %1 : tensor<2x2x4x4xf32>
  }
  func.func private @_where_19(%arg0: tensor<2x2x4x4xi1>, %arg1: tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32> {
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
  func.func private @adamw_20(%arg0: tensor<8xf32>, %arg1: tensor<8xf32>, %arg2: tensor<8xf32>, %arg3: tensor<8xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
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
  func.func private @adamw_21(%arg0: tensor<8x8xf32>, %arg1: tensor<8x8xf32>, %arg2: tensor<8x8xf32>, %arg3: tensor<8x8xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
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
  func.func private @adamw_22(%arg0: tensor<8x3x8xf32>, %arg1: tensor<8x3x8xf32>, %arg2: tensor<8x3x8xf32>, %arg3: tensor<8x3x8xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<8x3x8xf32>, tensor<8x3x8xf32>, tensor<8x3x8xf32>) {
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
  func.func private @adamw_23(%arg0: tensor<3x8xf32>, %arg1: tensor<3x8xf32>, %arg2: tensor<3x8xf32>, %arg3: tensor<3x8xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<3x8xf32>, tensor<3x8xf32>, tensor<3x8xf32>) {
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
  func.func private @adamw_24(%arg0: tensor<8x16xf32>, %arg1: tensor<8x16xf32>, %arg2: tensor<8x16xf32>, %arg3: tensor<8x16xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>) {
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
  func.func private @adamw_25(%arg0: tensor<16xf32>, %arg1: tensor<16xf32>, %arg2: tensor<16xf32>, %arg3: tensor<16xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xf32>) {
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
  func.func private @adamw_26(%arg0: tensor<8x2xf32>, %arg1: tensor<8x2xf32>, %arg2: tensor<8x2xf32>, %arg3: tensor<8x2xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f32>) -> tensor<8x2xf32>
    %1 = stablehlo.multiply %arg1, %0 : tensor<8x2xf32>
    %cst = stablehlo.constant dense<0.899999976> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<8x2xf32>
    %3 = stablehlo.multiply %2, %arg2 : tensor<8x2xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x2xf32>
    %5 = stablehlo.multiply %4, %1 : tensor<8x2xf32>
    %6 = stablehlo.add %3, %5 : tensor<8x2xf32>
    %cst_1 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x2xf32>
    %8 = stablehlo.multiply %7, %arg3 : tensor<8x2xf32>
    %9 = chlo.square %1 : tensor<8x2xf32> -> tensor<8x2xf32>
    %cst_2 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<8x2xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<8x2xf32>
    %12 = stablehlo.add %8, %11 : tensor<8x2xf32>
    %cst_3 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %13 = stablehlo.power %cst_3, %arg5 : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.subtract %cst_4, %13 : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<8x2xf32>
    %16 = stablehlo.divide %6, %15 : tensor<8x2xf32>
    %cst_5 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %17 = stablehlo.power %cst_5, %arg5 : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.subtract %cst_6, %17 : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<8x2xf32>
    %20 = stablehlo.divide %12, %19 : tensor<8x2xf32>
    %21 = stablehlo.sqrt %20 : tensor<8x2xf32>
    %cst_7 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<8x2xf32>
    %23 = stablehlo.add %21, %22 : tensor<8x2xf32>
    %24 = stablehlo.divide %16, %23 : tensor<8x2xf32>
    %cst_8 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<8x2xf32>
    %26 = stablehlo.multiply %25, %arg0 : tensor<8x2xf32>
    %27 = stablehlo.add %24, %26 : tensor<8x2xf32>
    %28 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<8x2xf32>
    %29 = stablehlo.multiply %28, %27 : tensor<8x2xf32>
    %30 = stablehlo.subtract %arg0, %29 : tensor<8x2xf32>
    return %30, %6, %12 : tensor<8x2xf32>, tensor<8x2xf32>, tensor<8x2xf32>
  }
  func.func private @adamw_27(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xf32>, %arg2: tensor<4x8xf32>, %arg3: tensor<4x8xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
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
  func.func private @adamw_28(%arg0: tensor<2x8xf32>, %arg1: tensor<2x8xf32>, %arg2: tensor<2x8xf32>, %arg3: tensor<2x8xf32>, %arg4: tensor<f32>, %arg5: tensor<f32>, %arg6: tensor<f32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %1 = stablehlo.multiply %arg1, %0 : tensor<2x8xf32>
    %cst = stablehlo.constant dense<0.899999976> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %3 = stablehlo.multiply %2, %arg2 : tensor<2x8xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %5 = stablehlo.multiply %4, %1 : tensor<2x8xf32>
    %6 = stablehlo.add %3, %5 : tensor<2x8xf32>
    %cst_1 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %8 = stablehlo.multiply %7, %arg3 : tensor<2x8xf32>
    %9 = chlo.square %1 : tensor<2x8xf32> -> tensor<2x8xf32>
    %cst_2 = stablehlo.constant dense<1.000000e-03> : tensor<f32>
    %10 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %11 = stablehlo.multiply %10, %9 : tensor<2x8xf32>
    %12 = stablehlo.add %8, %11 : tensor<2x8xf32>
    %cst_3 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %13 = stablehlo.power %cst_3, %arg5 : tensor<f32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %14 = stablehlo.subtract %cst_4, %13 : tensor<f32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %16 = stablehlo.divide %6, %15 : tensor<2x8xf32>
    %cst_5 = stablehlo.constant dense<9.990000e-01> : tensor<f32>
    %17 = stablehlo.power %cst_5, %arg5 : tensor<f32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %18 = stablehlo.subtract %cst_6, %17 : tensor<f32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %20 = stablehlo.divide %12, %19 : tensor<2x8xf32>
    %21 = stablehlo.sqrt %20 : tensor<2x8xf32>
    %cst_7 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %23 = stablehlo.add %21, %22 : tensor<2x8xf32>
    %24 = stablehlo.divide %16, %23 : tensor<2x8xf32>
    %cst_8 = stablehlo.constant dense<0.00999999977> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %26 = stablehlo.multiply %25, %arg0 : tensor<2x8xf32>
    %27 = stablehlo.add %24, %26 : tensor<2x8xf32>
    %28 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<2x8xf32>
    %29 = stablehlo.multiply %28, %27 : tensor<2x8xf32>
    %30 = stablehlo.subtract %arg0, %29 : tensor<2x8xf32>
    return %30, %6, %12 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
  }
}
