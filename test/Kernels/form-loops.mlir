// Ops that work step by step compute the same as loops. The numbers avoid rounding.
// RUN: st-translate --interpret %s > %t.before
// RUN: st-opt --form-loops %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.after
// RUN: diff %t.before %t.after
// RUN: st-opt --form-loops %t.mlir | diff %t.mlir -

// CHECK-NOT: stablehlo.cholesky
// CHECK-NOT: stablehlo.triangular_solve
func.func @main() -> (tensor<2x3x3xf32>, tensor<2x3x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<4x2xi32>,
                      tensor<4x2xi32>, tensor<4x2xi32>, tensor<2x3xi32>) {
  // Only one triangle is read. The second matrix is not positive definite.
  %a = stablehlo.constant dense<[[[4.0, 9.0, 9.0], [2.0, 10.0, 9.0], [6.0, 0.0, 19.0]],
                                 [[4.0, 9.0, 9.0], [2.0, 1.0, 9.0], [6.0, 0.0, 19.0]]]> : tensor<2x3x3xf32>
  // CHECK: stablehlo.while
  %lower = stablehlo.cholesky %a, lower = true : tensor<2x3x3xf32>
  %b = stablehlo.transpose %a, dims = [0, 2, 1] : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
  // CHECK: stablehlo.while
  %upper = stablehlo.cholesky %b, lower = false : tensor<2x3x3xf32>

  %t = stablehlo.constant dense<[[2.0, 9.0, 9.0], [4.0, 0.5, 9.0], [1.0, 3.0, 4.0]]> : tensor<3x3xf32>
  %c = stablehlo.constant dense<[[2.0, 4.0], [8.0, 1.0], [6.0, 5.0]]> : tensor<3x2xf32>
  %d = stablehlo.transpose %c, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  // CHECK: stablehlo.while
  %left = "stablehlo.triangular_solve"(%t, %c) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  // CHECK: stablehlo.while
  %right = "stablehlo.triangular_solve"(%t, %d) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = true}> : (tensor<3x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>

  // Row 3 appears twice, which the order shows; a row is out of bounds.
  %x = stablehlo.constant dense<[[1, 2], [3, 4], [5, 6], [7, 8]]> : tensor<4x2xi32>
  %rows = stablehlo.constant dense<[3, 0, 9, 3]> : tensor<4xui64>
  %updates = stablehlo.constant dense<[[10, 20], [30, 40], [50, 60], [70, 80]]> : tensor<4x2xi32>
  // CHECK: stablehlo.while
  %ordered = "stablehlo.scatter"(%x, %rows, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %two = stablehlo.constant dense<2> : tensor<i32>
    %0 = stablehlo.multiply %p, %two : tensor<i32>
    %1 = stablehlo.add %0, %q : tensor<i32>
    stablehlo.return %1 : tensor<i32>
  }) : (tensor<4x2xi32>, tensor<4xui64>, tensor<4x2xi32>) -> tensor<4x2xi32>
  // Combined updates of a transfer stay; without overlapping updates there is no order.
  // CHECK: "stablehlo.scatter"
  %sum = "stablehlo.scatter"(%x, %rows, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %0 = stablehlo.add %p, %q : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<4x2xi32>, tensor<4xui64>, tensor<4x2xi32>) -> tensor<4x2xi32>
  %others = stablehlo.constant dense<[2, 0, 9, 1]> : tensor<4xi32>
  // CHECK: "stablehlo.gather"
  // CHECK: "stablehlo.scatter"
  %unique = "stablehlo.scatter"(%x, %others, %updates) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %0 = stablehlo.multiply %p, %p : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<4x2xi32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<4x2xi32>

  // Each row of the tensor has its own indices.
  %y = stablehlo.constant dense<[[1, 2, 3], [4, 5, 6]]> : tensor<2x3xi32>
  %places = stablehlo.constant dense<[[[0], [2]], [[1], [1]]]> : tensor<2x2x1xi32>
  %pieces = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  // CHECK: stablehlo.while
  %batched = "stablehlo.scatter"(%y, %places, %pieces) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
  ^bb0(%p: tensor<i32>, %q: tensor<i32>):
    %0 = stablehlo.subtract %p, %q : tensor<i32>
    stablehlo.return %0 : tensor<i32>
  }) : (tensor<2x3xi32>, tensor<2x2x1xi32>, tensor<2x2xi32>) -> tensor<2x3xi32>
  return %lower, %upper, %left, %right, %ordered, %sum, %unique, %batched : tensor<2x3x3xf32>, tensor<2x3x3xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<4x2xi32>, tensor<4x2xi32>, tensor<4x2xi32>, tensor<2x3xi32>
}
