// RUN: st-opt --global-to-local --split-input-file --verify-diagnostics %s

// expected-error @+1 {{global-to-local: expected an st.mesh, which apply-parallel-config leaves; found a module without any mark of a phase}}
module {}

// -----

st.mesh @mesh <["tensor"=2], micro=1>
// expected-note@+1 {{the operand is defined here}}
func.func @operand(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"tensor"}]>}) -> tensor<8xf32> {
  // expected-error @+1 {{expects operand 0 as #st.sharding<@mesh, [{}]>, found #st.sharding<@mesh, [{"tensor"}]>; run insert-reshards first}}
  %0 = stablehlo.tanh %x {st.sharding = #st.sharding<@mesh, [{}]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

st.mesh @mesh <["tensor"=2], micro=1>
// expected-note@+1 {{the operand is defined here}}
func.func @result(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"tensor"}]>}) -> tensor<8xf32> {
  // expected-error @+1 {{expects operand 0 as #st.sharding<@mesh, [{}]>, found #st.sharding<@mesh, [{"tensor"}]>; run insert-reshards first}}
  return %x : tensor<8xf32>
}

// -----

st.mesh @mesh <["tensor"=2], micro=1>
func.func @slice(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{}]>}) -> tensor<4xf32> {
  // expected-error @+1 {{cannot be computed as #st.sharding<@mesh, [{"tensor"}]>; run insert-reshards first}}
  %0 = stablehlo.slice %x [1:5] {st.sharding = #st.sharding<@mesh, [{"tensor"}]>} : (tensor<8xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

st.mesh @mesh <["tensor"=2], micro=1>
// expected-note@+1 {{the operand is defined here}}
func.func @transfer(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"tensor"}]>}) -> tensor<8xf32> {
  // expected-error @+1 {{changes the sharding; run insert-reshards first}}
  %0 = st.transfer %x from 0 to 1 {st.sharding = #st.sharding<@mesh, [{}]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

st.mesh @mesh <["tensor"=2], micro=2>
func.func @gather(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"micro"}]>}) -> tensor<8xf32> {
  // expected-error @+1 {{cannot gather a value that varies along the micro-batches}}
  %0 = st.reshard %x to <@mesh, [{}]> {st.sharding = #st.sharding<@mesh, [{}]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
