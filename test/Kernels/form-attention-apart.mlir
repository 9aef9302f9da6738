// RUN: st-opt --form-kernels --split-input-file --verify-diagnostics %s | FileCheck %s

// Rows of 4096 elements: a core holds too few of them for the matrix engine. A remark says so.

module attributes {st.cores = 8 : i64, st.target = #st.target<backend = "dtu", device = "test", alignment = 64, scratch_bytes = 262144, memory_bytes = 1000000000>} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @q "stash" slots 1 : tensor<4096x64xf32>
    st.buffer @k "stash" slots 1 : tensor<4096x64xf32>
    st.buffer @y "stash" slots 1 : tensor<4096x64xf32>
    // CHECK-LABEL: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      // CHECK: st.kernel "matmul"
      // CHECK: st.kernel "loop"
      // CHECK: st.kernel "matmul"
      %q = st.read @q[%mb] : tensor<4096x64xf32>
      %k = st.read @k[%mb] : tensor<4096x64xf32>
      %s = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<4096x64xf32>, tensor<4096x64xf32>) -> tensor<4096x4096xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %e = stablehlo.exponential %s : tensor<4096x4096xf32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x4096xf32>, tensor<f32>) -> tensor<4096xf32>
      %sumb = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<4096xf32>) -> tensor<4096x4096xf32>
      %p = stablehlo.divide %e, %sumb : tensor<4096x4096xf32>
      // expected-remark @below {{and the product before it are not fused: a core holds 1 of their rows of 4096 elements, expected at least 12}}
      %y = stablehlo.dot_general %p, %k, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x64xf32>) -> tensor<4096x64xf32>
      st.write %y to @y[%mb] : tensor<4096x64xf32>
    }
  }
}

// -----

// Products of a dense network: the kernel would read their weights again for every few rows.

module attributes {st.cores = 8 : i64, st.target = #st.target<backend = "dtu", device = "test", alignment = 64, scratch_bytes = 262144, memory_bytes = 1000000000>} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @x "stash" slots 1 : tensor<4096x256xf32>
    st.buffer @w "stash" slots 1 : tensor<256x256xf32>
    st.buffer @y "stash" slots 1 : tensor<4096x256xf32>
    // CHECK-LABEL: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      // CHECK: st.kernel "matmul"
      // CHECK: st.kernel "loop"
      // CHECK: st.kernel "matmul"
      %x = st.read @x[%mb] : tensor<4096x256xf32>
      %w = st.read @w[%mb] : tensor<256x256xf32>
      %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%h init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4096x256xf32>, tensor<f32>) -> tensor<4096xf32>
      %sumb = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<4096xf32>) -> tensor<4096x256xf32>
      %n = stablehlo.subtract %h, %sumb : tensor<4096x256xf32>
      %y = stablehlo.dot_general %n, %w, contracting_dims = [1] x [0] : (tensor<4096x256xf32>, tensor<256x256xf32>) -> tensor<4096x256xf32>
      st.write %y to @y[%mb] : tensor<4096x256xf32>
    }
  }
}

// -----

// The right operand of the second product depends on the rows, so the product cannot share their kernel.

module attributes {st.cores = 8 : i64} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @q "stash" slots 1 : tensor<64x8xf32>
    st.buffer @y "stash" slots 1 : tensor<64x64xf32>
    // CHECK-LABEL: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      // CHECK: st.kernel "matmul"
      // CHECK: st.kernel "loop"
      // CHECK: st.kernel "copy"
      // CHECK: st.kernel "matmul"
      %q = st.read @q[%mb] : tensor<64x8xf32>
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<64x8xf32>, tensor<64x8xf32>) -> tensor<64x64xf32>
      %p = stablehlo.tanh %s : tensor<64x64xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<64xf32>
      %sumb = stablehlo.broadcast_in_dim %sum, dims = [0] : (tensor<64xf32>) -> tensor<64x64xf32>
      %z = stablehlo.subtract %p, %sumb : tensor<64x64xf32>
      %t = stablehlo.transpose %z, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
      %y = stablehlo.dot_general %z, %t, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      st.write %y to @y[%mb] : tensor<64x64xf32>
    }
  }
}
