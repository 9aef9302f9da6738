// Rows that do not fit a core with 64 KiB stream through it if this puts them between two products. Rows that fit, and other
// long reductions, have the kernels of the resident form.
//
// RUN: st-opt --form-kernels=attention=auto %s | FileCheck %s

#any = #st.sharding<@mesh, [{}, {}]>
module attributes {st.cores = 8 : i64, st.target = #st.target<backend = "dtu", device = "test", alignment = 128, scratch_bytes = 65536, memory_bytes = 4294967296>} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @q "q" role "batch" global tensor<64x32xf32> slice #any local tensor<64x32xf32> micro_dim -1
    st.input @k "k" role "batch" global tensor<8192x32xf32> slice #any local tensor<8192x32xf32> micro_dim -1
    st.input @h "h" role "batch" global tensor<128x32xf32> slice #any local tensor<128x32xf32> micro_dim -1
    st.input @x "x" role "batch" global tensor<64x8192xf32> slice #any local tensor<64x8192xf32> micro_dim -1
    st.input @v "v" role "batch" global tensor<64x256xf32> slice #any local tensor<64x256xf32> micro_dim -1
    st.input @w "w" role "batch" global tensor<8192x256xf32> slice #any local tensor<8192x256xf32> micro_dim -1
    st.output @y "y" role "metric" global tensor<64x32xf32> slice #any local tensor<64x32xf32>
    st.output @u "u" role "metric" global tensor<64x8192xf32> slice #any local tensor<64x8192xf32>
    st.output @o "o" role "metric" global tensor<64x256xf32> slice #any local tensor<64x256xf32>

    // CHECK-LABEL: st.task @forward0
    // CHECK-NOT: tensor<64x8192xf32>
    // CHECK: st.kernel "attention" {{.*}} -> tensor<64x32xf32> attributes {st.streamed} {
    // CHECK-COUNT-2: stablehlo.dot_general
    // CHECK-NOT: st.kernel
    st.task @forward0 forward stage 0 (%mb) {
      %q = st.read @q : tensor<64x32xf32>
      %k = st.read @k : tensor<8192x32xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %s = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<64x32xf32>, tensor<8192x32xf32>) -> tensor<64x8192xf32>
      %pm = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x8192xf32>, tensor<f32>) -> tensor<64xf32>
      %pb = stablehlo.broadcast_in_dim %pm, dims = [0] : (tensor<64xf32>) -> tensor<64x8192xf32>
      %pd = stablehlo.subtract %s, %pb : tensor<64x8192xf32>
      %pe = stablehlo.exponential %pd : tensor<64x8192xf32>
      %pz = stablehlo.reduce(%pe init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x8192xf32>, tensor<f32>) -> tensor<64xf32>
      %py = stablehlo.broadcast_in_dim %pz, dims = [0] : (tensor<64xf32>) -> tensor<64x8192xf32>
      %p = stablehlo.divide %pe, %py : tensor<64x8192xf32>
      %o = stablehlo.dot_general %p, %k, contracting_dims = [1] x [0] : (tensor<64x8192xf32>, tensor<8192x32xf32>) -> tensor<64x32xf32>
      st.write %o to @y : tensor<64x32xf32>
    }

    // CHECK-LABEL: st.task @forward1
    // CHECK: st.kernel "attention" {{.*}} -> tensor<64x32xf32> {
    // CHECK-NOT: st.kernel
    st.task @forward1 forward stage 0 (%mb) {
      %q = st.read @q : tensor<64x32xf32>
      %h = st.read @h : tensor<128x32xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %s = stablehlo.dot_general %q, %h, contracting_dims = [1] x [1] : (tensor<64x32xf32>, tensor<128x32xf32>) -> tensor<64x128xf32>
      %pm = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
      %pb = stablehlo.broadcast_in_dim %pm, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
      %pd = stablehlo.subtract %s, %pb : tensor<64x128xf32>
      %pe = stablehlo.exponential %pd : tensor<64x128xf32>
      %pz = stablehlo.reduce(%pe init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x128xf32>, tensor<f32>) -> tensor<64xf32>
      %py = stablehlo.broadcast_in_dim %pz, dims = [0] : (tensor<64xf32>) -> tensor<64x128xf32>
      %p = stablehlo.divide %pe, %py : tensor<64x128xf32>
      %o = stablehlo.dot_general %p, %h, contracting_dims = [1] x [0] : (tensor<64x128xf32>, tensor<128x32xf32>) -> tensor<64x32xf32>
      st.write %o to @y : tensor<64x32xf32>
    }

    // A softmax beside the streamed rows stays as it is without them: its reductions have separate kernels.
    // CHECK-LABEL: st.task @forward2
    // CHECK: st.kernel "attention" {{.*}} attributes {st.streamed}
    // CHECK: st.kernel "reduce" {{.*}} -> tensor<64xf32>
    // CHECK: st.kernel "loop" {{.*}} -> tensor<64x8192xf32>
    // CHECK: st.kernel "reduce" {{.*}} -> tensor<64xf32>
    // CHECK: st.kernel "loop" {{.*}} -> tensor<64x8192xf32>
    // CHECK-LABEL: st.task @forward3
    st.task @forward2 forward stage 0 (%mb) {
      %q = st.read @q : tensor<64x32xf32>
      %k = st.read @k : tensor<8192x32xf32>
      %x = st.read @x : tensor<64x8192xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %s = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<64x32xf32>, tensor<8192x32xf32>) -> tensor<64x8192xf32>
      %pm = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x8192xf32>, tensor<f32>) -> tensor<64xf32>
      %pb = stablehlo.broadcast_in_dim %pm, dims = [0] : (tensor<64xf32>) -> tensor<64x8192xf32>
      %pd = stablehlo.subtract %s, %pb : tensor<64x8192xf32>
      %pe = stablehlo.exponential %pd : tensor<64x8192xf32>
      %pz = stablehlo.reduce(%pe init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x8192xf32>, tensor<f32>) -> tensor<64xf32>
      %py = stablehlo.broadcast_in_dim %pz, dims = [0] : (tensor<64xf32>) -> tensor<64x8192xf32>
      %p = stablehlo.divide %pe, %py : tensor<64x8192xf32>
      %o = stablehlo.dot_general %p, %k, contracting_dims = [1] x [0] : (tensor<64x8192xf32>, tensor<8192x32xf32>) -> tensor<64x32xf32>
      %nm = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x8192xf32>, tensor<f32>) -> tensor<64xf32>
      %nb = stablehlo.broadcast_in_dim %nm, dims = [0] : (tensor<64xf32>) -> tensor<64x8192xf32>
      %nd = stablehlo.subtract %x, %nb : tensor<64x8192xf32>
      %ne = stablehlo.exponential %nd : tensor<64x8192xf32>
      %nz = stablehlo.reduce(%ne init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x8192xf32>, tensor<f32>) -> tensor<64xf32>
      %ny = stablehlo.broadcast_in_dim %nz, dims = [0] : (tensor<64xf32>) -> tensor<64x8192xf32>
      %n = stablehlo.divide %ne, %ny : tensor<64x8192xf32>
      st.write %o to @y : tensor<64x32xf32>
      st.write %n to @u : tensor<64x8192xf32>
    }

    // Two blocks of these matrices do not fit a core.
    // CHECK-NOT: st.streamed
    st.task @forward3 forward stage 0 (%mb) {
      %v = st.read @v : tensor<64x256xf32>
      %w = st.read @w : tensor<8192x256xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %s = stablehlo.dot_general %v, %w, contracting_dims = [1] x [1] : (tensor<64x256xf32>, tensor<8192x256xf32>) -> tensor<64x8192xf32>
      %pm = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x8192xf32>, tensor<f32>) -> tensor<64xf32>
      %pb = stablehlo.broadcast_in_dim %pm, dims = [0] : (tensor<64xf32>) -> tensor<64x8192xf32>
      %pd = stablehlo.subtract %s, %pb : tensor<64x8192xf32>
      %pe = stablehlo.exponential %pd : tensor<64x8192xf32>
      %pz = stablehlo.reduce(%pe init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x8192xf32>, tensor<f32>) -> tensor<64xf32>
      %py = stablehlo.broadcast_in_dim %pz, dims = [0] : (tensor<64xf32>) -> tensor<64x8192xf32>
      %p = stablehlo.divide %pe, %py : tensor<64x8192xf32>
      %o = stablehlo.dot_general %p, %w, contracting_dims = [1] x [0] : (tensor<64x8192xf32>, tensor<8192x256xf32>) -> tensor<64x256xf32>
      st.write %o to @o : tensor<64x256xf32>
    }

    // Rows that are stored anyway do not stream.
    // CHECK-LABEL: st.task @forward4
    // CHECK-NOT: st.streamed
    // CHECK: st.write {{.*}} to @u
    // CHECK-NOT: st.streamed
    st.task @forward4 forward stage 0 (%mb) {
      %q = st.read @q : tensor<64x32xf32>
      %k = st.read @k : tensor<8192x32xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %s = stablehlo.dot_general %q, %k, contracting_dims = [1] x [1] : (tensor<64x32xf32>, tensor<8192x32xf32>) -> tensor<64x8192xf32>
      %pm = stablehlo.reduce(%s init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<64x8192xf32>, tensor<f32>) -> tensor<64xf32>
      %pb = stablehlo.broadcast_in_dim %pm, dims = [0] : (tensor<64xf32>) -> tensor<64x8192xf32>
      %pd = stablehlo.subtract %s, %pb : tensor<64x8192xf32>
      %pe = stablehlo.exponential %pd : tensor<64x8192xf32>
      %pz = stablehlo.reduce(%pe init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<64x8192xf32>, tensor<f32>) -> tensor<64xf32>
      %py = stablehlo.broadcast_in_dim %pz, dims = [0] : (tensor<64xf32>) -> tensor<64x8192xf32>
      %p = stablehlo.divide %pe, %py : tensor<64x8192xf32>
      %o = stablehlo.dot_general %p, %k, contracting_dims = [1] x [0] : (tensor<64x8192xf32>, tensor<8192x32xf32>) -> tensor<64x32xf32>
      st.write %p to @u : tensor<64x8192xf32>
      st.write %o to @y : tensor<64x32xf32>
    }
  }
}
