// RUN: st-opt %s -split-input-file -verify-diagnostics

func.func @dot_range(%l: tensor<2x3xf32>, %r: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.dot_general' op expects batching and contracting dimensions of lhs to be in [0, 2), got 2}}
  %0 = stablehlo.dot_general %l, %r, contracting_dims = [2] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_distinct(%l: tensor<2x3xf32>, %r: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.dot_general' op expects batching and contracting dimensions of rhs to be distinct, got [0, 0]}}
  %0 = stablehlo.dot_general %l, %r, batching_dims = [0] x [0], contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_count(%l: tensor<2x3xf32>, %r: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.dot_general' op expects as many contracting dimensions of lhs as of rhs, got [1] and []}}
  %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// expected-note@+1 {{rhs is defined here}}
func.func @dot_size(%l: tensor<2x3xf32>, %r: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.dot_general' op expects contracting dimensions of one size, got dimension 0 of 'tensor<2x3xf32>' and dimension 0 of 'tensor<3x4xf32>'}}
  %0 = stablehlo.dot_general %l, %r, contracting_dims = [0] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

// expected-note@+1 {{rhs is defined here}}
func.func @dot_batching(%l: tensor<2x3xf32>, %r: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.dot_general' op expects batching dimensions of one size, got dimension 0 of 'tensor<2x3xf32>' and dimension 0 of 'tensor<3x4xf32>'}}
  %0 = stablehlo.dot_general %l, %r, batching_dims = [0] x [0], contracting_dims = [] x [] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_precision(%l: tensor<2x3xf32>, %r: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.dot_general' op expects 2 precisions, one per operand, got 1}}
  %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0], precision = [DEFAULT] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_algorithm_precision(%l: tensor<2x3xf32>, %r: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.dot_general' op expects DEFAULT precision with an algorithm}}
  %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0], precision = [DEFAULT, HIGH], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_algorithm_counts(%l: tensor<2x3xf32>, %r: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.dot_general' op expects positive counts in its algorithm}}
  %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 0, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_elements(%l: tensor<2x3xf32>, %r: tensor<3x4xi32>) {
  // expected-error @+1 {{'stablehlo.dot_general' op expects one element type for lhs and rhs, got 'f32' and 'i32'}}
  %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xi32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @dot_result(%l: tensor<2x3xf32>, %r: tensor<3x4xf32>) {
  // expected-error @+1 {{'stablehlo.dot_general' op expects a result of shape [2, 4], got 'tensor<4x2xf32>'}}
  %0 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @reduce_empty() {
  // expected-error @+1 {{'stablehlo.reduce' op expects at least one input}}
  "stablehlo.reduce"() <{dimensions = array<i64: 0>}> ({
    stablehlo.return
  }) : () -> ()
  return
}

// -----

func.func @reduce_shapes(%x: tensor<2xf32>, %y: tensor<3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce' op expects one shape for all inputs, got 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %0:2 = stablehlo.reduce(%x init: %i), (%y init: %i) across dimensions = [0] : (tensor<2xf32>, tensor<3xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<f32>, %d: tensor<f32>) {
    stablehlo.return %a, %c : tensor<f32>, tensor<f32>
  }
  return
}

// -----

func.func @reduce_dims(%x: tensor<2x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce' op expects dimensions to be in [0, 2), got 2}}
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [2] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_init(%x: tensor<2x3xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{'stablehlo.reduce' op expects inputs and initial values of an element type that can be accumulated in 'f32', got 'tensor<i32>'}}
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<i32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_scalar_init(%x: tensor<2x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce' op operand #1 must be variadic of 0-dimensional tensor}}
  %0 = stablehlo.reduce(%x init: %x) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_body(%x: tensor<2x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce' op expects its body to take ('tensor<f32>', 'tensor<f32>'), got ('tensor<f32>', 'tensor<1xf32>')}}
  %0 = stablehlo.reduce(%x init: %i) across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    reducer(%a: tensor<f32>, %b: tensor<1xf32>) {
    stablehlo.return %a : tensor<f32>
  }
  return
}

// -----

func.func @reduce_terminator(%x: tensor<2x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce' op expects its body to end in stablehlo.return}}
  %0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    "st.unknown"() : () -> ()
  }) : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_result(%x: tensor<2x3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce' op expects results of type ('tensor<2xf32>'), got ('tensor<3xf32>')}}
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @window_rank(%x: tensor<4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce_window' op expects window_dimensions to have 1 elements, one per dimension, got 2}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @window_positive(%x: tensor<4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce_window' op expects window_dimensions to be positive, got [0]}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @window_strides(%x: tensor<4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce_window' op expects window_strides to be positive, got [-1]}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: -1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @window_base(%x: tensor<4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce_window' op expects base_dilations to be positive, got [0]}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2>, base_dilations = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @window_dilations(%x: tensor<4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce_window' op expects window_dilations to have 1 elements, one per dimension, got 2}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2>, window_dilations = array<i64: 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @window_padding(%x: tensor<4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce_window' op expects padding of the shape 1x2, got 'tensor<2x2xi64>'}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2>, padding = dense<0> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @window_result(%x: tensor<4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce_window' op expects results of type ('tensor<3xf32>'), got ('tensor<4xf32>')}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_elements(%x: tensor<4xf32>, %s: tensor<2xf64>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.select_and_scatter' op expects source, init_value and result of the element type of 'tensor<4xf32>', got 'tensor<2xf64>', 'tensor<f32>' and 'tensor<4xf32>'}}
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf64>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// expected-note@+1 {{the source is defined here}}
func.func @select_source(%x: tensor<4xf32>, %s: tensor<3xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.select_and_scatter' op expects a source of one element per window, [2], got 'tensor<3xf32>'}}
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @select_body(%x: tensor<4xf32>, %s: tensor<2xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.select_and_scatter' op expects its select to return ('tensor<i1>'), got ('tensor<f32>')}}
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    // expected-note @+1 {{returned here}}
    stablehlo.return %a : tensor<f32>
  }, {
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>, tensor<2xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @sort_empty() {
  // expected-error @+1 {{'stablehlo.sort' op expects at least one input}}
  "stablehlo.sort"() ({
    stablehlo.return
  }) : () -> ()
  return
}

// -----

func.func @sort_dimension(%x: tensor<4xf32>) {
  // expected-error @+1 {{'stablehlo.sort' op expects dimension to be in [-1, 1), got 1}}
  %0 = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @sort_comparator(%x: tensor<4xf64>) {
  // expected-error @+1 {{'stablehlo.sort' op expects its comparator to take ('tensor<f64>', 'tensor<f64>'), got ('tensor<f32>', 'tensor<f32>')}}
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4xf64>) -> tensor<4xf64>
  return
}

// -----

func.func @sort_returns(%x: tensor<4xf32>) {
  // expected-error @+1 {{'stablehlo.sort' op expects its comparator to return ('tensor<i1>'), got ('tensor<f32>')}}
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %p = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    // expected-note @+1 {{returned here}}
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @window_overflow(%x: tensor<4xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce_window' op has more windows in dimension 0 than 64 bits can count}}
  %0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 4294967296>, window_dilations = array<i64: 4294967296>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return
}
