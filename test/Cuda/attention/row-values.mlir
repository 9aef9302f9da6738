// RUN: st-opt %s --split-input-file --convert-kernels-to-gpu=attention | FileCheck %s

// Values of rows that only the generated kernel of a gradient reads: if cuDNN computes the gradient, nothing computes them. The
// body also clears the semaphores between blocks.
// CHECK-LABEL: func.func @group0_backward0
// CHECK-NOT: gpu.launch_func
// CHECK: cuda.attention {{.*}} gradient
// CHECK-COUNT-3: gpu.launch_func @kernels::@loop_
// CHECK-NOT: gpu.launch_func @kernels::@loop_
// CHECK: gpu.launch_func @kernels::@attention_
// CHECK-NOT: gpu.launch_func
// CHECK: return
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 0>
  st.input @d "d" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 5120>
  st.input @o "o" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 10240>
  st.input @k "k" role "batch" global tensor<2x72x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x72x16xbf16> micro_dim -1 at <offset = 15360>
  st.input @v "v" role "batch" global tensor<2x72x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x72x16xbf16> micro_dim -1 at <offset = 20480>
  st.buffer @kept "step" slots 1 : tensor<2x80xf32> at <offset = 25600>
  st.task @backward0 backward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x80x16xbf16>
    %d = st.read @d {st.addresses = [#st.address<offset = 5120>]} : tensor<2x80x16xbf16>
    %o = st.read @o {st.addresses = [#st.address<offset = 10240>]} : tensor<2x80x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 15360>]} : tensor<2x72x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 20480>]} : tensor<2x72x16xbf16>
    %p = st.kernel "loop" (%a = %d : tensor<2x80x16xbf16>, %b = %o : tensor<2x80x16xbf16>) -> tensor<2x80xf32> attributes {st.addresses = [#st.address<offset = 26624>]} {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %x = stablehlo.convert %a : (tensor<2x80x16xbf16>) -> tensor<2x80x16xf32>
      %y = stablehlo.convert %b : (tensor<2x80x16xbf16>) -> tensor<2x80x16xf32>
      %m = stablehlo.multiply %x, %y : tensor<2x80x16xf32>
      %s = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x80x16xf32>, tensor<f32>) -> tensor<2x80xf32>
      st.yield %s : tensor<2x80xf32>
    }
    %r = st.kernel "loop" (%a = %p : tensor<2x80xf32>) -> tensor<2x80xf32> attributes {st.addresses = [#st.address<offset = 27648>]} {
      %n = stablehlo.negate %a : tensor<2x80xf32>
      st.yield %n : tensor<2x80xf32>
    }
    %g:3 = st.kernel "attention" (%qa = %q : tensor<2x80x16xbf16>, %da = %d : tensor<2x80x16xbf16>, %ka = %k : tensor<2x72x16xbf16>, %va = %v : tensor<2x72x16xbf16>, %ra = %r : tensor<2x80xf32>) -> (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>, tensor<2x72x16xbf16>) attributes {cuda.gradient_scale = 1.0 : f64, st.addresses = [#st.address<offset = 32768>, #st.address<offset = 38912>, #st.address<offset = 45056>]} {
      %s = stablehlo.dot_general %qa, %ka, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x72xbf16>
      %t = stablehlo.dot_general %da, %va, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x72xbf16>
      %tw = stablehlo.convert %t : (tensor<2x80x72xbf16>) -> tensor<2x80x72xf32>
      %rb = stablehlo.broadcast_in_dim %ra, dims = [0, 1] : (tensor<2x80xf32>) -> tensor<2x80x72xf32>
      %c = stablehlo.add %tw, %rb : tensor<2x80x72xf32>
      %cn = stablehlo.convert %c : (tensor<2x80x72xf32>) -> tensor<2x80x72xbf16>
      %dq = stablehlo.dot_general %cn, %ka, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x80x72xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x16xbf16>
      %dk = stablehlo.dot_general %cn, %qa, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x80x72xbf16>, tensor<2x80x16xbf16>) -> tensor<2x72x16xbf16>
      %n = stablehlo.negate %s : tensor<2x80x72xbf16>
      %dv = stablehlo.dot_general %n, %da, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x80x72xbf16>, tensor<2x80x16xbf16>) -> tensor<2x72x16xbf16>
      st.yield %dq, %dk, %dv : tensor<2x80x16xbf16>, tensor<2x72x16xbf16>, tensor<2x72x16xbf16>
    }
  }
}

// -----

// The row values are also written to a buffer, so they and their operands are always computed.
// CHECK-LABEL: func.func @group0_backward0
// CHECK-COUNT-2: gpu.launch_func @kernels::@loop_
// CHECK-NOT: gpu.launch_func
// CHECK: cuda.attention {{.*}} gradient
// CHECK-COUNT-1: gpu.launch_func @kernels::@loop_
// CHECK-NOT: gpu.launch_func @kernels::@loop_
// CHECK: gpu.launch_func @kernels::@attention_
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 0>
  st.input @d "d" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 5120>
  st.input @o "o" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 10240>
  st.input @k "k" role "batch" global tensor<2x72x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x72x16xbf16> micro_dim -1 at <offset = 15360>
  st.input @v "v" role "batch" global tensor<2x72x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x72x16xbf16> micro_dim -1 at <offset = 20480>
  st.buffer @kept "step" slots 1 : tensor<2x80xf32> at <offset = 25600>
  st.task @backward0 backward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x80x16xbf16>
    %d = st.read @d {st.addresses = [#st.address<offset = 5120>]} : tensor<2x80x16xbf16>
    %o = st.read @o {st.addresses = [#st.address<offset = 10240>]} : tensor<2x80x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 15360>]} : tensor<2x72x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 20480>]} : tensor<2x72x16xbf16>
    %p = st.kernel "loop" (%a = %d : tensor<2x80x16xbf16>, %b = %o : tensor<2x80x16xbf16>) -> tensor<2x80xf32> attributes {st.addresses = [#st.address<offset = 26624>]} {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %x = stablehlo.convert %a : (tensor<2x80x16xbf16>) -> tensor<2x80x16xf32>
      %y = stablehlo.convert %b : (tensor<2x80x16xbf16>) -> tensor<2x80x16xf32>
      %m = stablehlo.multiply %x, %y : tensor<2x80x16xf32>
      %s = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x80x16xf32>, tensor<f32>) -> tensor<2x80xf32>
      st.yield %s : tensor<2x80xf32>
    }
    %r = st.kernel "loop" (%a = %p : tensor<2x80xf32>) -> tensor<2x80xf32> attributes {st.addresses = [#st.address<offset = 27648>]} {
      %n = stablehlo.negate %a : tensor<2x80xf32>
      st.yield %n : tensor<2x80xf32>
    }
    st.write %r to @kept : tensor<2x80xf32>
    %g:3 = st.kernel "attention" (%qa = %q : tensor<2x80x16xbf16>, %da = %d : tensor<2x80x16xbf16>, %ka = %k : tensor<2x72x16xbf16>, %va = %v : tensor<2x72x16xbf16>, %ra = %r : tensor<2x80xf32>) -> (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>, tensor<2x72x16xbf16>) attributes {cuda.gradient_scale = 1.0 : f64, st.addresses = [#st.address<offset = 32768>, #st.address<offset = 38912>, #st.address<offset = 45056>]} {
      %s = stablehlo.dot_general %qa, %ka, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x72xbf16>
      %t = stablehlo.dot_general %da, %va, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x72xbf16>
      %tw = stablehlo.convert %t : (tensor<2x80x72xbf16>) -> tensor<2x80x72xf32>
      %rb = stablehlo.broadcast_in_dim %ra, dims = [0, 1] : (tensor<2x80xf32>) -> tensor<2x80x72xf32>
      %c = stablehlo.add %tw, %rb : tensor<2x80x72xf32>
      %cn = stablehlo.convert %c : (tensor<2x80x72xf32>) -> tensor<2x80x72xbf16>
      %dq = stablehlo.dot_general %cn, %ka, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x80x72xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x16xbf16>
      %dk = stablehlo.dot_general %cn, %qa, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x80x72xbf16>, tensor<2x80x16xbf16>) -> tensor<2x72x16xbf16>
      %n = stablehlo.negate %s : tensor<2x80x72xbf16>
      %dv = stablehlo.dot_general %n, %da, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x80x72xbf16>, tensor<2x80x16xbf16>) -> tensor<2x72x16xbf16>
      st.yield %dq, %dk, %dv : tensor<2x80x16xbf16>, tensor<2x72x16xbf16>, tensor<2x72x16xbf16>
    }
  }
}

// -----

// A kernel in between overwrites the memory from which the sums are read.
// CHECK-LABEL: func.func @group0_backward0
// CHECK-COUNT-2: gpu.launch_func @kernels::@loop_
// CHECK-NOT: gpu.launch_func
// CHECK: cuda.attention {{.*}} gradient
// CHECK-COUNT-2: gpu.launch_func @kernels::@loop_
// CHECK-NOT: gpu.launch_func @kernels::@loop_
// CHECK: gpu.launch_func @kernels::@attention_
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 0>
  st.input @d "d" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 5120>
  st.input @o "o" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 10240>
  st.input @k "k" role "batch" global tensor<2x72x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x72x16xbf16> micro_dim -1 at <offset = 15360>
  st.input @v "v" role "batch" global tensor<2x72x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x72x16xbf16> micro_dim -1 at <offset = 20480>
  st.buffer @kept "step" slots 1 : tensor<2x80xf32> at <offset = 25600>
  st.task @backward0 backward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x80x16xbf16>
    %d = st.read @d {st.addresses = [#st.address<offset = 5120>]} : tensor<2x80x16xbf16>
    %o = st.read @o {st.addresses = [#st.address<offset = 10240>]} : tensor<2x80x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 15360>]} : tensor<2x72x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 20480>]} : tensor<2x72x16xbf16>
    %p = st.kernel "loop" (%a = %d : tensor<2x80x16xbf16>, %b = %o : tensor<2x80x16xbf16>) -> tensor<2x80xf32> attributes {st.addresses = [#st.address<offset = 26624>]} {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %x = stablehlo.convert %a : (tensor<2x80x16xbf16>) -> tensor<2x80x16xf32>
      %y = stablehlo.convert %b : (tensor<2x80x16xbf16>) -> tensor<2x80x16xf32>
      %m = stablehlo.multiply %x, %y : tensor<2x80x16xf32>
      %s = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x80x16xf32>, tensor<f32>) -> tensor<2x80xf32>
      st.yield %s : tensor<2x80xf32>
    }
    %r = st.kernel "loop" (%a = %p : tensor<2x80xf32>) -> tensor<2x80xf32> attributes {st.addresses = [#st.address<offset = 27648>]} {
      %n = stablehlo.negate %a : tensor<2x80xf32>
      st.yield %n : tensor<2x80xf32>
    }
    %w = st.kernel "loop" (%a = %q : tensor<2x80x16xbf16>) -> tensor<2x80x16xbf16> attributes {st.addresses = [#st.address<offset = 10240>]} {
      %n = stablehlo.negate %a : tensor<2x80x16xbf16>
      st.yield %n : tensor<2x80x16xbf16>
    }
    %g:3 = st.kernel "attention" (%qa = %q : tensor<2x80x16xbf16>, %da = %d : tensor<2x80x16xbf16>, %ka = %k : tensor<2x72x16xbf16>, %va = %v : tensor<2x72x16xbf16>, %ra = %r : tensor<2x80xf32>) -> (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>, tensor<2x72x16xbf16>) attributes {cuda.gradient_scale = 1.0 : f64, st.addresses = [#st.address<offset = 32768>, #st.address<offset = 38912>, #st.address<offset = 45056>]} {
      %s = stablehlo.dot_general %qa, %ka, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x72xbf16>
      %t = stablehlo.dot_general %da, %va, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x72xbf16>
      %tw = stablehlo.convert %t : (tensor<2x80x72xbf16>) -> tensor<2x80x72xf32>
      %rb = stablehlo.broadcast_in_dim %ra, dims = [0, 1] : (tensor<2x80xf32>) -> tensor<2x80x72xf32>
      %c = stablehlo.add %tw, %rb : tensor<2x80x72xf32>
      %cn = stablehlo.convert %c : (tensor<2x80x72xf32>) -> tensor<2x80x72xbf16>
      %dq = stablehlo.dot_general %cn, %ka, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x80x72xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x16xbf16>
      %dk = stablehlo.dot_general %cn, %qa, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x80x72xbf16>, tensor<2x80x16xbf16>) -> tensor<2x72x16xbf16>
      %n = stablehlo.negate %s : tensor<2x80x72xbf16>
      %dv = stablehlo.dot_general %n, %da, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x80x72xbf16>, tensor<2x80x16xbf16>) -> tensor<2x72x16xbf16>
      st.yield %dq, %dk, %dv : tensor<2x80x16xbf16>, tensor<2x72x16xbf16>, tensor<2x72x16xbf16>
    }
  }
}

// -----

// A kernel in between writes elsewhere.
// CHECK-LABEL: func.func @group0_backward0
// CHECK-COUNT-1: gpu.launch_func @kernels::@loop_
// CHECK-NOT: gpu.launch_func
// CHECK: cuda.attention {{.*}} gradient
// CHECK-COUNT-3: gpu.launch_func @kernels::@loop_
// CHECK-NOT: gpu.launch_func @kernels::@loop_
// CHECK: gpu.launch_func @kernels::@attention_
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 0>
  st.input @d "d" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 5120>
  st.input @o "o" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 10240>
  st.input @k "k" role "batch" global tensor<2x72x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x72x16xbf16> micro_dim -1 at <offset = 15360>
  st.input @v "v" role "batch" global tensor<2x72x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x72x16xbf16> micro_dim -1 at <offset = 20480>
  st.buffer @kept "step" slots 1 : tensor<2x80xf32> at <offset = 25600>
  st.task @backward0 backward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x80x16xbf16>
    %d = st.read @d {st.addresses = [#st.address<offset = 5120>]} : tensor<2x80x16xbf16>
    %o = st.read @o {st.addresses = [#st.address<offset = 10240>]} : tensor<2x80x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 15360>]} : tensor<2x72x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 20480>]} : tensor<2x72x16xbf16>
    %p = st.kernel "loop" (%a = %d : tensor<2x80x16xbf16>, %b = %o : tensor<2x80x16xbf16>) -> tensor<2x80xf32> attributes {st.addresses = [#st.address<offset = 26624>]} {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %x = stablehlo.convert %a : (tensor<2x80x16xbf16>) -> tensor<2x80x16xf32>
      %y = stablehlo.convert %b : (tensor<2x80x16xbf16>) -> tensor<2x80x16xf32>
      %m = stablehlo.multiply %x, %y : tensor<2x80x16xf32>
      %s = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x80x16xf32>, tensor<f32>) -> tensor<2x80xf32>
      st.yield %s : tensor<2x80xf32>
    }
    %r = st.kernel "loop" (%a = %p : tensor<2x80xf32>) -> tensor<2x80xf32> attributes {st.addresses = [#st.address<offset = 27648>]} {
      %n = stablehlo.negate %a : tensor<2x80xf32>
      st.yield %n : tensor<2x80xf32>
    }
    %w = st.kernel "loop" (%a = %q : tensor<2x80x16xbf16>) -> tensor<2x80x16xbf16> attributes {st.addresses = [#st.address<offset = 61440>]} {
      %n = stablehlo.negate %a : tensor<2x80x16xbf16>
      st.yield %n : tensor<2x80x16xbf16>
    }
    %g:3 = st.kernel "attention" (%qa = %q : tensor<2x80x16xbf16>, %da = %d : tensor<2x80x16xbf16>, %ka = %k : tensor<2x72x16xbf16>, %va = %v : tensor<2x72x16xbf16>, %ra = %r : tensor<2x80xf32>) -> (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>, tensor<2x72x16xbf16>) attributes {cuda.gradient_scale = 1.0 : f64, st.addresses = [#st.address<offset = 32768>, #st.address<offset = 38912>, #st.address<offset = 45056>]} {
      %s = stablehlo.dot_general %qa, %ka, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x72xbf16>
      %t = stablehlo.dot_general %da, %va, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x72xbf16>
      %tw = stablehlo.convert %t : (tensor<2x80x72xbf16>) -> tensor<2x80x72xf32>
      %rb = stablehlo.broadcast_in_dim %ra, dims = [0, 1] : (tensor<2x80xf32>) -> tensor<2x80x72xf32>
      %c = stablehlo.add %tw, %rb : tensor<2x80x72xf32>
      %cn = stablehlo.convert %c : (tensor<2x80x72xf32>) -> tensor<2x80x72xbf16>
      %dq = stablehlo.dot_general %cn, %ka, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x80x72xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x16xbf16>
      %dk = stablehlo.dot_general %cn, %qa, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x80x72xbf16>, tensor<2x80x16xbf16>) -> tensor<2x72x16xbf16>
      %n = stablehlo.negate %s : tensor<2x80x72xbf16>
      %dv = stablehlo.dot_general %n, %da, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x80x72xbf16>, tensor<2x80x16xbf16>) -> tensor<2x72x16xbf16>
      st.yield %dq, %dk, %dv : tensor<2x80x16xbf16>, tensor<2x72x16xbf16>, tensor<2x72x16xbf16>
    }
  }
}

// -----

// A kernel in between overwrites the sums.
// CHECK-LABEL: func.func @group0_backward0
// CHECK-COUNT-3: gpu.launch_func @kernels::@loop_
// CHECK-NOT: gpu.launch_func
// CHECK: cuda.attention {{.*}} gradient
// CHECK-COUNT-1: gpu.launch_func @kernels::@loop_
// CHECK-NOT: gpu.launch_func @kernels::@loop_
// CHECK: gpu.launch_func @kernels::@attention_
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 0>
  st.input @d "d" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 5120>
  st.input @o "o" role "batch" global tensor<2x80x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x80x16xbf16> micro_dim -1 at <offset = 10240>
  st.input @k "k" role "batch" global tensor<2x72x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x72x16xbf16> micro_dim -1 at <offset = 15360>
  st.input @v "v" role "batch" global tensor<2x72x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<2x72x16xbf16> micro_dim -1 at <offset = 20480>
  st.buffer @kept "step" slots 1 : tensor<2x80xf32> at <offset = 25600>
  st.task @backward0 backward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x80x16xbf16>
    %d = st.read @d {st.addresses = [#st.address<offset = 5120>]} : tensor<2x80x16xbf16>
    %o = st.read @o {st.addresses = [#st.address<offset = 10240>]} : tensor<2x80x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 15360>]} : tensor<2x72x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 20480>]} : tensor<2x72x16xbf16>
    %p = st.kernel "loop" (%a = %d : tensor<2x80x16xbf16>, %b = %o : tensor<2x80x16xbf16>) -> tensor<2x80xf32> attributes {st.addresses = [#st.address<offset = 26624>]} {
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %x = stablehlo.convert %a : (tensor<2x80x16xbf16>) -> tensor<2x80x16xf32>
      %y = stablehlo.convert %b : (tensor<2x80x16xbf16>) -> tensor<2x80x16xf32>
      %m = stablehlo.multiply %x, %y : tensor<2x80x16xf32>
      %s = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<2x80x16xf32>, tensor<f32>) -> tensor<2x80xf32>
      st.yield %s : tensor<2x80xf32>
    }
    %r = st.kernel "loop" (%a = %p : tensor<2x80xf32>) -> tensor<2x80xf32> attributes {st.addresses = [#st.address<offset = 27648>]} {
      %n = stablehlo.negate %a : tensor<2x80xf32>
      st.yield %n : tensor<2x80xf32>
    }
    %w = st.kernel "loop" (%a = %q : tensor<2x80x16xbf16>) -> tensor<2x80x16xbf16> attributes {st.addresses = [#st.address<offset = 26624>]} {
      %n = stablehlo.negate %a : tensor<2x80x16xbf16>
      st.yield %n : tensor<2x80x16xbf16>
    }
    %g:3 = st.kernel "attention" (%qa = %q : tensor<2x80x16xbf16>, %da = %d : tensor<2x80x16xbf16>, %ka = %k : tensor<2x72x16xbf16>, %va = %v : tensor<2x72x16xbf16>, %ra = %r : tensor<2x80xf32>) -> (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>, tensor<2x72x16xbf16>) attributes {cuda.gradient_scale = 1.0 : f64, st.addresses = [#st.address<offset = 32768>, #st.address<offset = 38912>, #st.address<offset = 45056>]} {
      %s = stablehlo.dot_general %qa, %ka, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x72xbf16>
      %t = stablehlo.dot_general %da, %va, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x80x16xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x72xbf16>
      %tw = stablehlo.convert %t : (tensor<2x80x72xbf16>) -> tensor<2x80x72xf32>
      %rb = stablehlo.broadcast_in_dim %ra, dims = [0, 1] : (tensor<2x80xf32>) -> tensor<2x80x72xf32>
      %c = stablehlo.add %tw, %rb : tensor<2x80x72xf32>
      %cn = stablehlo.convert %c : (tensor<2x80x72xf32>) -> tensor<2x80x72xbf16>
      %dq = stablehlo.dot_general %cn, %ka, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x80x72xbf16>, tensor<2x72x16xbf16>) -> tensor<2x80x16xbf16>
      %dk = stablehlo.dot_general %cn, %qa, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x80x72xbf16>, tensor<2x80x16xbf16>) -> tensor<2x72x16xbf16>
      %n = stablehlo.negate %s : tensor<2x80x72xbf16>
      %dv = stablehlo.dot_general %n, %da, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x80x72xbf16>, tensor<2x80x16xbf16>) -> tensor<2x72x16xbf16>
      st.yield %dq, %dk, %dv : tensor<2x80x16xbf16>, tensor<2x72x16xbf16>, tensor<2x72x16xbf16>
    }
  }
}
