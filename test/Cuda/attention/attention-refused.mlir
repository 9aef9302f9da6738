// RUN: st-opt %s --split-input-file --convert-kernels-to-gpu="attention explain" --verify-diagnostics -o /dev/null

// The operands are f32.
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xf32> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xf32> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xf32> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xf32> micro_dim -1 at <offset = 4096>
  st.input @v "v" role "batch" global tensor<2x8x3x16xf32> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xf32> micro_dim -1 at <offset = 8192>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xf32>
    %k = st.read @k {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xf32>
    %v = st.read @v {st.addresses = [#st.address<offset = 8192>]} : tensor<2x8x3x16xf32>
    // expected-remark @+1 {{is not attention as cuDNN computes it: q is not of a 16-bit type}}
    %o = st.kernel "attention" (%a = %q : tensor<2x8x3x16xf32>, %b = %k : tensor<2x8x3x16xf32>, %c = %v : tensor<2x8x3x16xf32>) -> tensor<2x3x8x16xf32> attributes {st.addresses = [#st.address<offset = 16384>]} {
      %f = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %max = stablehlo.reduce(%f init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %d = stablehlo.subtract %f, %maxs : tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %d : tensor<2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %y = stablehlo.divide %e, %sums : tensor<2x3x8x8xf32>
      %o = stablehlo.dot_general %y, %c, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xf32>, tensor<2x8x3x16xf32>) -> tensor<2x3x8x16xf32>
      st.yield %o : tensor<2x3x8x16xf32>
    }
  }
}

// -----

// The kernel stores the probabilities for a backward pass that does not recompute them.
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    // expected-remark @+1 {{is not attention as cuDNN computes it: it stores a value for each score}}
    %o:2 = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>) -> (tensor<2x3x8x16xbf16>, tensor<2x3x8x8xbf16>) attributes {st.addresses = [#st.address<offset = 8192>, #st.address<offset = 10240>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %max = stablehlo.reduce(%f init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %d = stablehlo.subtract %f, %maxs : tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %d : tensor<2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %y = stablehlo.divide %e, %sums : tensor<2x3x8x8xf32>
      %p = stablehlo.convert %y : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %p, %c, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o, %p : tensor<2x3x8x16xbf16>, tensor<2x3x8x8xbf16>
    }
  }
}

// -----

// The kernel stores a row statistic other than the maximum and the sum.
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    // expected-remark @+1 {{is not attention as cuDNN computes it: it stores row statistics other than a maximum and a sum of exponentials}}
    %o:2 = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>) -> (tensor<2x3x8x16xbf16>, tensor<2x3x8xf32>) attributes {st.addresses = [#st.address<offset = 8192>, #st.address<offset = 10240>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %max = stablehlo.reduce(%f init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %d = stablehlo.subtract %f, %maxs : tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %d : tensor<2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %y = stablehlo.divide %e, %sums : tensor<2x3x8x8xf32>
      %p = stablehlo.convert %y : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %p, %c, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      %l = stablehlo.log %sum : tensor<2x3x8xf32>
      st.yield %o, %l : tensor<2x3x8x16xbf16>, tensor<2x3x8xf32>
    }
  }
}

// -----

// A mask is applied after the softmax, as dropout does.
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.input @m "m" role "batch" global tensor<8x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<8x8xf32> micro_dim -1 at <offset = 6144>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    %mask = st.read @m {st.addresses = [#st.address<offset = 6144>]} : tensor<8x8xf32>
    // expected-remark @+1 {{is not attention as cuDNN computes it: it does not compute a softmax of its scores}}
    %o = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>, %m = %mask : tensor<8x8xf32>) -> tensor<2x3x8x16xbf16> attributes {st.addresses = [#st.address<offset = 8192>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %max = stablehlo.reduce(%f init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %d = stablehlo.subtract %f, %maxs : tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %d : tensor<2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %ms = stablehlo.broadcast_in_dim %m, dims = [2, 3] : (tensor<8x8xf32>) -> tensor<2x3x8x8xf32>
      %em = stablehlo.multiply %e, %ms : tensor<2x3x8x8xf32>
      %y = stablehlo.divide %em, %sums : tensor<2x3x8x8xf32>
      %p = stablehlo.convert %y : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %p, %c, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o : tensor<2x3x8x16xbf16>
    }
  }
}

// -----

// The mask is scaled with the scores.
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.input @m "m" role "batch" global tensor<8x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<8x8xf32> micro_dim -1 at <offset = 6144>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    %mask = st.read @m {st.addresses = [#st.address<offset = 6144>]} : tensor<8x8xf32>
    // expected-remark @+1 {{is not attention as cuDNN computes it: it does not compute a softmax of its scores}}
    %o = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>, %m = %mask : tensor<8x8xf32>) -> tensor<2x3x8x16xbf16> attributes {st.addresses = [#st.address<offset = 8192>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %ms = stablehlo.broadcast_in_dim %m, dims = [2, 3] : (tensor<8x8xf32>) -> tensor<2x3x8x8xf32>
      %x = stablehlo.add %f, %ms : tensor<2x3x8x8xf32>
      %scale = stablehlo.constant dense<0.25> : tensor<2x3x8x8xf32>
      %g = stablehlo.multiply %x, %scale : tensor<2x3x8x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %max = stablehlo.reduce(%g init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %d = stablehlo.subtract %g, %maxs : tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %d : tensor<2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %y = stablehlo.divide %e, %sums : tensor<2x3x8x8xf32>
      %p = stablehlo.convert %y : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %p, %c, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o : tensor<2x3x8x16xbf16>
    }
  }
}

// -----

// The scores pass through a function that is not smooth.
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    // expected-remark @+1 {{is not attention as cuDNN computes it: stablehlo.abs is not an op of attention}}
    %o = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16> attributes {st.addresses = [#st.address<offset = 8192>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %t = stablehlo.abs %f : tensor<2x3x8x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %max = stablehlo.reduce(%t init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %d = stablehlo.subtract %t, %maxs : tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %d : tensor<2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %y = stablehlo.divide %e, %sums : tensor<2x3x8x8xf32>
      %p = stablehlo.convert %y : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %p, %c, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o : tensor<2x3x8x16xbf16>
    }
  }
}

// -----

// A second mask depends on the row.
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    // expected-remark @+1 {{is not attention as cuDNN computes it: stablehlo.select is not an op of attention}}
    %o = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16> attributes {st.addresses = [#st.address<offset = 8192>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %row = stablehlo.iota dim = 0 : tensor<8x8xi32>
      %column = stablehlo.iota dim = 1 : tensor<8x8xi32>
      %sees = stablehlo.compare GT, %row, %column, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
      %none = stablehlo.constant dense<0.0> : tensor<8x8xf32>
      %all = stablehlo.constant dense<-3.40282347E+38> : tensor<8x8xf32>
      %t = stablehlo.select %sees, %none, %all : tensor<8x8xi1>, tensor<8x8xf32>
      %ms = stablehlo.broadcast_in_dim %t, dims = [2, 3] : (tensor<8x8xf32>) -> tensor<2x3x8x8xf32>
      %x = stablehlo.add %f, %ms : tensor<2x3x8x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %d = stablehlo.subtract %x, %maxs : tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %d : tensor<2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %y = stablehlo.divide %e, %sums : tensor<2x3x8x8xf32>
      %p = stablehlo.convert %y : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %p, %c, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o : tensor<2x3x8x16xbf16>
    }
  }
}

// -----

// Two masks are added.
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.input @m "m" role "batch" global tensor<8x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<8x8xf32> micro_dim -1 at <offset = 6144>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    %mask = st.read @m {st.addresses = [#st.address<offset = 6144>]} : tensor<8x8xf32>
    // expected-remark @+1 {{is not attention as cuDNN computes it: it is causal and adds another mask}}
    %o = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>, %m = %mask : tensor<8x8xf32>) -> tensor<2x3x8x16xbf16> attributes {st.addresses = [#st.address<offset = 8192>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %row = stablehlo.iota dim = 0 : tensor<8x8xi32>
      %column = stablehlo.iota dim = 1 : tensor<8x8xi32>
      %sees = stablehlo.compare GE, %row, %column, SIGNED : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
      %none = stablehlo.constant dense<0.0> : tensor<8x8xf32>
      %all = stablehlo.constant dense<-3.40282347E+38> : tensor<8x8xf32>
      %t = stablehlo.select %sees, %none, %all : tensor<8x8xi1>, tensor<8x8xf32>
      %ms = stablehlo.broadcast_in_dim %t, dims = [2, 3] : (tensor<8x8xf32>) -> tensor<2x3x8x8xf32>
      %x = stablehlo.add %f, %ms : tensor<2x3x8x8xf32>
      %os = stablehlo.broadcast_in_dim %m, dims = [2, 3] : (tensor<8x8xf32>) -> tensor<2x3x8x8xf32>
      %z = stablehlo.add %x, %os : tensor<2x3x8x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %max = stablehlo.reduce(%z init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %d = stablehlo.subtract %z, %maxs : tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %d : tensor<2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %y = stablehlo.divide %e, %sums : tensor<2x3x8x8xf32>
      %p = stablehlo.convert %y : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %p, %c, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o : tensor<2x3x8x16xbf16>
    }
  }
}

// -----

// A row sum has several addends.
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.input @m "m" role "batch" global tensor<8x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<8x8xf32> micro_dim -1 at <offset = 6144>
  st.input @n "n" role "batch" global tensor<2x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<2x8xf32> micro_dim -1 at <offset = 7168>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    %mask = st.read @m {st.addresses = [#st.address<offset = 6144>]} : tensor<8x8xf32>
    %row = st.read @n {st.addresses = [#st.address<offset = 7168>]} : tensor<2x8xf32>
    // expected-remark @+1 {{is not attention as cuDNN computes it: it reads more than its scores and one mask}}
    %o = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>, %m = %mask : tensor<8x8xf32>, %n = %row : tensor<2x8xf32>) -> tensor<2x3x8x16xbf16> attributes {st.addresses = [#st.address<offset = 8192>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %ms = stablehlo.broadcast_in_dim %m, dims = [2, 3] : (tensor<8x8xf32>) -> tensor<2x3x8x8xf32>
      %x0 = stablehlo.add %f, %ms : tensor<2x3x8x8xf32>
      %ns = stablehlo.broadcast_in_dim %n, dims = [0, 3] : (tensor<2x8xf32>) -> tensor<2x3x8x8xf32>
      %x = stablehlo.add %x0, %ns : tensor<2x3x8x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %d = stablehlo.subtract %x, %maxs : tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %d : tensor<2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %y = stablehlo.divide %e, %sums : tensor<2x3x8x8xf32>
      %p = stablehlo.convert %y : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %p, %c, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o : tensor<2x3x8x16xbf16>
    }
  }
}

// -----

// cuDNN reads 16 bytes at a time.
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    // expected-remark @+1 {{is not attention as cuDNN computes it: its places are not aligned to 16 bytes}}
    %o = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16> attributes {st.addresses = [#st.address<offset = 8200>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %max = stablehlo.reduce(%f init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %d = stablehlo.subtract %f, %maxs : tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %d : tensor<2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %y = stablehlo.divide %e, %sums : tensor<2x3x8x8xf32>
      %p = stablehlo.convert %y : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %p, %c, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o : tensor<2x3x8x16xbf16>
    }
  }
}

// -----

// cuDNN writes the gradient of q while it reads k. Here the gradient of k shares memory with k.
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
    // expected-remark @+1 {{is not attention as cuDNN computes it: a result overlaps an operand of its kernels}}
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
    // expected-remark @+1 {{is not attention as cuDNN computes it: it has products other than those of scores and of probabilities}}
    %two:2 = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>, %d = %do : tensor<2x8x3x16xbf16>, %max = %one#1 : tensor<2x3x8xf32>, %sum = %one#2 : tensor<2x3x8xf32>, %r = %one#3 : tensor<2x3x8xf32>) -> (tensor<2x3x8x16xbf16>, tensor<2x3x8x16xbf16>) attributes {st.addresses = [#st.address<offset = 2048>, #st.address<offset = 18432>]} {
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

// -----

// The gradient has the opposite sign.
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
    // expected-remark @+1 {{is not attention as cuDNN computes it: it does not compute the gradient of a softmax}}
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
      %w = stablehlo.add %dp, %rs : tensor<2x3x8x8xf32>
      %x = stablehlo.multiply %p, %w : tensor<2x3x8x8xf32>
      %ds = stablehlo.convert %x : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %ds, %b, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o, %max, %sum, %r : tensor<2x3x8x16xbf16>, tensor<2x3x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>
    }
    // expected-remark @+1 {{is not attention as cuDNN computes it: it has products other than those of scores and of probabilities}}
    %two:2 = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>, %d = %do : tensor<2x8x3x16xbf16>, %max = %one#1 : tensor<2x3x8xf32>, %sum = %one#2 : tensor<2x3x8xf32>, %r = %one#3 : tensor<2x3x8xf32>) -> (tensor<2x3x8x16xbf16>, tensor<2x3x8x16xbf16>) attributes {st.addresses = [#st.address<offset = 16384>, #st.address<offset = 18432>]} {
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
      %w = stablehlo.add %dp, %rs : tensor<2x3x8x8xf32>
      %x = stablehlo.multiply %p, %w : tensor<2x3x8x8xf32>
      %ds = stablehlo.convert %x : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %ds, %a, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      %h = stablehlo.convert %p : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %n = stablehlo.dot_general %h, %d, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o, %n : tensor<2x3x8x16xbf16>, tensor<2x3x8x16xbf16>
    }
  }
}

// -----

// A later kernel reads a result that cuDNN does not write.
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
    // expected-remark @+1 {{is not attention as cuDNN computes it: its stored row statistics have another user}}
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
    // expected-remark @+1 {{is not attention as cuDNN computes it: it has products other than those of scores and of probabilities}}
    %two:2 = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>, %d = %do : tensor<2x8x3x16xbf16>, %max = %one#1 : tensor<2x3x8xf32>, %sum = %one#2 : tensor<2x3x8xf32>, %r = %one#3 : tensor<2x3x8xf32>) -> (tensor<2x3x8x16xbf16>, tensor<2x3x8x16xbf16>) attributes {st.addresses = [#st.address<offset = 16384>, #st.address<offset = 18432>]} {
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
    %three = st.kernel "loop" (%a = %one#1 : tensor<2x3x8xf32>) -> tensor<2x3x8xf32> attributes {st.addresses = [#st.address<offset = 20480>]} {
      %n = stablehlo.negate %a : tensor<2x3x8xf32>
      st.yield %n : tensor<2x3x8xf32>
    }
  }
}

// -----

// The gradient reads the row statistics of another attention.
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.input @d "d" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 6144>
  st.buffer @max "stash" slots 1 : tensor<2x3x8xf32> at <offset = 36864>
  st.buffer @sum "stash" slots 1 : tensor<2x3x8xf32> at <offset = 37120>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    %o:3 = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %q : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>) -> (tensor<2x3x8x16xbf16>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) attributes {st.addresses = [#st.address<offset = 32768>, #st.address<offset = 36864>, #st.address<offset = 37120>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %max = stablehlo.reduce(%f init: %low) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %d = stablehlo.subtract %f, %maxs : tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %d : tensor<2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %y = stablehlo.divide %e, %sums : tensor<2x3x8x8xf32>
      %p = stablehlo.convert %y : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %p, %c, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o, %max, %sum : tensor<2x3x8x16xbf16>, tensor<2x3x8xf32>, tensor<2x3x8xf32>
    }
    st.write %o#1 to @max[%mb] : tensor<2x3x8xf32>
    st.write %o#2 to @sum[%mb] : tensor<2x3x8xf32>
  }
  st.task @backward0 backward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    %do = st.read @d {st.addresses = [#st.address<offset = 6144>]} : tensor<2x8x3x16xbf16>
    %m = st.read @max[%mb] {st.addresses = [#st.address<offset = 36864>]} : tensor<2x3x8xf32>
    %l = st.read @sum[%mb] {st.addresses = [#st.address<offset = 37120>]} : tensor<2x3x8xf32>
    // expected-remark @+1 {{is not attention as cuDNN computes it: it reads the maxima or sums of other scores}}
    %one:2 = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>, %d = %do : tensor<2x8x3x16xbf16>, %max = %m : tensor<2x3x8xf32>, %sum = %l : tensor<2x3x8xf32>) -> (tensor<2x3x8x16xbf16>, tensor<2x3x8xf32>) attributes {st.addresses = [#st.address<offset = 8192>, #st.address<offset = 10752>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %g = stablehlo.dot_general %d, %c, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %dp = stablehlo.convert %g : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %maxs = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %u = stablehlo.subtract %f, %maxs : tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %u : tensor<2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %p = stablehlo.divide %e, %sums : tensor<2x3x8x8xf32>
      %y = stablehlo.multiply %p, %dp : tensor<2x3x8x8xf32>
      %r = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %rs = stablehlo.broadcast_in_dim %r, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %w = stablehlo.subtract %dp, %rs : tensor<2x3x8x8xf32>
      %x = stablehlo.multiply %p, %w : tensor<2x3x8x8xf32>
      %ds = stablehlo.convert %x : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %ds, %b, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o, %r : tensor<2x3x8x16xbf16>, tensor<2x3x8xf32>
    }
    // expected-remark @+1 {{is not attention as cuDNN computes it: it has products other than those of scores and of probabilities}}
    %two:2 = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>, %d = %do : tensor<2x8x3x16xbf16>, %max = %m : tensor<2x3x8xf32>, %sum = %l : tensor<2x3x8xf32>, %r = %one#1 : tensor<2x3x8xf32>) -> (tensor<2x3x8x16xbf16>, tensor<2x3x8x16xbf16>) attributes {st.addresses = [#st.address<offset = 16384>, #st.address<offset = 18432>]} {
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

// -----

// Heads share keys but not values.
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x2x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}, {}]> local tensor<2x8x2x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x2x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x2x16xbf16> micro_dim -1 at <offset = 3072>
  st.input @v "v" role "batch" global tensor<2x8x2x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}, {}]> local tensor<2x8x2x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x2x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 3072>]} : tensor<2x8x2x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x2x3x16xbf16>
    // expected-remark @+1 {{is not attention as cuDNN computes it: v is not the same for the heads of a group}}
    %o:3 = st.kernel "attention" (%a = %q : tensor<2x8x2x3x16xbf16>, %b = %k : tensor<2x8x2x16xbf16>, %c = %v : tensor<2x8x2x3x16xbf16>) -> (tensor<2x2x3x8x16xbf16>, tensor<2x2x3x8xf32>, tensor<2x2x3x8xf32>) attributes {st.addresses = [#st.address<offset = 8192>, #st.address<offset = 11264>, #st.address<offset = 12288>]} {
      %bs = stablehlo.broadcast_in_dim %b, dims = [0, 1, 2, 4] : (tensor<2x8x2x16xbf16>) -> tensor<2x8x2x3x16xbf16>
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
      %o = stablehlo.dot_general %p, %c, batching_dims = [0, 1, 2] x [0, 2, 3], contracting_dims = [4] x [1] : (tensor<2x2x3x8x8xbf16>, tensor<2x8x2x3x16xbf16>) -> tensor<2x2x3x8x16xbf16>
      st.yield %o, %max, %sum : tensor<2x2x3x8x16xbf16>, tensor<2x2x3x8xf32>, tensor<2x2x3x8xf32>
    }
  }
}
