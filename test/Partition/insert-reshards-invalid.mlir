// RUN: st-opt --insert-reshards --split-input-file --verify-diagnostics %s

st.mesh @mesh <["tensor"=1], micro=2>
// expected-note@+1 {{the operand is defined here}}
func.func @gather(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"micro"}]>}) -> (tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{}]>}) {
  // expected-error @+1 {{needs operand 0 as #st.sharding<@mesh, [{}]>, but it is #st.sharding<@mesh, [{"micro"}]>, which varies along the micro-batches}}
  return %x : tensor<8xf32>
}

// -----

// The mean of activations over the batch, subtracted from them: a batch statistic.
st.mesh @mesh <["tensor"=1], micro=2>
func.func @batch_statistics(%x: tensor<8xf32> {st.role = "batch", st.sharding = #st.sharding<@mesh, [{"micro"}]>},
                            %w: tensor<f32> {st.role = "parameter", st.sharding = #st.sharding<@mesh, []>}) -> tensor<8xf32> {
  %zero = stablehlo.constant {st.sharding = #st.sharding<@mesh, []>} dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %w, dims = [] {st.sharding = #st.sharding<@mesh, [{"micro"}]>} : (tensor<f32>) -> tensor<8xf32>
  %1 = stablehlo.multiply %x, %0 {st.sharding = #st.sharding<@mesh, [{"micro"}]>} : tensor<8xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0] {st.sharding = #st.sharding<@mesh, [], unreduced = sum ["micro"]>} : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  // expected-note@+2 {{the operand that depends on the sum is defined here}}
  // expected-error @+1 {{'stablehlo.broadcast_in_dim' op varies along the micro-batches and reads a sum over them that depends on parameters; batch statistics cannot be computed one micro-batch at a time}}
  %3 = stablehlo.broadcast_in_dim %2, dims = [] {st.sharding = #st.sharding<@mesh, [{"micro"}]>} : (tensor<f32>) -> tensor<8xf32>
  %4 = stablehlo.subtract %1, %3 {st.sharding = #st.sharding<@mesh, [{"micro"}]>} : tensor<8xf32>
  return %4 : tensor<8xf32>
}

// -----

// expected-error @+1 {{insert-reshards: expected an st.mesh, which apply-parallel-config leaves; found a module without any mark of a phase}}
module {}

// -----

st.mesh @mesh <["tensor"=1], micro=2>
func.func @reshard(%x: tensor<8xf32> {st.sharding = #st.sharding<@mesh, [{"micro"}]>}) -> tensor<8xf32> {
  // expected-error @+1 {{cannot gather a value that varies along the micro-batches}}
  %0 = st.reshard %x to <@mesh, [{}]> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
