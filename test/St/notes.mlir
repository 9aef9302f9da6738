// Errors about a second op point at it: those that no other file here tests.
// RUN: st-opt %s -split-input-file -verify-diagnostics --schedule-pipeline

// expected-error@+1 {{st.speed has 2 link_bytes_per_us, expected one for each of 1 axes of the mesh}}
module attributes {st.speed = #st.speed<flops_per_ns = 1, flops16_per_ns = 1, vector_bytes_per_ns = 1, bytes_per_ns = 1, kernel_ns = 1, link_bytes_per_us = [1, 1], link_ns = 1>} {
  // expected-note@+1 {{the mesh is here}}
  st.mesh @mesh <["data"=2], micro=1>
}

// -----

module {
  st.mesh @mesh <[], micro=1>
  // expected-note@+1 {{the program is here}}
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    // expected-error@+1 {{is of stage 1, which its program does not have}}
    st.task @forward1 forward stage 1 (%mb) {
    }
  }
}

// -----

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @b "step" slots 1 : tensor<4xf32>
    st.task @update update stage 0 (%mb) {
      // expected-note@+1 {{the value is defined here}}
      %0 = stablehlo.constant dense<1.0> : tensor<4xf32>
      %1 = st.loop trips 2 carried [@b] init(%0) : (tensor<4xf32>) captures(%0) : (tensor<4xf32>) -> tensor<4xf32> {
        // expected-error@+1 {{has type 'tensor<2xf32>', expected 'tensor<4xf32>'}}
        %2 = st.capture 0 : tensor<2xf32>
      }
    }
  }
}
