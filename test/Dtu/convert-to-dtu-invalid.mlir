// Ops without code are refused by name.
// RUN: st-opt %s --convert-to-dtu -split-input-file -verify-diagnostics

st.mesh @mesh <["t"=1], micro=1>
st.program @g stages [0] devices [0] first_rank 0 mesh @mesh {
  st.task @t forward stage 0 (%mb) {
    %0 = stablehlo.constant {st.addresses = [#st.address<offset = 0>]} dense<1.0> : tensor<8xf32>
    // expected-error @+1 {{'arith.constant' op is not supported by the DTU backend}}
    %1 = arith.constant 1.0 : f32
  }
}

// -----

st.mesh @mesh <["t"=1], micro=1>
st.program @g stages [0] devices [0] first_rank 0 mesh @mesh {
  st.task @t forward stage 0 (%mb) {
    %0 = stablehlo.constant {st.addresses = [#st.address<offset = 0>]} dense<1.0> : tensor<8xf32>
    %1 = st.kernel "loop" (%a = %0 : tensor<8xf32>) -> tensor<8xf32> attributes {st.addresses = [#st.address<offset = 64>]} {
      // expected-error @+1 {{'stablehlo.atan2' op is not supported by the DTU backend}}
      %2 = stablehlo.atan2 %a, %a : tensor<8xf32>
      st.yield %2 : tensor<8xf32>
    }
  }
}

// -----

st.mesh @mesh <["t"=1], micro=1>
st.program @g stages [0] devices [0] first_rank 0 mesh @mesh {
  st.buffer @b "step" slots 1 : tensor<8xf32> at #st.address<offset = 0>
  st.task @t forward stage 0 (%mb) {
    // expected-error @+1 {{'stablehlo.constant' op has no st.addresses, which convert-to-dtu needs: run plan-memory first}}
    %0 = stablehlo.constant dense<1.0> : tensor<8xf32>
  }
}

// -----

st.mesh @mesh <["t"=1], micro=1>
st.program @g stages [0] devices [0] first_rank 0 mesh @mesh {
  st.task @t forward stage 0 (%mb) {
    // expected-error @+1 {{has values of 'complex<f32>', a type that the DTU does not support}}
    %0 = stablehlo.constant {st.addresses = [#st.address<offset = 0>]} dense<(1.0, 0.0)> : tensor<8x8xcomplex<f32>>
  }
}

// -----

st.mesh @mesh <["t"=1], micro=1>
st.program @g stages [0] devices [0] first_rank 0 mesh @mesh {
  st.task @t forward stage 0 (%mb) {
    %0 = stablehlo.constant {st.addresses = [#st.address<offset = 0>]} dense<1.0> : tensor<8x8xf32>
    // expected-error @+1 {{has unknown kind "sort"}}
    %1 = st.kernel "sort" (%a = %0 : tensor<8x8xf32>) -> tensor<8x8xf32> attributes {st.addresses = [#st.address<offset = 256>]} {
      st.yield %a : tensor<8x8xf32>
    }
  }
}

// -----

// expected-error @+1 {{no device description 'dtu-x'}}
module attributes {st.target = #st.target<backend = "dtu", device = "dtu-x", alignment = 64, scratch_bytes = 0, memory_bytes = 0>} {
  st.mesh @mesh <["t"=1], micro=1>
  st.program @g stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @b "step" slots 1 : tensor<8xf32> at #st.address<offset = 0>
  }
}

// -----

// expected-error @+1 {{convert-to-dtu: expected addresses of storage and values, which plan-memory leaves; found st.program ops, which split-tasks leaves}}
module {
  st.mesh @mesh <["t"=1], micro=1>
  st.program @g stages [0] devices [0] first_rank 0 mesh @mesh {
  }
}

// -----

// expected-error @+1 {{dtu.description is 3 : i64, expected a string}}
module attributes {dtu.description = 3 : i64} {
  st.mesh @mesh <["t"=1], micro=1>
  st.program @g stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @b "step" slots 1 : tensor<8xf32> at #st.address<offset = 0>
  }
}

// -----

st.mesh @mesh <["t"=1], micro=1>
st.program @g stages [0] devices [0] first_rank 0 mesh @mesh {
  st.task @t forward stage 0 (%mb) {
    %0 = stablehlo.constant {st.addresses = [#st.address<offset = 0>]} dense<1.0> : tensor<8x4xf32>
    // expected-error @+1 {{'st.kernel' op of kind "attention" streams products that contract its rows and products that do not: run split-attention first}}
    %1:2 = st.kernel "attention" (%a = %0 : tensor<8x4xf32>, %b = %0 : tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) attributes {st.addresses = [#st.address<offset = 128>, #st.address<offset = 256>], st.streamed} {
      %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
      %3 = stablehlo.tanh %2 : tensor<8x8xf32>
      %4 = stablehlo.dot_general %3, %b, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      %5 = stablehlo.dot_general %3, %a, contracting_dims = [0] x [0] : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
      st.yield %4, %5 : tensor<8x4xf32>, tensor<8x4xf32>
    }
  }
}
