// RUN: st-opt --convert-kernels-to-gpu --split-input-file --verify-diagnostics %s

st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<4x4xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<4x4xf32> micro_dim -1 at <offset = 0>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<4x4xf32>
    // expected-error @+1 {{'st.kernel' op of kind "matmul" is not a single product of cuBLASLt, which convert-kernels-to-gpu needs: run split-products first}}
    %1 = st.kernel "matmul" (%a = %0 : tensor<4x4xf32>, %b = %0 : tensor<4x4xf32>) -> tensor<4x4xf32> attributes {st.addresses = [#st.address<offset = 64>]} {
      %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      %3 = stablehlo.tanh %2 : tensor<4x4xf32>
      st.yield %3 : tensor<4x4xf32>
    }
  }
}

// -----

st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<4x4xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<4x4xf32> micro_dim -1 at <offset = 0>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<4x4xf32>
    %1 = st.kernel "matmul" (%a = %0 : tensor<4x4xf32>, %b = %0 : tensor<4x4xf32>) -> tensor<4x4xf64> attributes {st.addresses = [#st.address<offset = 64>]} {
      // expected-error @+1 {{'stablehlo.dot_general' op of 'f32' and 'f32' to 'f64' is not supported by the CUDA backend}}
      %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf64>
      st.yield %2 : tensor<4x4xf64>
    }
  }
}

// -----

st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<4x4xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<4x4xf32> micro_dim -1 at <offset = 0>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<4x4xf32>
    // expected-error @+1 {{'st.kernel' op of kind "attention" has no product}}
    %1 = st.kernel "attention" (%a = %0 : tensor<4x4xf32>) -> tensor<4x4xf32> attributes {st.addresses = [#st.address<offset = 64>]} {
      %2 = stablehlo.negate %a : tensor<4x4xf32>
      st.yield %2 : tensor<4x4xf32>
    }
  }
}

// -----

st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<4x4xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<4x4xf32> micro_dim -1 at <offset = 0>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<4x4xf32>
    %1 = st.kernel "loop" (%a = %0 : tensor<4x4xf32>) -> tensor<4x4xf32> attributes {st.addresses = [#st.address<offset = 64>]} {
      // expected-error @+1 {{'stablehlo.atan2' op is not supported by the CUDA backend}}
      %2 = stablehlo.atan2 %a, %a : tensor<4x4xf32>
      st.yield %2 : tensor<4x4xf32>
    }
  }
}

// -----

st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<4x4xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<4x4xf32> micro_dim -1 at <offset = 0>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<4x4xf32>
    // expected-error @+1 {{'st.send' op names @group1, which is not a program}}
    st.send %0 to @group1 channel 0 : tensor<4x4xf32>
  }
}

// -----

st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<4x4xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<4x4xf32> micro_dim -1 at <offset = 0>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<4x4xf32>
    %1:2 = st.kernel "loop" (%a = %0 : tensor<4x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) attributes {st.addresses = [#st.address<offset = 64>, #st.address<offset = 128>]} {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      // expected-note @+1 {{the earlier reduction is here}}
      %2 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
      // expected-error @+1 {{'stablehlo.reduce' op reduces different dimensions than an earlier reduction of its kernel, which is not supported by the CUDA backend}}
      %3 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
      st.yield %2, %3 : tensor<4xf32>, tensor<4xf32>
    }
  }
}

// -----

st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<4x4xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<4x4xf32> micro_dim -1 at <offset = 0>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<4x4xf32>
    %1 = st.kernel "loop" (%a = %0 : tensor<4x4xf32>) -> tensor<4xf32> attributes {st.addresses = [#st.address<offset = 64>]} {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      // expected-note @+1 {{the other reduction is here}}
      %2 = stablehlo.reduce(%a init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
      %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<4xf32>) -> tensor<4x4xf32>
      %4 = stablehlo.subtract %a, %3 : tensor<4x4xf32>
      // expected-error @+1 {{'stablehlo.reduce' op reduces leading dimensions of a value that depends on another reduction of leading dimensions, which is not supported by the CUDA backend}}
      %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
      st.yield %5 : tensor<4xf32>
    }
  }
}
