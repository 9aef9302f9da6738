// RUN: st-opt %s -split-input-file -verify-diagnostics

func.func @operand_types(%x: tensor<f32>) {
  // expected-error @+1 {{expected 2 operand types and 1 result type, got '(tensor<f32>) -> tensor<f32>'}}
  %0 = stablehlo.add %x, %x : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @complex(%x: tensor<f32>) {
  // expected-error @+1 {{expected a tensor of complex, got 'tensor<f32>'}}
  %0 = stablehlo.complex %x, %x : tensor<f32>
  return
}

// -----

func.func @tuple(%x: tensor<f32>) {
  // expected-error @+1 {{expected a tuple type, got 'tensor<f32>'}}
  %0 = stablehlo.tuple %x : tensor<f32>
  return
}

// -----

func.func @direction(%x: tensor<f32>) {
  // expected-error @+2 {{expected ::mlir::stablehlo::ComparisonDirection to be one of}}
  // expected-error @+1 {{failed to parse HLO_ComparisonDirectionAttr}}
  %0 = stablehlo.compare UP, %x, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return
}

// -----

func.func @format(%x: tensor<f32>) {
  // expected-error @+1 {{expected a format like e8m10, got 'e8x10'}}
  %0 = stablehlo.reduce_precision %x, format = e8x10 : tensor<f32>
  return
}

// -----

func.func @precision(%x: tensor<2x2xf32>) {
  // expected-error @+1 {{expected DEFAULT, HIGH or HIGHEST, got 'LOW'}}
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0], precision = [LOW, LOW] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @precision_twice(%x: tensor<2x2xf32>) {
  // expected-error @+1 {{expected precision or algorithm, got 'precision'}}
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], precision = [HIGH, HIGH] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @constant() {
  // expected-error @+1 {{expected the elements of a tensor, got "text"}}
  %0 = stablehlo.constant "text"
  return
}

// -----

func.func @applies(%x: tensor<2xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected a commutative op of stablehlo, got 'stablehlo.subtract'}}
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.subtract across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @reduced_type(%x: tensor<*xf32>, %i: tensor<f32>) {
  // expected-error @+1 {{expected the type of a ranked tensor to reduce}}
  %0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<*xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

// expected-error @+1 {{unknown field 'offsets', expected one of offset_dims, collapsed_slice_dims, operand_batching_dims, start_indices_batching_dims, start_index_map, index_vector_dim}}
func.func private @field() attributes {st.note = #stablehlo.gather<offsets = [0], index_vector_dim = 1>}

// -----

// expected-error @+1 {{field 'index_vector_dim' is given twice}}
func.func private @twice() attributes {st.note = #stablehlo.scatter<index_vector_dim = 1, index_vector_dim = 1>}

// -----

// expected-error @+1 {{expected a number, b or f, got g}}
func.func private @letter() attributes {st.note = #stablehlo.conv<[b, g]x[i, o]->[b, f]>}

// -----

// expected-error @+1 {{dimension b is given twice}}
func.func private @letter_twice() attributes {st.note = #stablehlo.conv<[b, b]x[i, o]->[b, f]>}

// -----

// expected-error @+1 {{dimension 0 is given twice}}
func.func private @number_twice() attributes {st.note = #stablehlo.conv<[b, 0, 0, f]x[i, o]->[b, f]>}

// -----

// expected-error @+1 {{expected a spatial dimension, got 64}}
func.func private @number() attributes {st.note = #stablehlo.conv<[b, 64, f]x[i, o]->[b, f]>}
