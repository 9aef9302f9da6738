// RUN: st-opt %s -split-input-file -verify-diagnostics --differentiate

// expected-error @below {{expected a function @main with a body}}
module {
}

// -----

// expected-error @below {{expected one result of role "loss", or one float scalar, found 2}}
func.func @main(%w: tensor<f32> {st.name = "w", st.role = "parameter"}) -> (tensor<f32>, tensor<f32>) {
  return %w, %w : tensor<f32>, tensor<f32>
}

// -----

// expected-error @below {{expected the loss to be a float scalar, found 'tensor<2xf32>'}}
func.func @main(%w: tensor<2xf32> {st.name = "w", st.role = "parameter"})
    -> (tensor<2xf32> {st.role = "loss"}) {
  return %w : tensor<2xf32>
}

// -----

// expected-error @below {{differentiate: found results of role "gradient", which differentiate leaves; expected a module from before that}}
module {
  func.func @main(%w: tensor<f32> {st.name = "w", st.role = "parameter"})
      -> (tensor<f32>, tensor<f32> {st.role = "gradient"}) {
    return %w, %w : tensor<f32>, tensor<f32>
  }
}

// -----

// expected-error @below {{has no argument of role "parameter"}}
func.func @main(%w: tensor<f32>) -> tensor<f32> {
  return %w : tensor<f32>
}

// -----

// expected-error @below {{argument 0 is a parameter without an st.name}}
func.func @main(%w: tensor<f32> {st.role = "parameter"}) -> tensor<f32> {
  return %w : tensor<f32>
}

// -----

// expected-note@+2 {{the parameter is here}}
// expected-error @below {{expected parameter 0 to have float elements, found 'tensor<i32>'}}
func.func @main(%w: tensor<i32> {st.name = "w", st.role = "parameter"}) -> tensor<f32> {
  %0 = stablehlo.convert %w : (tensor<i32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

// expected-error @below {{expected one block, found 2}}
func.func @main(%w: tensor<f32> {st.name = "w", st.role = "parameter"}) -> tensor<f32> {
  cf.br ^end
^end:
  return %w : tensor<f32>
}

// -----

func.func private @twice(tensor<f32>) -> tensor<f32>
func.func @main(%w: tensor<f32> {st.name = "w", st.role = "parameter"}) -> tensor<f32> {
  // expected-error @below {{has no gradient rule, and the loss depends on a parameter through it}}
  %0 = func.call @twice(%w) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @main(%w: tensor<3xf32> {st.name = "w", st.role = "parameter"}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // expected-error @below {{has no gradient rule: expected a computation of elementwise ops}}
  %0 = stablehlo.reduce(%w init: %zero) across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
   reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %r = stablehlo.reshape %a : (tensor<f32>) -> tensor<1xf32>
    %s = stablehlo.reshape %r : (tensor<1xf32>) -> tensor<f32>
    stablehlo.return %s : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func @main(%w: tensor<3xf32> {st.name = "w", st.role = "parameter"}, %i: tensor<1x1xi32>) -> tensor<f32> {
  %u = stablehlo.constant dense<2.0> : tensor<1xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // expected-error @below {{has no gradient rule: expected one operand and a body that adds, multiplies, compares or returns the update}}
  %0 = "stablehlo.scatter"(%w, %i, %u) <{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %m = stablehlo.subtract %a, %b : tensor<f32>
    stablehlo.return %m : tensor<f32>
  }) : (tensor<3xf32>, tensor<1x1xi32>, tensor<1xf32>) -> tensor<3xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @main(%w: tensor<3xf32> {st.name = "w", st.role = "parameter"}) -> tensor<f32> {
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  // expected-error @below {{has no gradient rule: expected a computation of elementwise ops}}
  %0 = "stablehlo.reduce_window"(%w, %one) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %r = stablehlo.reshape %a : (tensor<f32>) -> tensor<1xf32>
    %s = stablehlo.reshape %r : (tensor<1xf32>) -> tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<3xf32>, tensor<f32>) -> tensor<1xf32>
  %1 = stablehlo.reshape %0 : (tensor<1xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}

// -----

func.func @main(%w: tensor<f32> {st.name = "w", st.role = "parameter"}) -> (tensor<f32> {st.role = "loss"}) {
  // expected-note@+1 {{the operand is defined here}}
  %0 = stablehlo.complex %w, %w : tensor<complex<f32>>
  // expected-error @below {{has a complex operand, and the loss depends on a parameter through it; expected real ones}}
  %1 = stablehlo.cbrt %0 : tensor<complex<f32>>
  %2 = stablehlo.imag %1 : (tensor<complex<f32>>) -> tensor<f32>
  return %2 : tensor<f32>
}

// -----

func.func @main(%w: tensor<f32> {st.name = "w", st.role = "parameter"}) -> (tensor<f32> {st.role = "loss"}) {
  // expected-error @below {{has no gradient rule: expected a known trip count, from a counter that starts at a constant, changes by a constant and is compared with a constant}}
  %0 = stablehlo.while(%x = %w) : tensor<f32>
  cond {
    %n = stablehlo.constant dense<4.0> : tensor<f32>
    %c = stablehlo.compare LT, %x, %n : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %y = stablehlo.add %x, %x : tensor<f32>
    stablehlo.return %y : tensor<f32>
  }
  return %0 : tensor<f32>
}

// -----

func.func @main(%w: tensor<4xf32> {st.name = "w", st.role = "parameter"}) -> tensor<f32> {
  // expected-note@+1 {{an operand that depends on a parameter is defined here}}
  %0 = stablehlo.exponential %w : tensor<4xf32>
  // expected-error@+1 {{'stablehlo.custom_call' op has no gradient rule, and the loss depends on a parameter through it}}
  %1 = stablehlo.custom_call @f(%0) : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
