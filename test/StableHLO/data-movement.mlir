// RUN: st-opt %s | st-opt | FileCheck %s
// RUN: st-opt %s --mlir-print-op-generic | st-opt | FileCheck %s

// CHECK-LABEL: func.func @constants
func.func @constants() {
  // CHECK: %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  %0 = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
  // CHECK: %cst = stablehlo.constant {st.note = 1 : i32} dense<0xFF800000> : tensor<2x3xf32>
  %1 = stablehlo.constant {st.note = 1 : i32} dense<0xFF800000> : tensor<2x3xf32>
  // CHECK: stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %2 = stablehlo.constant dense<"0x0000803F00000040"> : tensor<2xf32>
  // CHECK: stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
  %bytes = stablehlo.constant dense<"0x000101"> : tensor<3xi1>
  // CHECK: stablehlo.constant dense<[false, true, true]> : tensor<3xi1>
  %bits = stablehlo.constant dense<"0x06"> : tensor<3xi1>
  // CHECK: stablehlo.constant dense<true> : tensor<16xi1>
  %splat = stablehlo.constant dense<"0xFF"> : tensor<16xi1>
  // CHECK: stablehlo.constant dense_resource<blob> : tensor<2xf32>
  %3 = stablehlo.constant dense_resource<blob> : tensor<2xf32>
  // CHECK: stablehlo.constant dense<(1.000000e+00,-1.000000e+00)> : tensor<complex<f32>>
  %4 = stablehlo.constant dense<(1.0,-1.0)> : tensor<complex<f32>>
  // CHECK: stablehlo.constant dense<> : tensor<0xui8>
  %5 = stablehlo.constant dense<> : tensor<0xui8>
  // CHECK: stablehlo.iota dim = 1 : tensor<2x3xui64>
  %6 = stablehlo.iota dim = 1 : tensor<2x3xui64>
  return
}

// CHECK-LABEL: func.func @shapes
func.func @shapes(%x: tensor<2x3xf32>, %s: tensor<f32>) {
  // CHECK: stablehlo.bitcast_convert %arg0 : (tensor<2x3xf32>) -> tensor<2x3x4xui8>
  %0 = stablehlo.bitcast_convert %x : (tensor<2x3xf32>) -> tensor<2x3x4xui8>
  // CHECK: stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<4xf32>
  %1 = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>
  // CHECK: stablehlo.reshape %arg0 : (tensor<2x3xf32>) -> tensor<6xf32>
  %2 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<6xf32>
  // CHECK: stablehlo.reverse %arg0, dims = [0, 1] : tensor<2x3xf32>
  %3 = stablehlo.reverse %x, dims = [0, 1] : tensor<2x3xf32>
  // CHECK: stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %4 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  return
}

// CHECK-LABEL: func.func @pieces
func.func @pieces(%x: tensor<2x3xf32>, %s: tensor<f32>, %i: tensor<i32>) {
  // CHECK: stablehlo.concatenate %arg0, %arg0, dim = 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  %0 = stablehlo.concatenate %x, %x, dim = 1 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  // CHECK: stablehlo.slice %arg0 [1:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<1x2xf32>
  %1 = stablehlo.slice %x [1:2, 0:3:2] : (tensor<2x3xf32>) -> tensor<1x2xf32>
  // CHECK: stablehlo.slice %arg1 [] : (tensor<f32>) -> tensor<f32>
  %2 = stablehlo.slice %s [] : (tensor<f32>) -> tensor<f32>
  // CHECK: stablehlo.dynamic_slice %arg0, %arg2, %arg2, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
  %3 = stablehlo.dynamic_slice %x, %i, %i, sizes = [1, 2] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x2xf32>
  // CHECK: stablehlo.dynamic_slice %arg1, sizes = [] : (tensor<f32>) -> tensor<f32>
  %4 = stablehlo.dynamic_slice %s, sizes = [] : (tensor<f32>) -> tensor<f32>
  // CHECK: stablehlo.dynamic_update_slice %arg0, %{{.*}}, %arg2, %arg2 : (tensor<2x3xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  %5 = stablehlo.dynamic_update_slice %x, %3, %i, %i : (tensor<2x3xf32>, tensor<1x2xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
  // CHECK: stablehlo.pad %arg0, %arg1, low = [0, -1], high = [2, 0], interior = [1, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<5x2xf32>
  %6 = stablehlo.pad %x, %s, low = [0, -1], high = [2, 0], interior = [1, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<5x2xf32>
  return
}

// Properties with defaults may be absent.
// CHECK-LABEL: func.func @indexed
func.func @indexed(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>, %u: tensor<2x16xf32>, %k: tensor<2xui64>) {
  // CHECK: "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  // CHECK: "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  %2 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<8x16xf32>, tensor<2x1xi32>, tensor<2x16xf32>) -> tensor<8x16xf32>
  // CHECK: %output_state, %output = stablehlo.rng_bit_generator %arg3, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  %4:2 = stablehlo.rng_bit_generator %k, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
  return
}

{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000000803F00000040"
    }
  }
#-}
