// RUN: st-opt %s -split-input-file -verify-diagnostics

func.func @offset_range(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects offset_dims to be in [0, 2), got 2}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @offset_sorted(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects offset_dims to be sorted, got [2, 1]}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x1x16xf32>
  return
}

// -----

func.func @collapsed_range(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects collapsed_slice_dims to be in [0, 2), got 2}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [2], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @batching_sorted(%x: tensor<2x4x5xf32>, %i: tensor<4x2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects operand_batching_dims to be sorted, got [1, 0]}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<operand_batching_dims = [1, 0], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x4x5xf32>, tensor<4x2x1xi32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @index_batching_distinct(%x: tensor<2x4x5xf32>, %i: tensor<4x2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects start_indices_batching_dims to be distinct, got [0, 0]}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x4x5xf32>, tensor<4x2x1xi32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @index_map_range(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects start_index_map to be in [0, 2), got 3}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [3], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @batching_collapsed(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects collapsed_slice_dims and operand_batching_dims to have no dimension in common, got 0 in both}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @batching_indexed(%x: tensor<2x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects start_index_map and operand_batching_dims to have no dimension in common, got 0 in both}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<2x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @listed(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects offset_dims, collapsed_slice_dims and operand_batching_dims to have 2 elements together, one per dimension of 'tensor<8x16xf32>', got 1}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @index_vector_dim(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects index_vector_dim to be in [0, 2], got 3}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 3>, slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @components(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects start_index_map to have 1 elements, one per index component, got 2}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0, 1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @batched_vector(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects start_indices_batching_dims not to contain index_vector_dim 1}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @batching_pairs(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects as many operand_batching_dims as start_indices_batching_dims, got 1 and 0}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @batching_sizes(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects batched dimensions to have one size, got dimension 0 of 'tensor<8x16xf32>' and dimension 0 of 'tensor<2x1xi32>'}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @sizes(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects slice_sizes to have 2 elements, one per dimension, got 1}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @size(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects a slice size of 0 to 16 in dimension 1, got 17}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 17>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @collapsed_size(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects a slice size of at most 1 in dimension 0, which the result leaves out, got 2}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x16xf32>
  return
}

// -----

func.func @gather_result(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.gather' op expects results of type ('tensor<2x16xf32>'), got ('tensor<2x8xf32>')}}
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 16>}> : (tensor<8x16xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>
  return
}

// -----

func.func @scatter_empty(%i: tensor<2x1xi32>) {
  // expected-error @+1 {{'stablehlo.scatter' op expects at least one input}}
  "stablehlo.scatter"(%i) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    stablehlo.return
  }) : (tensor<2x1xi32>) -> ()
  return
}

// -----

func.func @scatter_inputs(%x: tensor<8x16xf32>, %y: tensor<8x8xf32>, %i: tensor<2x1xi32>, %u: tensor<2x16xf32>) {
  // expected-error @+1 {{'stablehlo.scatter' op expects one shape for all inputs, got 'tensor<8x16xf32>' and 'tensor<8x8xf32>'}}
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
    stablehlo.return %a, %b : tensor<f32>, tensor<f32>
  }) : (tensor<8x16xf32>, tensor<8x8xf32>, tensor<2x1xi32>, tensor<2x16xf32>, tensor<2x16xf32>) -> (tensor<8x16xf32>, tensor<8x8xf32>)
  return
}

// -----

func.func @window_range(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>, %u: tensor<2x16xf32>) {
  // expected-error @+1 {{'stablehlo.scatter' op expects update_window_dims to be in [0, 2), got 2}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x16xf32>, tensor<2x1xi32>, tensor<2x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @scatter_listed(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>, %u: tensor<2x16xf32>) {
  // expected-error @+1 {{'stablehlo.scatter' op expects update_window_dims, inserted_window_dims and input_batching_dims to have 2 elements together, one per dimension of 'tensor<8x16xf32>', got 1}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x16xf32>, tensor<2x1xi32>, tensor<2x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @scatter_components(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>, %u: tensor<2x16xf32>) {
  // expected-error @+1 {{'stablehlo.scatter' op expects scatter_dims_to_operand_dims to have 1 elements, one per index component, got 0}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x16xf32>, tensor<2x1xi32>, tensor<2x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @updates_rank(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>, %u: tensor<2x1x16xf32>) {
  // expected-error @+1 {{'stablehlo.scatter' op expects updates with 2 dimensions, 1 of the indices and 1 of a window, got 'tensor<2x1x16xf32>'}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x16xf32>, tensor<2x1xi32>, tensor<2x1x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @updates_batch(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>, %u: tensor<3x16xf32>) {
  // expected-error @+1 {{'stablehlo.scatter' op expects dimension 0 of the updates to be 2, got 'tensor<3x16xf32>'}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x16xf32>, tensor<2x1xi32>, tensor<3x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @updates_window(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>, %u: tensor<2x17xf32>) {
  // expected-error @+1 {{'stablehlo.scatter' op expects dimension 1 of the updates to be at most 16, got 'tensor<2x17xf32>'}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x16xf32>, tensor<2x1xi32>, tensor<2x17xf32>) -> tensor<8x16xf32>
  return
}

// -----

// expected-note@+1 {{the updates are defined here}}
func.func @updates_element(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>, %u: tensor<2x16xf64>) {
  // expected-error @+1 {{'stablehlo.scatter' op expects updates with the element type of 'tensor<8x16xf32>', got 'tensor<2x16xf64>'}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x16xf32>, tensor<2x1xi32>, tensor<2x16xf64>) -> tensor<8x16xf32>
  return
}

// -----

func.func @scatter_body_args(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>, %u: tensor<2x16xf32>) {
  // expected-error @+1 {{'stablehlo.scatter' op expects its update_computation to take ('tensor<f32>', 'tensor<f32>'), got ('tensor<f32>')}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<8x16xf32>, tensor<2x1xi32>, tensor<2x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @scatter_body_results(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>, %u: tensor<2x16xf32>) {
  // expected-error @+1 {{'stablehlo.scatter' op expects its update_computation to return ('tensor<f32>'), got ('tensor<f32>', 'tensor<f32>')}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    // expected-note @+1 {{returned here}}
    stablehlo.return %a, %b : tensor<f32>, tensor<f32>
  }) : (tensor<8x16xf32>, tensor<2x1xi32>, tensor<2x16xf32>) -> tensor<8x16xf32>
  return
}

// -----

func.func @scatter_result(%x: tensor<8x16xf32>, %i: tensor<2x1xi32>, %u: tensor<2x16xf32>) {
  // expected-error @+1 {{'stablehlo.scatter' op expects results of type ('tensor<8x16xf32>'), got ('tensor<8x8xf32>')}}
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<8x16xf32>, tensor<2x1xi32>, tensor<2x16xf32>) -> tensor<8x8xf32>
  return
}
