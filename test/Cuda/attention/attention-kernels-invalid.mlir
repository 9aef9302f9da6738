// RUN: st-opt --convert-kernels-to-gpu --split-input-file --verify-diagnostics %s

// The operands of an attention kernel's products come from memory.
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<4x6xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<4x6xf32> micro_dim -1 at <offset = 0>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<4x6xf32>
    %1 = st.kernel "attention" (%a = %0 : tensor<4x6xf32>) -> tensor<4x4xf32> attributes {st.addresses = [#st.address<offset = 128>]} {
      %2 = stablehlo.negate %a : tensor<4x6xf32>
      // expected-error @+1 {{'stablehlo.dot_general' op of this form is not supported by the CUDA backend inside an attention kernel}}
      %3 = stablehlo.dot_general %a, %2, contracting_dims = [1] x [1] : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x4xf32>
      st.yield %3 : tensor<4x4xf32>
    }
  }
}

// -----

st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<4x6xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<4x6xf32> micro_dim -1 at <offset = 0>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<4x6xf32>
    // expected-error @+1 {{'st.kernel' op of kind "attention" mixes products that contract its rows with products that do not: run split-attention first}}
    %1:2 = st.kernel "attention" (%a = %0 : tensor<4x6xf32>) -> (tensor<4x6xf32>, tensor<4x6xf32>) attributes {st.addresses = [#st.address<offset = 128>, #st.address<offset = 256>]} {
      %2 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x4xf32>
      %3 = stablehlo.tanh %2 : tensor<4x4xf32>
      %4 = stablehlo.dot_general %3, %a, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
      %5 = stablehlo.dot_general %3, %a, contracting_dims = [0] x [0] : (tensor<4x4xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
      st.yield %4, %5 : tensor<4x6xf32>, tensor<4x6xf32>
    }
  }
}

// -----

st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<4x129xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<4x129xf32> micro_dim -1 at <offset = 0>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<4x129xf32>
    %1 = st.kernel "attention" (%a = %0 : tensor<4x129xf32>) -> tensor<4x129xf32> attributes {st.addresses = [#st.address<offset = 4096>]} {
      %2 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<4x129xf32>, tensor<4x129xf32>) -> tensor<4x4xf32>
      %3 = stablehlo.tanh %2 : tensor<4x4xf32>
      // expected-error @+1 {{'stablehlo.dot_general' op has 129 columns; an attention kernel holds at most 128}}
      %4 = stablehlo.dot_general %3, %a, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x129xf32>) -> tensor<4x129xf32>
      st.yield %4 : tensor<4x129xf32>
    }
  }
}

// -----

st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<1x6xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<1x6xf32> micro_dim -1 at <offset = 0>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<1x6xf32>
    // expected-error @+1 {{'st.kernel' op of kind "attention" has rows and columns that cannot be separate loops}}
    %1 = st.kernel "attention" (%a = %0 : tensor<1x6xf32>) -> tensor<1x1xf32> attributes {st.addresses = [#st.address<offset = 128>]} {
      %2 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<1x6xf32>, tensor<1x6xf32>) -> tensor<1x1xf32>
      %3 = stablehlo.tanh %2 : tensor<1x1xf32>
      st.yield %3 : tensor<1x1xf32>
    }
  }
}

// -----

st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<4x6xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<4x6xf32> micro_dim -1 at <offset = 0>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x {st.addresses = [#st.address<offset = 0>]} : tensor<4x6xf32>
    // expected-error @+1 {{'st.kernel' op reduces dimensions other than its columns, which is not supported by the CUDA backend in an attention kernel}}
    %1 = st.kernel "attention" (%a = %0 : tensor<4x6xf32>) -> tensor<4xf32> attributes {st.addresses = [#st.address<offset = 128>]} {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %2 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x4xf32>
      %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>
      st.yield %3 : tensor<4xf32>
    }
  }
}
