// The rows of an attention kernel: with 8192 columns they do not fit a core with 64 KiB, so the kernel streams them.
// Products of more than 128 columns or depth stay separate.
//
// RUN: st-opt --form-kernels=attention=streamed %s | FileCheck %s --check-prefixes=ALL,STREAMED
// RUN: st-opt --form-kernels=attention=resident %s | FileCheck %s --check-prefixes=ALL,APART
// RUN: st-opt --form-kernels=attention=none %s | FileCheck %s --check-prefixes=ALL,APART

#any = #st.sharding<@mesh, [{}, {}]>
module attributes {st.cores = 8 : i64, st.target = #st.target<backend = "cuda", device = "test", alignment = 128, scratch_bytes = 65536, memory_bytes = 4294967296>} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @q "q" role "batch" global tensor<64x32xf32> slice #any local tensor<64x32xf32> micro_dim -1
    st.input @k "k" role "batch" global tensor<8192x32xf32> slice #any local tensor<8192x32xf32> micro_dim -1
    st.input @w "w" role "batch" global tensor<8192x129xf32> slice #any local tensor<8192x129xf32> micro_dim -1
    st.output @y "y" role "metric" global tensor<64x32xf32> slice #any local tensor<64x32xf32>
    st.output @g "g" role "metric" global tensor<8192x32xf32> slice #any local tensor<8192x32xf32>
    st.output @z "z" role "metric" global tensor<64x129xf32> slice #any local tensor<64x129xf32>

    // ALL-LABEL: st.task @forward0
    // STREAMED: st.kernel "attention" {{.*}} -> (tensor<8192x32xf32>, tensor<64x32xf32>)
    // STREAMED-COUNT-3: stablehlo.dot_general
    // APART: st.kernel "matmul" {{.*}} -> tensor<64x8192xf32>
    // APART-NOT: st.kernel "attention"
    // ALL-LABEL: st.task @weight0
    st.task @forward0 forward stage 0 (%mb) {
      %q = st.read @q : tensor<64x32xf32>
      %k = st.read @k : tensor<8192x32xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %s = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<64x32xf32>, tensor<8192x32xf32>) -> tensor<64x8192xf32>
      %m = stablehlo.reduce(%s init: %zero) applies stablehlo.maximum across dimensions = [1] : (tensor<64x8192xf32>, tensor<f32>) -> tensor<64xf32>
      %mb2 = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<64xf32>) -> tensor<64x8192xf32>
      %p = stablehlo.subtract %s, %mb2 : tensor<64x8192xf32>
      %y = stablehlo.dot_general %p, %k, contracting_dims = [1] x [0] : (tensor<64x8192xf32>, tensor<8192x32xf32>) -> tensor<64x32xf32>
      %g = stablehlo.dot_general %p, %q, contracting_dims = [0] x [0] : (tensor<64x8192xf32>, tensor<64x32xf32>) -> tensor<8192x32xf32>
      st.write %y to @y : tensor<64x32xf32>
      st.write %g to @g : tensor<8192x32xf32>
    }

    // ALL-NOT: st.kernel "attention"
    st.task @weight0 weight stage 0 (%mb) {
      %q = st.read @q : tensor<64x32xf32>
      %k = st.read @k : tensor<8192x32xf32>
      %w = st.read @w : tensor<8192x129xf32>
      %s = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<64x32xf32>, tensor<8192x32xf32>) -> tensor<64x8192xf32>
      %p = stablehlo.tanh %s : tensor<64x8192xf32>
      %z = stablehlo.dot_general %p, %w, contracting_dims = [1] x [0] : (tensor<64x8192xf32>, tensor<8192x129xf32>) -> tensor<64x129xf32>
      st.write %z to @z : tensor<64x129xf32>
    }
  }
}
