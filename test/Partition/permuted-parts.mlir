// A gather whose constant indices name each element of a dimension once is a permutation. Devices that have one element
// each send them to each other; devices that have several gather the dimension.
//
// RUN: st-translate --interpret %s > %t.whole
// RUN: FileCheck %s --check-prefix=VALUES --input-file=%t.whole
// RUN: st-opt %s --propagate-shardings --insert-reshards --global-to-local -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.parts
// RUN: diff %t.whole %t.parts

module {
  st.mesh @mesh <["x"=4, "y"=2], micro=1>
  // CHECK-LABEL: @main
  // CHECK-NOT: all_gather
  // One axis: element i goes to device i + 1.
  // CHECK: st.collective_permute %{{.*}} [3, 0, 0, 1, 1, 2, 2, 3] over ["x"] of @mesh : tensor<1x2xi32>
  // CHECK-NOT: all_gather
  // Two axes, and an order of the mesh's devices.
  // CHECK: st.collective_permute %{{.*}} [7, 0, 6, 1, 5, 2, 4, 3, 3, 4, 2, 5, 1, 6, 0, 7] over ["x", "y"] of @mesh : tensor<3x1xi32>
  // Two elements a device, and indices that name an element twice.
  // CHECK: st.all_gather
  // CHECK: stablehlo.gather
  // CHECK: stablehlo.gather
  // VALUES: result0 = dense<{{\[}}[6, 7], [0, 1], [2, 3], [4, 5]]>
  // VALUES: result1 = dense<{{\[}}[7, 6, 5, 4, 3, 2, 1, 0], [15, 14, 13, 12, 11, 10, 9, 8], [23, 22, 21, 20, 19, 18, 17, 16]]>
  // VALUES: result2 = dense<[7, 0, 1, 2, 3, 4, 5, 6]>
  // VALUES: result3 = dense<{{\[}}[6, 7], [6, 7], [2, 3], [4, 5]]>
  func.func @main() -> (tensor<4x2xi32>, tensor<3x8xi32>, tensor<8xi32>, tensor<4x2xi32>) {
    %a = stablehlo.iota dim = 0 : tensor<8xi32>
    %b = stablehlo.reshape %a : (tensor<8xi32>) -> tensor<4x2xi32>
    %rows = st.constrain %b to <@mesh, [{"x"}, {}]> : tensor<4x2xi32>
    %next = stablehlo.constant dense<[3, 0, 1, 2]> : tensor<4xi32>
    %0 = "stablehlo.gather"(%rows, %next) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<4x2xi32>, tensor<4xi32>) -> tensor<4x2xi32>
    %r0 = st.constrain %0 to <@mesh, [{"x"}, {}]> : tensor<4x2xi32>

    %c = stablehlo.iota dim = 0 : tensor<24xi32>
    %d = stablehlo.reshape %c : (tensor<24xi32>) -> tensor<3x8xi32>
    %columns = st.constrain %d to <@mesh, [{}, {"x", "y"}]> : tensor<3x8xi32>
    %back = stablehlo.constant dense<[7, 6, 5, 4, 3, 2, 1, 0]> : tensor<8xi64>
    %1 = "stablehlo.gather"(%columns, %back) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 3, 1>}> : (tensor<3x8xi32>, tensor<8xi64>) -> tensor<3x8xi32>
    %r1 = st.constrain %1 to <@mesh, [{}, {"x", "y"}]> : tensor<3x8xi32>

    %pairs = st.constrain %a to <@mesh, [{"x"}]> : tensor<8xi32>
    %turned = stablehlo.constant dense<[7, 0, 1, 2, 3, 4, 5, 6]> : tensor<8xi32>
    %2 = "stablehlo.gather"(%pairs, %turned) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
    %r2 = st.constrain %2 to <@mesh, [{"x"}]> : tensor<8xi32>

    %twice = stablehlo.constant dense<[3, 3, 1, 2]> : tensor<4xi32>
    %3 = "stablehlo.gather"(%rows, %twice) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 2>}> : (tensor<4x2xi32>, tensor<4xi32>) -> tensor<4x2xi32>
    return %r0, %r1, %r2, %3 : tensor<4x2xi32>, tensor<3x8xi32>, tensor<8xi32>, tensor<4x2xi32>
  }
}
