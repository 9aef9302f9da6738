// Groups of three heads share keys and values: the kernel broadcasts them. cuDNN reads them once for a group.
//
// RUN: st-opt %s --split-input-file --convert-kernels-to-gpu=attention | FileCheck %s

// CHECK-LABEL: func.func @group0_forward0
// CHECK: cuda.attention {{.*}} 2 x 6 of 8 x 8 depth 16 width 16 q [768, 16, 96] k [256, 16, 32] v [256, 16, 32] o [768, 128, 16] {group = 3 : i64} : {{.*}}memref<512xbf16>, memref<512xbf16>
// CHECK: gpu.launch_func @kernels::@attention_
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x2x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}, {}]> local tensor<2x8x2x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x2x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x2x16xbf16> micro_dim -1 at <offset = 3072>
  st.input @v "v" role "batch" global tensor<2x8x2x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x2x16xbf16> micro_dim -1 at <offset = 4096>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x2x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 3072>]} : tensor<2x8x2x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x2x16xbf16>
    %o:3 = st.kernel "attention" (%a = %q : tensor<2x8x2x3x16xbf16>, %b = %k : tensor<2x8x2x16xbf16>, %c = %v : tensor<2x8x2x16xbf16>) -> (tensor<2x2x3x8x16xbf16>, tensor<2x2x3x8xf32>, tensor<2x2x3x8xf32>) attributes {st.addresses = [#st.address<offset = 8192>, #st.address<offset = 11264>, #st.address<offset = 12288>]} {
      %bs = stablehlo.broadcast_in_dim %b, dims = [0, 1, 2, 4] : (tensor<2x8x2x16xbf16>) -> tensor<2x8x2x3x16xbf16>
      %cs = stablehlo.broadcast_in_dim %c, dims = [0, 1, 2, 4] : (tensor<2x8x2x16xbf16>) -> tensor<2x8x2x3x16xbf16>
      %s = stablehlo.dot_general %a, %bs, batching_dims = [0, 2, 3] x [0, 2, 3], contracting_dims = [4] x [4] : (tensor<2x8x2x3x16xbf16>, tensor<2x8x2x3x16xbf16>) -> tensor<2x2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x2x3x8x8xbf16>) -> tensor<2x2x3x8x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %max = stablehlo.reduce(%f init: %low) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x3x8x8xf32>, tensor<f32>) -> tensor<2x2x3x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2, 3] : (tensor<2x2x3x8xf32>) -> tensor<2x2x3x8x8xf32>
      %d = stablehlo.subtract %f, %maxs : tensor<2x2x3x8x8xf32>
      %e = stablehlo.exponential %d : tensor<2x2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [4] : (tensor<2x2x3x8x8xf32>, tensor<f32>) -> tensor<2x2x3x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2, 3] : (tensor<2x2x3x8xf32>) -> tensor<2x2x3x8x8xf32>
      %y = stablehlo.divide %e, %sums : tensor<2x2x3x8x8xf32>
      %p = stablehlo.convert %y : (tensor<2x2x3x8x8xf32>) -> tensor<2x2x3x8x8xbf16>
      %o = stablehlo.dot_general %p, %cs, batching_dims = [0, 1, 2] x [0, 2, 3], contracting_dims = [4] x [1] : (tensor<2x2x3x8x8xbf16>, tensor<2x8x2x3x16xbf16>) -> tensor<2x2x3x8x16xbf16>
      st.yield %o, %max, %sum : tensor<2x2x3x8x16xbf16>, tensor<2x2x3x8xf32>, tensor<2x2x3x8xf32>
    }
  }
}

// -----

// The gradients of keys and values are those of each head.
// CHECK-LABEL: func.func @group0_backward0
// CHECK: cuda.attention {{.*}} gradient {{.*}} 2 x 6 of 8 x 8 depth 16 width 16 q [768, 16, 96] k [256, 16, 32] v [256, 16, 32] do [768, 16, 96] dq [768, 128, 16] dk [768, 128, 16] dv [768, 128, 16] {group = 3 : i64} :
// CHECK: gpu.launch_func @kernels::@attention_0
// CHECK: gpu.launch_func @kernels::@attention_1
// CHECK-NOT: gpu.launch_func
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x2x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}, {}]> local tensor<2x8x2x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x2x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x2x16xbf16> micro_dim -1 at <offset = 3072>
  st.input @v "v" role "batch" global tensor<2x8x2x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x2x16xbf16> micro_dim -1 at <offset = 4096>
  st.input @d "d" role "batch" global tensor<2x8x2x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}, {}]> local tensor<2x8x2x3x16xbf16> micro_dim -1 at <offset = 5120>
  st.task @backward0 backward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x2x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 3072>]} : tensor<2x8x2x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x2x16xbf16>
    %do = st.read @d {st.addresses = [#st.address<offset = 5120>]} : tensor<2x8x2x3x16xbf16>
    %one:4 = st.kernel "attention" (%a = %q : tensor<2x8x2x3x16xbf16>, %b = %k : tensor<2x8x2x16xbf16>, %c = %v : tensor<2x8x2x16xbf16>, %d = %do : tensor<2x8x2x3x16xbf16>) -> (tensor<2x2x3x8x16xbf16>, tensor<2x2x3x8xf32>, tensor<2x2x3x8xf32>, tensor<2x2x3x8xf32>) attributes {st.addresses = [#st.address<offset = 8192>, #st.address<offset = 11264>, #st.address<offset = 11776>, #st.address<offset = 12288>]} {
      %bs = stablehlo.broadcast_in_dim %b, dims = [0, 1, 2, 4] : (tensor<2x8x2x16xbf16>) -> tensor<2x8x2x3x16xbf16>
      %cs = stablehlo.broadcast_in_dim %c, dims = [0, 1, 2, 4] : (tensor<2x8x2x16xbf16>) -> tensor<2x8x2x3x16xbf16>
      %s = stablehlo.dot_general %a, %bs, batching_dims = [0, 2, 3] x [0, 2, 3], contracting_dims = [4] x [4] : (tensor<2x8x2x3x16xbf16>, tensor<2x8x2x3x16xbf16>) -> tensor<2x2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x2x3x8x8xbf16>) -> tensor<2x2x3x8x8xf32>
      %g = stablehlo.dot_general %d, %cs, batching_dims = [0, 2, 3] x [0, 2, 3], contracting_dims = [4] x [4] : (tensor<2x8x2x3x16xbf16>, tensor<2x8x2x3x16xbf16>) -> tensor<2x2x3x8x8xbf16>
      %dp = stablehlo.convert %g : (tensor<2x2x3x8x8xbf16>) -> tensor<2x2x3x8x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %max = stablehlo.reduce(%f init: %low) applies stablehlo.maximum across dimensions = [4] : (tensor<2x2x3x8x8xf32>, tensor<f32>) -> tensor<2x2x3x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2, 3] : (tensor<2x2x3x8xf32>) -> tensor<2x2x3x8x8xf32>
      %u = stablehlo.subtract %f, %maxs : tensor<2x2x3x8x8xf32>
      %e = stablehlo.exponential %u : tensor<2x2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [4] : (tensor<2x2x3x8x8xf32>, tensor<f32>) -> tensor<2x2x3x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2, 3] : (tensor<2x2x3x8xf32>) -> tensor<2x2x3x8x8xf32>
      %p = stablehlo.divide %e, %sums : tensor<2x2x3x8x8xf32>
      %y = stablehlo.multiply %p, %dp : tensor<2x2x3x8x8xf32>
      %r = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [4] : (tensor<2x2x3x8x8xf32>, tensor<f32>) -> tensor<2x2x3x8xf32>
      %rs = stablehlo.broadcast_in_dim %r, dims = [0, 1, 2, 3] : (tensor<2x2x3x8xf32>) -> tensor<2x2x3x8x8xf32>
      %w = stablehlo.subtract %dp, %rs : tensor<2x2x3x8x8xf32>
      %x = stablehlo.multiply %p, %w : tensor<2x2x3x8x8xf32>
      %ds = stablehlo.convert %x : (tensor<2x2x3x8x8xf32>) -> tensor<2x2x3x8x8xbf16>
      %o = stablehlo.dot_general %ds, %bs, batching_dims = [0, 1, 2] x [0, 2, 3], contracting_dims = [4] x [1] : (tensor<2x2x3x8x8xbf16>, tensor<2x8x2x3x16xbf16>) -> tensor<2x2x3x8x16xbf16>
      st.yield %o, %max, %sum, %r : tensor<2x2x3x8x16xbf16>, tensor<2x2x3x8xf32>, tensor<2x2x3x8xf32>, tensor<2x2x3x8xf32>
    }
    %two:2 = st.kernel "attention" (%a = %q : tensor<2x8x2x3x16xbf16>, %b = %k : tensor<2x8x2x16xbf16>, %c = %v : tensor<2x8x2x16xbf16>, %d = %do : tensor<2x8x2x3x16xbf16>, %max = %one#1 : tensor<2x2x3x8xf32>, %sum = %one#2 : tensor<2x2x3x8xf32>, %r = %one#3 : tensor<2x2x3x8xf32>) -> (tensor<2x2x3x8x16xbf16>, tensor<2x2x3x8x16xbf16>) attributes {st.addresses = [#st.address<offset = 16384>, #st.address<offset = 20480>]} {
      %bs = stablehlo.broadcast_in_dim %b, dims = [0, 1, 2, 4] : (tensor<2x8x2x16xbf16>) -> tensor<2x8x2x3x16xbf16>
      %cs = stablehlo.broadcast_in_dim %c, dims = [0, 1, 2, 4] : (tensor<2x8x2x16xbf16>) -> tensor<2x8x2x3x16xbf16>
      %s = stablehlo.dot_general %a, %bs, batching_dims = [0, 2, 3] x [0, 2, 3], contracting_dims = [4] x [4] : (tensor<2x8x2x3x16xbf16>, tensor<2x8x2x3x16xbf16>) -> tensor<2x2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x2x3x8x8xbf16>) -> tensor<2x2x3x8x8xf32>
      %g = stablehlo.dot_general %d, %cs, batching_dims = [0, 2, 3] x [0, 2, 3], contracting_dims = [4] x [4] : (tensor<2x8x2x3x16xbf16>, tensor<2x8x2x3x16xbf16>) -> tensor<2x2x3x8x8xbf16>
      %dp = stablehlo.convert %g : (tensor<2x2x3x8x8xbf16>) -> tensor<2x2x3x8x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2, 3] : (tensor<2x2x3x8xf32>) -> tensor<2x2x3x8x8xf32>
      %u = stablehlo.subtract %f, %maxs : tensor<2x2x3x8x8xf32>
      %e = stablehlo.exponential %u : tensor<2x2x3x8x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2, 3] : (tensor<2x2x3x8xf32>) -> tensor<2x2x3x8x8xf32>
      %p = stablehlo.divide %e, %sums : tensor<2x2x3x8x8xf32>
      %rs = stablehlo.broadcast_in_dim %r, dims = [0, 1, 2, 3] : (tensor<2x2x3x8xf32>) -> tensor<2x2x3x8x8xf32>
      %w = stablehlo.subtract %dp, %rs : tensor<2x2x3x8x8xf32>
      %x = stablehlo.multiply %p, %w : tensor<2x2x3x8x8xf32>
      %ds = stablehlo.convert %x : (tensor<2x2x3x8x8xf32>) -> tensor<2x2x3x8x8xbf16>
      %o = stablehlo.dot_general %ds, %a, batching_dims = [0, 1, 2] x [0, 2, 3], contracting_dims = [3] x [1] : (tensor<2x2x3x8x8xbf16>, tensor<2x8x2x3x16xbf16>) -> tensor<2x2x3x8x16xbf16>
      %h = stablehlo.convert %p : (tensor<2x2x3x8x8xf32>) -> tensor<2x2x3x8x8xbf16>
      %n = stablehlo.dot_general %h, %d, batching_dims = [0, 1, 2] x [0, 2, 3], contracting_dims = [3] x [1] : (tensor<2x2x3x8x8xbf16>, tensor<2x8x2x3x16xbf16>) -> tensor<2x2x3x8x16xbf16>
      st.yield %o, %n : tensor<2x2x3x8x16xbf16>, tensor<2x2x3x8x16xbf16>
    }
  }
}
