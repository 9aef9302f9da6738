// RUN: st-opt %s -split-input-file -verify-diagnostics

func.func @dynamic(%x: tensor<?xf32>) {
  // expected-error @+1 {{'stablehlo.add' op dynamic shapes are not supported: 'tensor<?xf32>'}}
  %0 = stablehlo.add %x, %x : tensor<?xf32>
  return
}

// -----

func.func @dynamic_result() {
  // expected-error @+1 {{'stablehlo.iota' op dynamic shapes are not supported: 'tensor<4x?xi32>'}}
  %0 = stablehlo.iota dim = 0 : tensor<4x?xi32>
  return
}

// -----

func.func @dynamic_in_tuple(%x: tensor<?xf32>) {
  // expected-error @+1 {{'stablehlo.tuple' op dynamic shapes are not supported}}
  %0 = stablehlo.tuple %x : tuple<tensor<?xf32>>
  return
}

// -----

func.func @unranked(%x: tensor<*xf32>) {
  // expected-error @+1 {{'stablehlo.add' op operand #0 must be ranked tensor of pred, integer, float or complex values, but got 'tensor<*xf32>'}}
  %0 = stablehlo.add %x, %x : tensor<*xf32>
  return
}

// -----

func.func @element_type(%x: tensor<2xi32>) {
  // expected-error @+1 {{'stablehlo.tanh' op operand #0 must be ranked tensor of float or complex values, but got 'tensor<2xi32>'}}
  %0 = stablehlo.tanh %x : tensor<2xi32>
  return
}

// -----

// expected-note@+1 {{an operand is defined here}}
func.func @same_types(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{'stablehlo.add' op expects one type for all operands and results, got 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %0 = stablehlo.add %x, %y : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

// expected-note@+1 {{an operand is defined here}}
func.func @same_shapes(%x: tensor<2xf32>) {
  // expected-error @+1 {{'stablehlo.convert' op expects one shape for all operands and results, got 'tensor<2xf32>' and 'tensor<3xi32>'}}
  %0 = stablehlo.convert %x : (tensor<2xf32>) -> tensor<3xi32>
  return
}

// -----

func.func @abs(%x: tensor<2xf32>) {
  // expected-error @+1 {{'stablehlo.abs' op expects results of type ('tensor<2xf32>'), got ('tensor<2xi32>')}}
  %0 = stablehlo.abs %x : (tensor<2xf32>) -> tensor<2xi32>
  return
}

// -----

// expected-note@+1 {{rhs is defined here}}
func.func @complex(%x: tensor<f32>, %y: tensor<f64>) {
  // expected-error @+1 {{'stablehlo.complex' op expects one type for lhs and rhs, got 'tensor<f32>' and 'tensor<f64>'}}
  %0 = stablehlo.complex %x, %y : (tensor<f32>, tensor<f64>) -> tensor<complex<f32>>
  return
}

// -----

// expected-note@+1 {{rhs is defined here}}
func.func @compare_elements(%x: tensor<f32>, %y: tensor<i32>) {
  // expected-error @+1 {{'stablehlo.compare' op expects one element type for lhs and rhs, got 'f32' and 'i32'}}
  %0 = stablehlo.compare EQ, %x, %y : (tensor<f32>, tensor<i32>) -> tensor<i1>
  return
}

// -----

func.func @compare_type(%x: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.compare' op cannot compare elements of type 'f32' as SIGNED}}
  %0 = stablehlo.compare EQ, %x, %x, SIGNED : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return
}

// -----

func.func @compare_pred(%x: tensor<i1>) {
  // expected-error @+1 {{'stablehlo.compare' op cannot compare elements of type 'i1' as SIGNED}}
  %0 = stablehlo.compare EQ, %x, %x, SIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
  return
}

// -----

func.func @compare_complex(%x: tensor<complex<f32>>) {
  // expected-error @+1 {{'stablehlo.compare' op expects EQ or NE for elements of type 'complex<f32>', got LT}}
  %0 = stablehlo.compare LT, %x, %x : (tensor<complex<f32>>, tensor<complex<f32>>) -> tensor<i1>
  return
}

// -----

// expected-note@+1 {{pred is defined here}}
func.func @select_pred(%p: tensor<3xi1>, %x: tensor<2xf32>) {
  // expected-error @+1 {{'stablehlo.select' op expects pred to be a scalar or to have the shape of 'tensor<2xf32>', got 'tensor<3xi1>'}}
  %0 = stablehlo.select %p, %x, %x : tensor<3xi1>, tensor<2xf32>
  return
}

// -----

// expected-note@+1 {{on_false is defined here}}
func.func @select_values(%p: tensor<i1>, %x: tensor<f32>, %y: tensor<f64>) {
  // expected-error @+1 {{'stablehlo.select' op expects one type for on_true and on_false, got 'tensor<f32>' and 'tensor<f64>'}}
  %0 = stablehlo.select %p, %x, %y : (tensor<i1>, tensor<f32>, tensor<f64>) -> tensor<f32>
  return
}

// -----

func.func @select_result(%p: tensor<i1>, %x: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.select' op expects results of type ('tensor<f32>'), got ('tensor<f64>')}}
  %0 = stablehlo.select %p, %x, %x : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f64>
  return
}

// -----

func.func @clamp_shape(%x: tensor<2xf32>, %y: tensor<3xf32>) {
  // expected-error @+1 {{'stablehlo.clamp' op expects min to be a scalar or to have the shape of 'tensor<2xf32>', got 'tensor<3xf32>'}}
  %0 = stablehlo.clamp %y, %x, %x : (tensor<3xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @clamp_element(%x: tensor<2xf32>, %y: tensor<f64>) {
  // expected-error @+1 {{'stablehlo.clamp' op expects max to have the element type of 'tensor<2xf32>', got 'tensor<f64>'}}
  %0 = stablehlo.clamp %x, %x, %y : (tensor<2xf32>, tensor<2xf32>, tensor<f64>) -> tensor<2xf32>
  return
}

// -----

func.func @reduce_precision(%x: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.reduce_precision' op attribute 'exponent_bits' failed to satisfy constraint}}
  %0 = stablehlo.reduce_precision %x, format = e0m10 : tensor<f32>
  return
}

// -----

func.func @map_empty() {
  // expected-error @+1 {{'stablehlo.map' op expects at least one input}}
  %0 = "stablehlo.map"() <{dimensions = array<i64>}> ({
    %1 = stablehlo.constant dense<0.0> : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : () -> tensor<f32>
  return
}

// -----

func.func @map_dimensions(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.map' op expects dimensions to list all 2 dimensions in order, got [1, 0]}}
  %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 1, 0>}> ({
  ^bb0(%a: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @map_body(%x: tensor<2xf32>) {
  // expected-error @+1 {{'stablehlo.map' op expects its computation to take ('tensor<f32>'), got ('tensor<f64>')}}
  %0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f64>):
    stablehlo.return %a : tensor<f64>
  }) : (tensor<2xf32>) -> tensor<2xf64>
  return
}

// -----

func.func @uncountable(%x: tensor<4294967296x4294967296xf32>) {
  // expected-error @+1 {{'stablehlo.tanh' op has a tensor of more elements than 64 bits can count}}
  %0 = stablehlo.tanh %x : tensor<4294967296x4294967296xf32>
  return
}
