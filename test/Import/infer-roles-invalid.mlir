// RUN: st-opt %s --infer-roles --split-input-file --verify-diagnostics

// expected-error@+1 {{cannot tell which result is the loss: results 1, 2 are float scalars; give --roles=resultN=loss}}
func.func @main(%w: tensor<f32> {tf.aliasing_output = 0 : i32}) -> (tensor<f32>, tensor<f32>, tensor<f32>) {
  %0 = stablehlo.add %w, %w : tensor<f32>
  %1 = stablehlo.exponential %w : tensor<f32>
  %2 = stablehlo.sine %w : tensor<f32>
  return %0, %1, %2 : tensor<f32>, tensor<f32>, tensor<f32>
}

// -----

// expected-error@+1 {{cannot tell which result is the loss: no result is a float scalar that replaces no state}}
func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}) -> tensor<4xf32> {
  %0 = stablehlo.add %w, %w : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-note@+2 {{argument 1 is here}}
// expected-error@+1 {{arguments 1 and 2 both match the scalar "learning_rate"; give --roles=arg2=scalar:learning_rate or scalar:step}}
func.func @main(%w: tensor<f32> {tf.aliasing_output = 0 : i32}, %a: tensor<f32>, %b: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %0 = stablehlo.add %w, %a : tensor<f32>
  %1 = stablehlo.multiply %w, %b : tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// -----

// expected-error@+1 {{argument 1 "temperature" is a scalar that the runner does not provide}}
func.func @main(%w: tensor<f32> {tf.aliasing_output = 0 : i32}, %a: tensor<f32> loc("temperature")) -> (tensor<f32>, tensor<f32>) {
  %0 = stablehlo.add %w, %a : tensor<f32>
  %1 = stablehlo.multiply %w, %a : tensor<f32>
  return %0, %1 : tensor<f32>, tensor<f32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{of @f is not inlined; run simplify first}}
  %0 = func.call @f(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{expected a function @main with a body of one block}}
module {
  func.func private @main(tensor<4xf32>) -> tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 1 is donated to result 7, expected a result from 0 to 0}}
func.func @main(%w: tensor<f32>, %a: tensor<f32> {tf.aliasing_output = 7 : i32}) -> tensor<f32> {
  return %w : tensor<f32>
}

// -----

// expected-error@+2 {{argument 0 is donated to result 0 of type 'tensor<f32>', expected 'tensor<4xf32>'}}
// expected-note@+1 {{the argument is here}}
func.func @main(%w: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %a: tensor<f32>) -> tensor<f32> {
  return %a : tensor<f32>
}
