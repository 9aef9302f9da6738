// Two kernels of a gradient of 16 bits are marked, which can be joined. After that their sums may be derived. They read the
// keys through separate reshapes.
//
// RUN: st-opt --mark-attention-gradients %s | FileCheck %s
// CHECK: %{{.*}}:4 = st.kernel "attention" {{.*}} attributes {cuda.gradient_scale = 1.000000e+00 : f64
// CHECK: %{{.*}}:2 = st.kernel "attention" {{.*}} attributes {cuda.gradient_scale = 1.000000e+00 : f64
//
// Without a join, the first kernel keeps the sums that the second reads.
// RUN: sed 's|    %%two:2|    %%flat = stablehlo.reshape %%one#0 : (tensor<2x3x8x16xbf16>) -> tensor<6x8x16xbf16>\n    %%two:2|' %s | st-opt --mark-attention-gradients | FileCheck %s --check-prefix=APART
// APART-NOT: cuda.gradient_scale
// APART: %{{.*}}:4 = st.kernel "attention" {{.*}} attributes {{{.*}}st.keeps_row_sums
// APART-NOT: st.keeps_row_sums
//
// cuDNN computes no other formulas.
// RUN: sed "s/stablehlo.subtract %%dp/stablehlo.add %%dp/" %s | st-opt --mark-attention-gradients | FileCheck %s --check-prefix=OTHER
// OTHER-NOT: cuda.gradient_scale
// OTHER-NOT: st.keeps_row_sums
//
// cuDNN computes no products of f32.
// RUN: sed "s/bf16/f32/g" %s | st-opt --mark-attention-gradients | FileCheck %s --check-prefix=WIDE
// WIDE-NOT: cuda.gradient_scale
// WIDE-NOT: st.keeps_row_sums
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.input @d "d" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 6144>
  st.task @backward0 backward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    %do = st.read @d {st.addresses = [#st.address<offset = 6144>]} : tensor<2x8x3x16xbf16>
    %one:4 = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>, %d = %do : tensor<2x8x3x16xbf16>) -> (tensor<2x3x8x16xbf16>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) attributes {st.addresses = [#st.address<offset = 8192>, #st.address<offset = 10240>, #st.address<offset = 10496>, #st.address<offset = 10752>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %g = stablehlo.dot_general %d, %c, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %dp = stablehlo.convert %g : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %max = stablehlo.reduce(%f init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %u = stablehlo.subtract %f, %maxs : tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %u : tensor<2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %p = stablehlo.divide %e, %sums : tensor<2x3x8x8xf32>
      %y = stablehlo.multiply %p, %dp : tensor<2x3x8x8xf32>
      %r = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %rs = stablehlo.broadcast_in_dim %r, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %w = stablehlo.subtract %dp, %rs : tensor<2x3x8x8xf32>
      %x = stablehlo.multiply %p, %w : tensor<2x3x8x8xf32>
      %ds = stablehlo.convert %x : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %ds, %b, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o, %max, %sum, %r : tensor<2x3x8x16xbf16>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>
    }
    %flat_keys = stablehlo.reshape %k : (tensor<2x8x3x16xbf16>) -> tensor<2x8x48xbf16>
    %keys = stablehlo.reshape %flat_keys : (tensor<2x8x48xbf16>) -> tensor<2x8x3x16xbf16>
    %two:2 = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %keys : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>, %d = %do : tensor<2x8x3x16xbf16>, %max = %one#1 : tensor<2x3x8xf32>, %sum = %one#2 : tensor<2x3x8xf32>, %r = %one#3 : tensor<2x3x8xf32>) -> (tensor<2x3x8x16xbf16>, tensor<2x3x8x16xbf16>) attributes {st.addresses = [#st.address<offset = 16384>, #st.address<offset = 18432>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %g = stablehlo.dot_general %d, %c, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %dp = stablehlo.convert %g : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %u = stablehlo.subtract %f, %maxs : tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %u : tensor<2x3x8x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %p = stablehlo.divide %e, %sums : tensor<2x3x8x8xf32>
      %rs = stablehlo.broadcast_in_dim %r, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %w = stablehlo.subtract %dp, %rs : tensor<2x3x8x8xf32>
      %x = stablehlo.multiply %p, %w : tensor<2x3x8x8xf32>
      %ds = stablehlo.convert %x : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %ds, %a, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      %h = stablehlo.convert %p : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %n = stablehlo.dot_general %h, %d, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o, %n : tensor<2x3x8x16xbf16>, tensor<2x3x8x16xbf16>
    }
  }
}
