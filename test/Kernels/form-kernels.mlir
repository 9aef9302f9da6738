// RUN: st-opt --form-kernels --split-input-file %s | FileCheck %s

// A dense layer, GELU, residual and layer norm: bias fuses into the product, the rest is one row loop.
// Row statistics [8] and the full tensors [8, 16] share the loop's space.

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.state @w "w" role "parameter" of "" global tensor<16x16xf32> slice <@mesh, [{}, {}]> local tensor<16x16xf32>
    st.state @b "b" role "parameter" of "" global tensor<16xf32> slice <@mesh, [{}]> local tensor<16xf32>
    st.buffer @x "stash" slots 1 : tensor<1x8x16xf32>
    st.buffer @y "stash" slots 1 : tensor<1x8x16xf32>
    st.buffer @rstd "stash" slots 1 : tensor<1x8xf32>
    // CHECK-LABEL: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      // CHECK: %[[X:.*]] = st.read @x
      // CHECK: %[[W:.*]] = st.read @w
      // CHECK: %[[B:.*]] = st.read @b
      // CHECK: %[[D:.*]] = st.kernel "matmul" (%[[A:.*]] = %[[X]] : {{.*}}, %{{.*}} = %[[W]] : {{.*}}, %[[BA:.*]] = %[[B]]
      // CHECK-NEXT: stablehlo.dot_general
      // CHECK-NEXT: stablehlo.broadcast_in_dim %[[BA]], dims = [2]
      // CHECK-NEXT: %[[SUM:.*]] = stablehlo.add
      // CHECK-NEXT: st.yield %[[SUM]]
      // CHECK: %[[L:.*]]:2 = st.kernel "loop" (%{{.*}} = %[[D]] : {{.*}}, %{{.*}} = %[[X]] : {{.*}}) -> (tensor<1x8xf32>, tensor<1x8x16xf32>)
      // CHECK: stablehlo.tanh
      // CHECK: stablehlo.reduce
      // CHECK: stablehlo.reduce
      // CHECK: stablehlo.rsqrt %{{.*}} : tensor<1x8xf32>
      // CHECK: st.write %[[L]]#0 to @rstd
      // CHECK: st.write %[[L]]#1 to @y
      // CHECK-NOT: st.kernel
      %x = st.read @x[%mb] : tensor<1x8x16xf32>
      %w = st.read @w : tensor<16x16xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %dot = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] : (tensor<1x8x16xf32>, tensor<16x16xf32>) -> tensor<1x8x16xf32>
      %b = st.read @b : tensor<16xf32>
      %bias = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<16xf32>) -> tensor<1x8x16xf32>
      %h = stablehlo.add %dot, %bias : tensor<1x8x16xf32>
      %t = stablehlo.tanh %h : tensor<1x8x16xf32>
      %g = stablehlo.multiply %t, %h : tensor<1x8x16xf32>
      %r = stablehlo.add %g, %x : tensor<1x8x16xf32>
      %s = stablehlo.reduce(%r init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x8x16xf32>, tensor<f32>) -> tensor<1x8xf32>
      %sixteen = stablehlo.constant dense<16.0> : tensor<1x8xf32>
      %mean = stablehlo.divide %s, %sixteen : tensor<1x8xf32>
      %meanb = stablehlo.broadcast_in_dim %mean, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<1x8x16xf32>
      %c = stablehlo.subtract %r, %meanb : tensor<1x8x16xf32>
      %c2 = stablehlo.multiply %c, %c : tensor<1x8x16xf32>
      %v = stablehlo.reduce(%c2 init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x8x16xf32>, tensor<f32>) -> tensor<1x8xf32>
      %rstd = stablehlo.rsqrt %v : tensor<1x8xf32>
      st.write %rstd to @rstd[%mb] : tensor<1x8xf32>
      %rstdb = stablehlo.broadcast_in_dim %rstd, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<1x8x16xf32>
      %y = stablehlo.multiply %c, %rstdb : tensor<1x8x16xf32>
      st.write %y to @y[%mb] : tensor<1x8x16xf32>
    }
  }
}

// -----

// A sum over leading dimensions is a separate kernel and computes the product that only it reads.
// The collective does not move.

module {
  st.mesh @mesh <["tensor"=2], micro=1>
  st.program @group0 stages [0] devices [0, 1] first_rank 0 mesh @mesh {
    st.buffer @dy "stash" slots 1 : tensor<8x16xf32>
    st.buffer @xhat "stash" slots 1 : tensor<8x16xf32>
    st.buffer @dx "stash" slots 1 : tensor<8x16xf32>
    st.buffer @dgamma "accumulator" slots 1 : tensor<16xf32>
    // CHECK-LABEL: st.task @backward0
    st.task @backward0 backward stage 0 (%mb) {
      // CHECK: %[[PART:.*]] = st.read @dy
      // CHECK: %[[XHAT:.*]] = st.read @xhat
      // CHECK: %[[DY:.*]] = st.all_reduce %[[PART]]
      // CHECK: %[[DX:.*]] = st.kernel "loop" (%{{.*}} = %[[DY]] : {{.*}})
      // CHECK-NEXT: stablehlo.negate
      // CHECK-NEXT: st.yield
      // CHECK: st.write %[[DX]] to @dx
      // CHECK: %[[SUM:.*]] = st.kernel "reduce" (%{{.*}} = %[[DY]] : {{.*}}, %{{.*}} = %[[XHAT]] : {{.*}}) -> tensor<16xf32>
      // CHECK: stablehlo.multiply
      // CHECK: stablehlo.reduce
      // CHECK: st.write %[[SUM]] to @dgamma
      %part = st.read @dy[%mb] : tensor<8x16xf32>
      %dy = st.all_reduce %part sum over ["tensor"] of @mesh : tensor<8x16xf32>
      %xhat = st.read @xhat[%mb] : tensor<8x16xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %dx = stablehlo.negate %dy : tensor<8x16xf32>
      st.write %dx to @dx[%mb] : tensor<8x16xf32>
      %p = stablehlo.multiply %dy, %xhat : tensor<8x16xf32>
      %dgamma = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
      st.write %dgamma to @dgamma accumulate sum : tensor<16xf32>
    }
  }
}

// -----

// Rows that scratch memory cannot hold are reduced by separate kernels.

module attributes {st.target = #st.target<backend = "dtu", device = "test", alignment = 64, scratch_bytes = 65536, memory_bytes = 1000000000>} {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @logits "stash" slots 1 : tensor<8x30522xf32>
    st.buffer @lse "stash" slots 1 : tensor<8xf32>
    // CHECK-LABEL: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      // CHECK: %[[MAX:.*]] = st.kernel "reduce" {{.*}} -> tensor<8xf32>
      // CHECK: %[[SUM:.*]] = st.kernel "reduce" {{.*}} -> tensor<8xf32>
      // CHECK: stablehlo.subtract
      // CHECK: stablehlo.exponential
      // CHECK: st.kernel "loop" (%{{.*}} = %[[SUM]] : {{.*}})
      // CHECK: stablehlo.log
      // CHECK-NOT: st.kernel
      %x = st.read @logits[%mb] : tensor<8x30522xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [1] : (tensor<8x30522xf32>, tensor<f32>) -> tensor<8xf32>
      %maxb = stablehlo.broadcast_in_dim %max, dims = [0] : (tensor<8xf32>) -> tensor<8x30522xf32>
      %d = stablehlo.subtract %x, %maxb : tensor<8x30522xf32>
      %e = stablehlo.exponential %d : tensor<8x30522xf32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x30522xf32>, tensor<f32>) -> tensor<8xf32>
      %log = stablehlo.log %sum : tensor<8xf32>
      st.write %log to @lse[%mb] : tensor<8xf32>
    }
  }
}

// -----

// An op that depends on a loop through another kernel does not join it, to avoid a cycle. The second
// loop reads the first one's value from memory.

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.buffer @x "stash" slots 1 : tensor<8x8xf32>
    st.buffer @y "stash" slots 1 : tensor<8x8xf32>
    // CHECK-LABEL: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      // CHECK: %[[X:.*]] = st.read @x
      // CHECK: %[[A:.*]] = st.kernel "loop" (%{{.*}} = %[[X]]
      // CHECK: stablehlo.exponential
      // CHECK: %[[T:.*]] = st.kernel "copy" (%{{.*}} = %[[A]]
      // CHECK-NEXT: stablehlo.transpose
      // CHECK: st.kernel "loop" (%{{.*}} = %[[A]] : {{.*}}, %{{.*}} = %[[T]]
      // CHECK-NEXT: stablehlo.add
      %x = st.read @x[%mb] : tensor<8x8xf32>
      %a = stablehlo.exponential %x : tensor<8x8xf32>
      %t = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
      %b = stablehlo.add %a, %t : tensor<8x8xf32>
      st.write %b to @y[%mb] : tensor<8x8xf32>
    }
  }
}

// -----

// A dropout mask. The key's words are read in place, index arithmetic and threshold are cloned, and the
// loop that makes the bits moves into the loop that uses them. The mask itself is kept.

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @rng_key "rng_key" role "key" global tensor<2xui32> slice <@mesh, [{}]> local tensor<2xui32> micro_dim -1
    st.buffer @x "stash" slots 1 : tensor<8x8xf32>
    st.buffer @y "stash" slots 1 : tensor<8x8xf32>
    st.buffer @mask "stash" slots 1 : tensor<8x8xi1>
    // CHECK-LABEL: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      // CHECK: %[[KEY:.*]] = st.read @rng_key
      // CHECK: %[[X:.*]] = st.read @x
      // CHECK: st.kernel "matmul"
      // CHECK: %[[L:.*]]:2 = st.kernel "loop" (%[[KA:.*]] = %[[KEY]] : tensor<2xui32>
      // CHECK: stablehlo.iota dim = 0
      // CHECK: stablehlo.slice %[[KA]] [0:1]
      // CHECK: stablehlo.slice %[[KA]] [1:2]
      // CHECK: stablehlo.compare
      // CHECK: stablehlo.select
      // CHECK: st.write %[[L]]#0 to @mask
      // CHECK: st.write %[[L]]#1 to @y
      // CHECK-NOT: st.kernel
      %key = st.read @rng_key : tensor<2xui32>
      %x = st.read @x[%mb] : tensor<8x8xf32>
      %s0 = stablehlo.slice %key [0:1] : (tensor<2xui32>) -> tensor<1xui32>
      %k0 = stablehlo.reshape %s0 : (tensor<1xui32>) -> tensor<ui32>
      %s1 = stablehlo.slice %key [1:2] : (tensor<2xui32>) -> tensor<1xui32>
      %k1 = stablehlo.reshape %s1 : (tensor<1xui32>) -> tensor<ui32>
      %k2 = stablehlo.xor %k0, %k1 : tensor<ui32>
      %i = stablehlo.iota dim = 0 : tensor<8x8xui32>
      %kb = stablehlo.broadcast_in_dim %k2, dims = [] : (tensor<ui32>) -> tensor<8x8xui32>
      %bits = stablehlo.xor %i, %kb : tensor<8x8xui32>
      %limit = stablehlo.constant dense<429496730> : tensor<8x8xui32>
      %mask = stablehlo.compare GE, %bits, %limit : (tensor<8x8xui32>, tensor<8x8xui32>) -> tensor<8x8xi1>
      st.write %mask to @mask[%mb] : tensor<8x8xi1>
      %d = stablehlo.dot_general %x, %x, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      %e = stablehlo.exponential %d : tensor<8x8xf32>
      %f = stablehlo.multiply %e, %d : tensor<8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<8x8xf32>
      %y = stablehlo.select %mask, %f, %zero : tensor<8x8xi1>, tensor<8x8xf32>
      st.write %y to @y[%mb] : tensor<8x8xf32>
    }
  }
}

// -----

// A tensor that a kernel reads along two different dimensions is two arguments; a reshape that does
// more than add unit dimensions stays outside, where it is free.

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @m "m" role "batch" global tensor<8xf32> slice <@mesh, [{}]> local tensor<8xf32> micro_dim -1
    st.buffer @y "step" slots 1 : tensor<64xf32>
    // CHECK-LABEL: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      // CHECK: %[[M:.*]] = st.read @m
      // CHECK: %[[K:.*]] = st.kernel "loop" (%[[ROW:.*]] = %[[M]] : tensor<8xf32>, %[[COL:.*]] = %[[M]] : tensor<8xf32>)
      // CHECK-DAG: stablehlo.broadcast_in_dim %[[ROW]], dims = [0]
      // CHECK-DAG: stablehlo.broadcast_in_dim %[[COL]], dims = [1]
      // CHECK: %[[R:.*]] = stablehlo.reshape %[[K]]
      // CHECK: st.write %[[R]] to @y
      %m = st.read @m : tensor<8xf32>
      %r = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<8xf32>) -> tensor<8x8xf32>
      %c = stablehlo.broadcast_in_dim %m, dims = [1] : (tensor<8xf32>) -> tensor<8x8xf32>
      %p = stablehlo.multiply %r, %c : tensor<8x8xf32>
      %y = stablehlo.reshape %p : (tensor<8x8xf32>) -> tensor<64xf32>
      st.write %y to @y : tensor<64xf32>
    }
  }
}

// -----

// A product of one element has an epilogue like others.

module {
  st.mesh @mesh <[], micro=1>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @a "a" role "batch" global tensor<1x1xf32> slice <@mesh, [{}, {}]> local tensor<1x1xf32> micro_dim -1
    st.buffer @y "step" slots 1 : tensor<1x1xf32>
    // CHECK-LABEL: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      // CHECK: st.kernel "matmul"
      // CHECK-NEXT: stablehlo.dot_general
      // CHECK-NEXT: stablehlo.tanh
      // CHECK-NEXT: st.yield
      %a = st.read @a : tensor<1x1xf32>
      %d = stablehlo.dot_general %a, %a, contracting_dims = [1] x [0] : (tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<1x1xf32>
      %t = stablehlo.tanh %d : tensor<1x1xf32>
      st.write %t to @y : tensor<1x1xf32>
    }
  }
}
