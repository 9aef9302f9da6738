// RUN: st-opt %s --split-input-file --convert-kernels-to-gpu=attention | FileCheck %s
// RUN: st-opt %s --split-input-file --convert-kernels-to-gpu | FileCheck --check-prefix=KERNELS %s

// Without the option the pass recognises no attention kernel.
// KERNELS-NOT: cuda.attention

// A mask for each row and column, the same for all heads.
// CHECK-LABEL: func.func @group0_forward0
// CHECK: cuda.attention {{.*}} 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 16, 48] o [384, 128, 16] bias [0, 0, 8] :
// CHECK-NEXT: arith.constant
// CHECK: gpu.launch_func @kernels::@attention_
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
    %o = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>, %m = %mask : tensor<8x8xf32>) -> tensor<2x3x8x16xbf16> attributes {st.addresses = [#st.address<offset = 8192>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %ms = stablehlo.broadcast_in_dim %m, dims = [2, 3] : (tensor<8x8xf32>) -> tensor<2x3x8x8xf32>
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

// A mask for each column of a batch, and a scale.
// CHECK-LABEL: func.func @group0_forward0
// CHECK: cuda.attention {{.*}} 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 16, 48] o [384, 128, 16] bias [8, 0, 0] {scale = 2.500000e-01 : f64}
// CHECK-NEXT: arith.constant
// CHECK: gpu.launch_func @kernels::@attention_
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.input @m "m" role "batch" global tensor<2x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<2x8xf32> micro_dim -1 at <offset = 6144>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    %mask = st.read @m {st.addresses = [#st.address<offset = 6144>]} : tensor<2x8xf32>
    %o = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>, %m = %mask : tensor<2x8xf32>) -> tensor<2x3x8x16xbf16> attributes {st.addresses = [#st.address<offset = 8192>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %scale = stablehlo.constant dense<0.25> : tensor<2x3x8x8xf32>
      %g = stablehlo.multiply %f, %scale : tensor<2x3x8x8xf32>
      %ms = stablehlo.broadcast_in_dim %m, dims = [0, 3] : (tensor<2x8xf32>) -> tensor<2x3x8x8xf32>
      %x = stablehlo.add %g, %ms : tensor<2x3x8x8xf32>
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

// A causal mask hides the columns after each row.
// CHECK-LABEL: func.func @group0_forward0
// CHECK: cuda.attention {{.*}} 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 16, 48] o [384, 128, 16] {causal}
// CHECK-NEXT: arith.constant
// CHECK: gpu.launch_func @kernels::@attention_
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    %o = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16> attributes {st.addresses = [#st.address<offset = 8192>]} {
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

// The maximum and the sum of each row are kept.
// CHECK-LABEL: func.func @group0_forward0
// CHECK: cuda.attention {{.*}} 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 16, 48] o [384, 128, 16] : {{.*}} max memref<48xf32> sum memref<48xf32>
// CHECK-NEXT: arith.constant
// CHECK: gpu.launch_func @kernels::@attention_
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    %o:3 = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>) -> (tensor<2x3x8x16xbf16>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) attributes {st.addresses = [#st.address<offset = 8192>, #st.address<offset = 10240>, #st.address<offset = 12288>]} {
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
  }
}

// -----

// Probabilities by reciprocals of the sums, and without the maxima, are the same formula.
// CHECK-LABEL: func.func @group0_forward0
// CHECK: cuda.attention {{.*}} 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 16, 48] o [384, 128, 16] : {{.*}}
// CHECK-NEXT: arith.constant
// CHECK: gpu.launch_func @kernels::@attention_
st.mesh @mesh <["tensor"=1], micro=1>
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q "q" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 0>
  st.input @k "k" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 2048>
  st.input @v "v" role "batch" global tensor<2x8x3x16xbf16> slice #st.sharding<@mesh, [{}, {}, {}, {}]> local tensor<2x8x3x16xbf16> micro_dim -1 at <offset = 4096>
  st.task @forward0 forward stage 0 (%mb) {
    %q = st.read @q {st.addresses = [#st.address<offset = 0>]} : tensor<2x8x3x16xbf16>
    %k = st.read @k {st.addresses = [#st.address<offset = 2048>]} : tensor<2x8x3x16xbf16>
    %v = st.read @v {st.addresses = [#st.address<offset = 4096>]} : tensor<2x8x3x16xbf16>
    %o = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16> attributes {st.addresses = [#st.address<offset = 8192>]} {
      %s = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x3x16xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x8xbf16>
      %f = stablehlo.convert %s : (tensor<2x3x8x8xbf16>) -> tensor<2x3x8x8xf32>
      %e = stablehlo.exponential %f : tensor<2x3x8x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %sum = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x8x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
      %one = stablehlo.constant dense<1.0> : tensor<2x3x8xf32>
      %inverse = stablehlo.divide %one, %sum : tensor<2x3x8xf32>
      %inverses = stablehlo.broadcast_in_dim %inverse, dims = [0, 1, 2] : (tensor<2x3x8xf32>) -> tensor<2x3x8x8xf32>
      %y = stablehlo.multiply %e, %inverses : tensor<2x3x8x8xf32>
      %p = stablehlo.convert %y : (tensor<2x3x8x8xf32>) -> tensor<2x3x8x8xbf16>
      %o = stablehlo.dot_general %p, %c, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x3x8x8xbf16>, tensor<2x8x3x16xbf16>) -> tensor<2x3x8x16xbf16>
      st.yield %o : tensor<2x3x8x16xbf16>
    }
  }
}

// -----

// A gradient is two attention kernels. The second reads the row statistics that the first stores.
// CHECK-LABEL: func.func @group0_backward0
// CHECK: cuda.attention {{.*}} gradient {{.*}} 2 x 3 of 8 x 8 depth 16 width 16 q [384, 16, 48] k [384, 16, 48] v [384, 16, 48] do [384, 16, 48] dq [384, 128, 16] dk [384, 128, 16] dv [384, 128, 16] :
// CHECK: gpu.launch_func @kernels::@attention_0
// CHECK: gpu.launch_func @kernels::@attention_1
// CHECK-NOT: gpu.launch_func
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
  }
}

// -----

// The gradient reads the row statistics from the stashes of the forward task.
// CHECK-LABEL: func.func @group0_forward0
// CHECK: cuda.attention {{.*}} max %{{.*}} sum
// CHECK-LABEL: func.func @group0_backward0
// CHECK: cuda.attention {{.*}} gradient {{.*}} 2 x 3 of 8 x 8 depth 16 width 16
// CHECK: gpu.launch_func @kernels::@attention_
// CHECK: gpu.launch_func @kernels::@attention_
// CHECK-NOT: gpu.launch_func
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
    %o:3 = st.kernel "attention" (%a = %q : tensor<2x8x3x16xbf16>, %b = %k : tensor<2x8x3x16xbf16>, %c = %v : tensor<2x8x3x16xbf16>) -> (tensor<2x3x8x16xbf16>, tensor<2x3x8xf32>, tensor<2x3x8xf32>) attributes {st.addresses = [#st.address<offset = 32768>, #st.address<offset = 36864>, #st.address<offset = 37120>]} {
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
