// Unsupported ops are refused by name, with the reason.
// RUN: st-opt %s -split-input-file -verify-diagnostics

func.func @token() {
  // expected-error @+1 {{'stablehlo.create_token' is refused: programs have no side effects that tokens would order}}
  %0 = stablehlo.create_token : !stablehlo.token
  return
}

// -----

// expected-error @+1 {{type '!stablehlo.token' is refused: programs have no side effects that tokens would order}}
func.func @token_type(%t: !stablehlo.token) {
  return
}

// -----

// expected-error @+1 {{unknown type '!stablehlo.tensor'}}
func.func @unknown_type(%t: !stablehlo.tensor) {
  return
}

// -----

func.func @dynamic(%x: tensor<4xf32>, %shape: tensor<2xi32>) {
  // expected-error @+1 {{'stablehlo.dynamic_reshape' is refused: shapes are static}}
  %0 = stablehlo.dynamic_reshape %x, %shape : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @dynamic_shape(%x: tensor<?xf32>) {
  // expected-error @+1 {{op dynamic shapes are not supported: 'tensor<?xf32>'}}
  %0 = stablehlo.abs %x : tensor<?xf32>
  return
}

// -----

func.func @rng(%a: tensor<f32>, %shape: tensor<1xi64>) {
  // expected-error @+1 {{'stablehlo.rng' is refused: its values depend on the implementation; rng_bit_generator's do not}}
  %0 = stablehlo.rng %a, %a, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<3xf32>
  return
}

// -----

func.func @quantize(%x: tensor<4xf32>) {
  // expected-error @+1 {{'stablehlo.uniform_quantize' is refused: there are no quantized types}}
  %0 = stablehlo.uniform_quantize %x : (tensor<4xf32>) -> tensor<4xi8>
  return
}

// -----

func.func @dot(%x: tensor<4xf32>) {
  // expected-error @+1 {{'stablehlo.dot' is refused: it is deprecated in favour of dot_general}}
  %0 = stablehlo.dot %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<f32>
  return
}

// -----

// The op is also named in the generic form.
func.func @generic(%x: tensor<4xf32>, %shape: tensor<1xi32>) {
  // expected-error @+1 {{unregistered operation 'stablehlo.outfeed' found in dialect ('stablehlo')}}
  "stablehlo.outfeed"(%x) : (tensor<4xf32>) -> ()
  return
}
