// Indices of eight bits into a dimension that is longer than eight bits count, unsharded and sharded.
//
// RUN: st-translate --interpret %s > %t.whole
// RUN: st-opt --propagate-shardings --insert-reshards --global-to-local %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.parts
// RUN: diff %t.whole %t.parts

st.mesh @mesh <["a"=4], micro=1>
func.func @main() -> (tensor<4x2xf32>, tensor<600x2xf32>) {
  %i = stablehlo.iota dim = 0 : tensor<600x2xf32>
  %rows = st.constrain %i to <@mesh, [{"a"}, {}]> : tensor<600x2xf32>
  %ids = stablehlo.constant dense<[[3], [250], [199], [160]]> : tensor<4x1xui8>
  // CHECK: stablehlo.convert %{{.*}} : (tensor<4x1xui8>) -> tensor<4x1xi32>
  // CHECK: "stablehlo.gather"({{.*}}) {{.*}} : (tensor<150x2xf32>, tensor<4x1xi32>) -> tensor<4x2xf32>
  %0 = "stablehlo.gather"(%rows, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}>
       : (tensor<600x2xf32>, tensor<4x1xui8>) -> tensor<4x2xf32>
  // CHECK: "stablehlo.scatter"({{.*}}
  // CHECK: (tensor<150x2xf32>, tensor<4x1xi32>, tensor<4x2xf32>) -> tensor<150x2xf32>
  %1 = "stablehlo.scatter"(%rows, %ids, %0) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<600x2xf32>, tensor<4x1xui8>, tensor<4x2xf32>) -> tensor<600x2xf32>
  return %0, %1 : tensor<4x2xf32>, tensor<600x2xf32>
}
