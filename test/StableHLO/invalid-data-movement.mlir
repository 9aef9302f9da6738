// RUN: st-opt %s -split-input-file -verify-diagnostics

func.func @constant() {
  // expected-error @+1 {{'stablehlo.constant' op expects a value of type 'tensor<3xf32>', got 'tensor<2xf32>'}}
  %0 = "stablehlo.constant"() <{value = dense<0.0> : tensor<2xf32>}> : () -> tensor<3xf32>
  return
}

// -----

func.func @iota() {
  // expected-error @+1 {{'stablehlo.iota' op expects iota_dimension to be in [0, 1), got 1}}
  %0 = stablehlo.iota dim = 1 : tensor<4xi32>
  return
}

// -----

func.func @iota_negative() {
  // expected-error @+1 {{'stablehlo.iota' op attribute 'iota_dimension' failed to satisfy constraint}}
  %0 = stablehlo.iota dim = -1 : tensor<4xi32>
  return
}

// -----

func.func @rng_state_type(%s: tensor<2xui64>) {
  // expected-error @+1 {{'stablehlo.rng_bit_generator' op expects one type for initial_state and output_state, got 'tensor<2xui64>' and 'tensor<3xui64>'}}
  %0:2 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  return
}

// -----

func.func @rng_rank(%s: tensor<ui64>) {
  // expected-error @+1 {{'stablehlo.rng_bit_generator' op expects initial_state to have 1 dimension, got 'tensor<ui64>'}}
  %0:2 = stablehlo.rng_bit_generator %s, algorithm = DEFAULT : (tensor<ui64>) -> (tensor<ui64>, tensor<4xui32>)
  return
}

// -----

func.func @rng_threefry(%s: tensor<3xui64>) {
  // expected-error @+1 {{'stablehlo.rng_bit_generator' op expects initial_state to have 128 bits for THREE_FRY, got 'tensor<3xui64>'}}
  %0:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  return
}

// -----

func.func @rng_philox(%s: tensor<1xui64>) {
  // expected-error @+1 {{'stablehlo.rng_bit_generator' op expects initial_state to have 128 or 192 bits for PHILOX, got 'tensor<1xui64>'}}
  %0:2 = stablehlo.rng_bit_generator %s, algorithm = PHILOX : (tensor<1xui64>) -> (tensor<1xui64>, tensor<4xui32>)
  return
}

// -----

func.func @bitcast_complex(%x: tensor<complex<f32>>) {
  // expected-error @+1 {{'stablehlo.bitcast_convert' op cannot convert between complex and other elements: 'tensor<complex<f32>>' and 'tensor<i64>'}}
  %0 = stablehlo.bitcast_convert %x : (tensor<complex<f32>>) -> tensor<i64>
  return
}

// -----

func.func @bitcast_shape(%x: tensor<4xf32>) {
  // expected-error @+1 {{'stablehlo.bitcast_convert' op expects operand and result to have the same bits, got 'tensor<4xf32>' and 'tensor<4xi8>'}}
  %0 = stablehlo.bitcast_convert %x : (tensor<4xf32>) -> tensor<4xi8>
  return
}

// -----

func.func @broadcast_element(%x: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.broadcast_in_dim' op expects operand and result to have one element type, got 'f32' and 'f64'}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<2xf64>
  return
}

// -----

func.func @broadcast_size(%x: tensor<2xf32>) {
  // expected-error @+1 {{'stablehlo.broadcast_in_dim' op expects broadcast_dimensions to have 1 elements, one per dimension, got 2}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @broadcast_range(%x: tensor<2xf32>) {
  // expected-error @+1 {{'stablehlo.broadcast_in_dim' op expects broadcast_dimensions to be in [0, 2), got 2}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [2] : (tensor<2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @broadcast_distinct(%x: tensor<2x2xf32>) {
  // expected-error @+1 {{'stablehlo.broadcast_in_dim' op expects broadcast_dimensions to be distinct, got [0, 0]}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [0, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @broadcast_dim(%x: tensor<2xf32>) {
  // expected-error @+1 {{'stablehlo.broadcast_in_dim' op expects dimension 0 of the operand to be 1 or 3, the size of dimension 1 of the result, got 2}}
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<2xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @reshape_element(%x: tensor<2xf32>) {
  // expected-error @+1 {{'stablehlo.reshape' op expects operand and result to have one element type, got 'f32' and 'i32'}}
  %0 = stablehlo.reshape %x : (tensor<2xf32>) -> tensor<2x1xi32>
  return
}

// -----

func.func @reshape_size(%x: tensor<2xf32>) {
  // expected-error @+1 {{'stablehlo.reshape' op expects operand and result to have the same number of elements, got 'tensor<2xf32>' and 'tensor<3xf32>'}}
  %0 = stablehlo.reshape %x : (tensor<2xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @reverse(%x: tensor<2xf32>) {
  // expected-error @+1 {{'stablehlo.reverse' op expects dimensions to be in [0, 1), got 1}}
  %0 = stablehlo.reverse %x, dims = [1] : tensor<2xf32>
  return
}

// -----

func.func @transpose_size(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.transpose' op expects permutation to have 2 elements, one per dimension, got 1}}
  %0 = stablehlo.transpose %x, dims = [0] : (tensor<2x3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @transpose_permutation(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.transpose' op expects permutation to be distinct, got [1, 1]}}
  %0 = stablehlo.transpose %x, dims = [1, 1] : (tensor<2x3xf32>) -> tensor<3x3xf32>
  return
}

// -----

func.func @transpose_result(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.transpose' op expects results of type ('tensor<3x2xf32>'), got ('tensor<2x3xf32>')}}
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @concatenate_empty() {
  // expected-error @+1 {{'stablehlo.concatenate' op expects at least one input}}
  %0 = "stablehlo.concatenate"() <{dimension = 0 : i64}> : () -> tensor<2xf32>
  return
}

// -----

func.func @concatenate_dim(%x: tensor<2xf32>) {
  // expected-error @+1 {{'stablehlo.concatenate' op expects dimension to be in [0, 1), got 1}}
  %0 = stablehlo.concatenate %x, %x, dim = 1 : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

// expected-note@+1 {{the second is defined here}}
func.func @concatenate_shape(%x: tensor<2x3xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{'stablehlo.concatenate' op expects inputs that differ in dimension 0 only, got 'tensor<2x3xf32>' and 'tensor<2x4xf32>'}}
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<2x3xf32>, tensor<2x4xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @slice_size(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.slice' op expects start_indices to have 2 elements, one per dimension, got 1}}
  %0 = stablehlo.slice %x [0:1] : (tensor<2x3xf32>) -> tensor<1x3xf32>
  return
}

// -----

func.func @slice_range(%x: tensor<2x3xf32>) {
  // expected-error @+1 {{'stablehlo.slice' op expects 0 <= start <= limit <= 3 in dimension 1, got 1:4}}
  %0 = stablehlo.slice %x [0:2, 1:4] : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @slice_stride(%x: tensor<2xf32>) {
  // expected-error @+1 {{'stablehlo.slice' op expects a positive stride in dimension 0, got 0}}
  %0 = stablehlo.slice %x [0:2:0] : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_result(%x: tensor<3xf32>) {
  // expected-error @+1 {{'stablehlo.slice' op expects results of type ('tensor<2xf32>'), got ('tensor<1xf32>')}}
  %0 = stablehlo.slice %x [0:3:2] : (tensor<3xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @dynamic_slice_indices(%x: tensor<2x3xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{'stablehlo.dynamic_slice' op expects start_indices to have 2 elements, one per dimension, got 1}}
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [1, 1] : (tensor<2x3xf32>, tensor<i32>) -> tensor<1x1xf32>
  return
}

// -----

// expected-note@+1 {{the second is defined here}}
func.func @dynamic_slice_index_types(%x: tensor<2x3xf32>, %i: tensor<i32>, %j: tensor<i64>) {
  // expected-error @+1 {{'stablehlo.dynamic_slice' op expects one type for all start_indices, got 'tensor<i32>' and 'tensor<i64>'}}
  %0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [1, 1] : (tensor<2x3xf32>, tensor<i32>, tensor<i64>) -> tensor<1x1xf32>
  return
}

// -----

func.func @dynamic_slice_sizes(%x: tensor<3xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{'stablehlo.dynamic_slice' op expects slice_sizes to have 1 elements, one per dimension, got 2}}
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [1, 1] : (tensor<3xf32>, tensor<i32>) -> tensor<1x1xf32>
  return
}

// -----

func.func @dynamic_slice_fit(%x: tensor<3xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{'stablehlo.dynamic_slice' op expects a slice size of 0 to 3 in dimension 0, got 4}}
  %0 = stablehlo.dynamic_slice %x, %i, sizes = [4] : (tensor<3xf32>, tensor<i32>) -> tensor<4xf32>
  return
}

// -----

// expected-note@+1 {{the update is defined here}}
func.func @update_slice_fit(%x: tensor<3xf32>, %u: tensor<4xf32>, %i: tensor<i32>) {
  // expected-error @+1 {{'stablehlo.dynamic_update_slice' op expects an update that fits into 'tensor<3xf32>', got 'tensor<4xf32>'}}
  %0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<3xf32>, tensor<4xf32>, tensor<i32>) -> tensor<3xf32>
  return
}

// -----

func.func @pad_element(%x: tensor<3xf32>, %v: tensor<f64>) {
  // expected-error @+1 {{'stablehlo.pad' op expects padding_value to have the element type of 'tensor<3xf32>', got 'tensor<f64>'}}
  %0 = stablehlo.pad %x, %v, low = [1], high = [0], interior = [0] : (tensor<3xf32>, tensor<f64>) -> tensor<4xf32>
  return
}

// -----

func.func @pad_size(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.pad' op expects edge_padding_high to have 1 elements, one per dimension, got 2}}
  %0 = stablehlo.pad %x, %v, low = [1], high = [0, 0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

func.func @pad_interior(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.pad' op expects no negative interior padding in dimension 0, got -1}}
  %0 = stablehlo.pad %x, %v, low = [1], high = [0], interior = [-1] : (tensor<3xf32>, tensor<f32>) -> tensor<2xf32>
  return
}

// -----

func.func @pad_crop(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.pad' op crops dimension 0 to a size of -1}}
  %0 = stablehlo.pad %x, %v, low = [-4], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<0xf32>
  return
}

// -----

func.func @pad_result(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.pad' op expects results of type ('tensor<8xf32>'), got ('tensor<7xf32>')}}
  %0 = stablehlo.pad %x, %v, low = [1], high = [2], interior = [1] : (tensor<3xf32>, tensor<f32>) -> tensor<7xf32>
  return
}

// -----

func.func @pad_overflow(%x: tensor<3xf32>, %v: tensor<f32>) {
  // expected-error @+1 {{'stablehlo.pad' op pads dimension 0 to a size that exceeds 64 bits}}
  %0 = stablehlo.pad %x, %v, low = [9223372036854775807], high = [1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
  return
}

// -----

func.func @truth_values() {
  // expected-error@+1 {{expected a byte or a bit for each of 20 booleans, found 4 digits}}
  %0 = stablehlo.constant dense<"0x0001"> : tensor<20xi1>
  return
}
