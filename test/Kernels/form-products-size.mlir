// Products of one tensor share a kernel while each is too small for the cores: with eight cores up to 512 x 128 in
// f32, and half as much in 16 bits.
//
// RUN: st-opt --form-kernels %s | FileCheck %s
// RUN: sed 's/st.cores = 8/st.cores = 4/' %s | st-opt --form-kernels | FileCheck %s --check-prefix=FOUR
#any = #st.sharding<@mesh, [{}, {}]>
module attributes {st.cores = 8 : i64, st.target = #st.target<backend = "dtu", device = "dtu-t10", alignment = 128, scratch_bytes = 262144, memory_bytes = 4294967296>} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @x "x" role "batch" global tensor<512x16xf32> slice #any local tensor<512x16xf32> micro_dim -1
    st.input @y "y" role "batch" global tensor<520x16xf32> slice #any local tensor<520x16xf32> micro_dim -1
    st.input @w "w" role "batch" global tensor<16x128xf32> slice #any local tensor<16x128xf32> micro_dim -1
    st.input @k "k" role "batch" global tensor<16x128xf32> slice #any local tensor<16x128xf32> micro_dim -1
    st.input @a "a" role "batch" global tensor<512x16xbf16> slice #any local tensor<512x16xbf16> micro_dim -1
    st.input @b "b" role "batch" global tensor<256x16xbf16> slice #any local tensor<256x16xbf16> micro_dim -1
    st.input @u "u" role "batch" global tensor<16x128xbf16> slice #any local tensor<16x128xbf16> micro_dim -1
    st.input @v "v" role "batch" global tensor<16x128xbf16> slice #any local tensor<16x128xbf16> micro_dim -1
    st.output @xw "xw" role "metric" global tensor<512x128xf32> slice #any local tensor<512x128xf32>
    st.output @xk "xk" role "metric" global tensor<512x128xf32> slice #any local tensor<512x128xf32>
    st.output @yw "yw" role "metric" global tensor<520x128xf32> slice #any local tensor<520x128xf32>
    st.output @yk "yk" role "metric" global tensor<520x128xf32> slice #any local tensor<520x128xf32>
    st.output @au "au" role "metric" global tensor<512x128xbf16> slice #any local tensor<512x128xbf16>
    st.output @av "av" role "metric" global tensor<512x128xbf16> slice #any local tensor<512x128xbf16>
    st.output @bu "bu" role "metric" global tensor<256x128xbf16> slice #any local tensor<256x128xbf16>
    st.output @bv "bv" role "metric" global tensor<256x128xbf16> slice #any local tensor<256x128xbf16>
    // CHECK: st.kernel "matmul" {{.*}} -> (tensor<512x128xf32>, tensor<512x128xf32>)
    // CHECK: st.kernel "matmul" {{.*}} -> tensor<520x128xf32>
    // CHECK: st.kernel "matmul" {{.*}} -> tensor<520x128xf32>
    // CHECK: st.kernel "matmul" {{.*}} -> tensor<512x128xbf16>
    // CHECK: st.kernel "matmul" {{.*}} -> tensor<512x128xbf16>
    // CHECK: st.kernel "matmul" {{.*}} -> (tensor<256x128xbf16>, tensor<256x128xbf16>)
    // FOUR-COUNT-8: st.kernel "matmul" {{.*}} -> tensor
    st.task @forward0 forward stage 0 (%mb) {
      %x = st.read @x : tensor<512x16xf32>
      %y = st.read @y : tensor<520x16xf32>
      %w = st.read @w : tensor<16x128xf32>
      %k = st.read @k : tensor<16x128xf32>
      %a = st.read @a : tensor<512x16xbf16>
      %b = st.read @b : tensor<256x16xbf16>
      %u = st.read @u : tensor<16x128xbf16>
      %v = st.read @v : tensor<16x128xbf16>
      %xw = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<512x16xf32>, tensor<16x128xf32>) -> tensor<512x128xf32>
      %xk = stablehlo.dot_general %x, %k, contracting_dims = [1] x [0] : (tensor<512x16xf32>, tensor<16x128xf32>) -> tensor<512x128xf32>
      %yw = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<520x16xf32>, tensor<16x128xf32>) -> tensor<520x128xf32>
      %yk = stablehlo.dot_general %y, %k, contracting_dims = [1] x [0] : (tensor<520x16xf32>, tensor<16x128xf32>) -> tensor<520x128xf32>
      %au = stablehlo.dot_general %a, %u, contracting_dims = [1] x [0] : (tensor<512x16xbf16>, tensor<16x128xbf16>) -> tensor<512x128xbf16>
      %av = stablehlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<512x16xbf16>, tensor<16x128xbf16>) -> tensor<512x128xbf16>
      %bu = stablehlo.dot_general %b, %u, contracting_dims = [1] x [0] : (tensor<256x16xbf16>, tensor<16x128xbf16>) -> tensor<256x128xbf16>
      %bv = stablehlo.dot_general %b, %v, contracting_dims = [1] x [0] : (tensor<256x16xbf16>, tensor<16x128xbf16>) -> tensor<256x128xbf16>
      st.write %xw to @xw : tensor<512x128xf32>
      st.write %xk to @xk : tensor<512x128xf32>
      st.write %yw to @yw : tensor<520x128xf32>
      st.write %yk to @yk : tensor<520x128xf32>
      st.write %au to @au : tensor<512x128xbf16>
      st.write %av to @av : tensor<512x128xbf16>
      st.write %bu to @bu : tensor<256x128xbf16>
      st.write %bv to @bv : tensor<256x128xbf16>
    }
    st.schedule "sequential" [@forward0 0]
  }
}
