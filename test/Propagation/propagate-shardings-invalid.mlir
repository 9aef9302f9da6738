// RUN: st-opt --propagate-shardings --split-input-file --verify-diagnostics %s

// expected-error @+1 {{propagate-shardings: expected an st.mesh, which apply-parallel-config leaves; found a module without any mark of a phase}}
module {}

// -----

st.mesh @mesh <["tensor"=1], micro=2>
// expected-note@+1 {{the operand is defined here}}
func.func @sort(%x: tensor<8x4xf32> {st.sharding = #st.sharding<@mesh, [{"micro"}, {}]>}) -> tensor<8x4xf32> {
  // expected-error @+1 {{'stablehlo.sort' op needs all of dimension 0 of operand 0, but it varies along the micro-batches}}
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}

// -----

// An op without a rule is computed unsharded.
st.mesh @mesh <["tensor"=1], micro=2>
// expected-note@+1 {{the operand is defined here}}
func.func @unknown(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"micro"}]>}) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.custom_call' op needs all of dimension 0 of operand 0, but it varies along the micro-batches}}
  %0 = stablehlo.custom_call @balance(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

st.mesh @mesh <["tensor"=1], micro=2>
// expected-note@+1 {{the operand is defined here}}
func.func @two_dimensions(%x: tensor<4x8xf32> {st.sharding = #st.sharding<@mesh, [{"micro"}, {}]>}) -> tensor<4x4xf32> {
  // expected-error @+1 {{needs all of dimension 0 of operand 1, but it varies along the micro-batches along another dimension than another operand does}}
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [1] x [1] : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// -----

st.mesh @mesh <["tensor"=1], micro=2>
// expected-note@+1 {{the value is defined here}}
func.func @captured(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"micro"}]>}, %p: tensor<i1>) -> tensor<8xf32> {
  // expected-error @+1 {{'stablehlo.if' op reads a value in its region that varies along the micro-batches}}
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<8xf32>
  }, {
    stablehlo.return %x : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A row of the result holds parts of both micro-batches, so it cannot be assembled.
st.mesh @mesh <["tensor"=1], micro=2>
func.func @repeated(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"micro"}]>}) -> tensor<16xf32> {
  %0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<8xf32>) -> tensor<2x8xf32>
  // expected-note@+1 {{the operand is defined here}}
  %1 = stablehlo.reshape %0 : (tensor<2x8xf32>) -> tensor<16xf32>
  // expected-error @+1 {{'func.return' op returns operand 0 as #st.sharding<@mesh, [{2, "micro"}]>, in which a micro-batch is not one contiguous part of dimension 0}}
  return %1 : tensor<16xf32>
}

// -----

st.mesh @mesh <["data"=4], micro=1>
// expected-error @+1 {{splits argument 0 of 'tensor<6xf32>' unevenly as #st.sharding<@mesh, [{"data"}]>; run pad-dimensions first}}
func.func @uneven(%x: tensor<6xf32> {st.sharding = #st.sharding<@mesh, [{"data"}]>}) -> tensor<6xf32> {
  return %x : tensor<6xf32>
}
