// If a mask compares positions, attention skips tiles without a visible element, because they would add zeros.
//
// RUN: st-opt --convert-kernels-to-gpu %s | FileCheck %s

st.mesh @mesh <["tensor"=1], micro=1>

// The mask is an added table of zeros and large negative numbers.
// CHECK-LABEL: gpu.func @attention_0(
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %[[END]] step
// CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %[[END]] step
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q0 "q0" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.input @r0 "r0" role "batch" global tensor<200xf32> slice #st.sharding<@mesh, [{}]> local tensor<200xf32> micro_dim -1 at <offset = 204800>
  st.task @table forward stage 0 (%mb) {
    %0 = st.read @q0 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1 = st.read @r0 {st.addresses = [#st.address<offset = 204800>]} : tensor<200xf32>
    %2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> tensor<200x8xf32> attributes {st.addresses = [#st.address<offset = 6400>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %i = stablehlo.iota dim = 0 : tensor<200x200xi32>
      %j = stablehlo.iota dim = 1 : tensor<200x200xi32>
      %c = stablehlo.compare GE, %i, %j, SIGNED : (tensor<200x200xi32>, tensor<200x200xi32>) -> tensor<200x200xi1>
      %zero = stablehlo.constant dense<0.0> : tensor<200x200xf32>
      %low = stablehlo.constant dense<-1.0e30> : tensor<200x200xf32>
      %t = stablehlo.select %c, %zero, %low : tensor<200x200xi1>, tensor<200x200xf32>
      %x = stablehlo.add %s, %t : tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %m = stablehlo.reduce(%x init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %x, %w : tensor<200x200xf32>
      %p = stablehlo.exponential %d : tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o : tensor<200x8xf32>
    }
  }
}

// The mask selects between scores and a large negative number, with the operands of the comparison swapped.
// CHECK-LABEL: gpu.func @attention_1(
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %[[END]] step
// CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %[[END]] step
st.program @group1 stages [1] devices [1] first_rank 1 mesh @mesh {
  st.input @q1 "q1" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.input @r1 "r1" role "batch" global tensor<200xf32> slice #st.sharding<@mesh, [{}]> local tensor<200xf32> micro_dim -1 at <offset = 204800>
  st.task @chosen forward stage 1 (%mb) {
    %0 = st.read @q1 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1 = st.read @r1 {st.addresses = [#st.address<offset = 204800>]} : tensor<200xf32>
    %2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> tensor<200x8xf32> attributes {st.addresses = [#st.address<offset = 6400>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %i = stablehlo.iota dim = 0 : tensor<200x200xi32>
      %j = stablehlo.iota dim = 1 : tensor<200x200xi32>
      %c = stablehlo.compare GT, %j, %i, SIGNED : (tensor<200x200xi32>, tensor<200x200xi32>) -> tensor<200x200xi1>
      %low = stablehlo.constant dense<-1.0e30> : tensor<200x200xf32>
      %x = stablehlo.select %c, %low, %s : tensor<200x200xi1>, tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %m = stablehlo.reduce(%x init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %x, %w : tensor<200x200xf32>
      %p = stablehlo.exponential %d : tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o : tensor<200x8xf32>
    }
  }
}

// If the parallel loop is over columns, it visits the rows from the diagonal on.
// CHECK-LABEL: gpu.func @attention_2(
// CHECK: %[[DIAGONAL:.*]] = arith.remui %block_id_x, %c4{{[_0-9]*}} : index
// CHECK: scf.for %{{.*}} = %{{[0-9]+}} to %c4{{[_0-9]*}} step
st.program @group2 stages [2] devices [2] first_rank 2 mesh @mesh {
  st.input @q2 "q2" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.input @r2 "r2" role "batch" global tensor<200xf32> slice #st.sharding<@mesh, [{}]> local tensor<200xf32> micro_dim -1 at <offset = 204800>
  st.task @columns forward stage 2 (%mb) {
    %0 = st.read @q2 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1 = st.read @r2 {st.addresses = [#st.address<offset = 204800>]} : tensor<200xf32>
    %2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>, %r = %1 : tensor<200xf32>) -> tensor<200x8xf32> attributes {st.addresses = [#st.address<offset = 6400>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %i = stablehlo.iota dim = 0 : tensor<200x200xi32>
      %j = stablehlo.iota dim = 1 : tensor<200x200xi32>
      %c = stablehlo.compare GE, %i, %j, SIGNED : (tensor<200x200xi32>, tensor<200x200xi32>) -> tensor<200x200xi1>
      %low = stablehlo.constant dense<-1.0e30> : tensor<200x200xf32>
      %x = stablehlo.select %c, %s, %low : tensor<200x200xi1>, tensor<200x200xf32>
      %w = stablehlo.broadcast_in_dim %r, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %x, %w : tensor<200x200xf32>
      %p = stablehlo.exponential %d : tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [0] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o : tensor<200x8xf32>
    }
  }
}

// The mask keeps the other side of the diagonal, so the kernel skips tiles before the diagonal.
// CHECK-LABEL: gpu.func @attention_3(
// CHECK-SAME: cuda.product_flops = 8.000000e+05
// CHECK: %[[BEGIN:.*]] = arith.divui %{{.*}}, %c64{{[_0-9]*}}
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %c4{{[_0-9]*}} step
st.program @group3 stages [3] devices [3] first_rank 3 mesh @mesh {
  st.input @q3 "q3" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.input @r3 "r3" role "batch" global tensor<200xf32> slice #st.sharding<@mesh, [{}]> local tensor<200xf32> micro_dim -1 at <offset = 204800>
  st.task @upper forward stage 3 (%mb) {
    %0 = st.read @q3 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1 = st.read @r3 {st.addresses = [#st.address<offset = 204800>]} : tensor<200xf32>
    %2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> tensor<200x8xf32> attributes {st.addresses = [#st.address<offset = 6400>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %i = stablehlo.iota dim = 0 : tensor<200x200xi32>
      %j = stablehlo.iota dim = 1 : tensor<200x200xi32>
      %c = stablehlo.compare LE, %i, %j, SIGNED : (tensor<200x200xi32>, tensor<200x200xi32>) -> tensor<200x200xi1>
      %low = stablehlo.constant dense<-1.0e30> : tensor<200x200xf32>
      %x = stablehlo.select %c, %s, %low : tensor<200x200xi1>, tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %m = stablehlo.reduce(%x init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %x, %w : tensor<200x200xf32>
      %p = stablehlo.exponential %d : tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o : tensor<200x8xf32>
    }
  }
}

// The masked value is not a large negative number.
// CHECK-LABEL: gpu.func @attention_4(
// CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %c4{{[_0-9]*}} step
st.program @group4 stages [4] devices [4] first_rank 4 mesh @mesh {
  st.input @q4 "q4" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.input @r4 "r4" role "batch" global tensor<200xf32> slice #st.sharding<@mesh, [{}]> local tensor<200xf32> micro_dim -1 at <offset = 204800>
  st.task @near forward stage 4 (%mb) {
    %0 = st.read @q4 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1 = st.read @r4 {st.addresses = [#st.address<offset = 204800>]} : tensor<200xf32>
    %2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> tensor<200x8xf32> attributes {st.addresses = [#st.address<offset = 6400>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %i = stablehlo.iota dim = 0 : tensor<200x200xi32>
      %j = stablehlo.iota dim = 1 : tensor<200x200xi32>
      %c = stablehlo.compare GE, %i, %j, SIGNED : (tensor<200x200xi32>, tensor<200x200xi32>) -> tensor<200x200xi1>
      %low = stablehlo.constant dense<-1.0e4> : tensor<200x200xf32>
      %x = stablehlo.select %c, %s, %low : tensor<200x200xi1>, tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %m = stablehlo.reduce(%x init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %x, %w : tensor<200x200xf32>
      %p = stablehlo.exponential %d : tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o : tensor<200x8xf32>
    }
  }
}

// The unmasked value is not a product's score, so a row may have no value above the masked one.
// CHECK-LABEL: gpu.func @attention_5(
// CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %c4{{[_0-9]*}} step
st.program @group5 stages [5] devices [5] first_rank 5 mesh @mesh {
  st.input @q5 "q5" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.input @r5 "r5" role "batch" global tensor<200xf32> slice #st.sharding<@mesh, [{}]> local tensor<200xf32> micro_dim -1 at <offset = 204800>
  st.task @padded forward stage 5 (%mb) {
    %0 = st.read @q5 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1 = st.read @r5 {st.addresses = [#st.address<offset = 204800>]} : tensor<200xf32>
    %2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> tensor<200x8xf32> attributes {st.addresses = [#st.address<offset = 6400>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %i = stablehlo.iota dim = 0 : tensor<200x200xi32>
      %j = stablehlo.iota dim = 1 : tensor<200x200xi32>
      %c = stablehlo.compare GE, %i, %j, SIGNED : (tensor<200x200xi32>, tensor<200x200xi32>) -> tensor<200x200xi1>
      %low = stablehlo.constant dense<-1.0e30> : tensor<200x200xf32>
      %u = stablehlo.log %s : tensor<200x200xf32>
      %x = stablehlo.select %c, %u, %low : tensor<200x200xi1>, tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %m = stablehlo.reduce(%x init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %x, %w : tensor<200x200xf32>
      %p = stablehlo.exponential %d : tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o : tensor<200x8xf32>
    }
  }
}

// Probabilities are stored.
// CHECK-LABEL: gpu.func @attention_6(
// CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %c4{{[_0-9]*}} step
st.program @group6 stages [6] devices [6] first_rank 6 mesh @mesh {
  st.input @q6 "q6" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.input @r6 "r6" role "batch" global tensor<200xf32> slice #st.sharding<@mesh, [{}]> local tensor<200xf32> micro_dim -1 at <offset = 204800>
  st.task @kept forward stage 6 (%mb) {
    %0 = st.read @q6 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1 = st.read @r6 {st.addresses = [#st.address<offset = 204800>]} : tensor<200xf32>
    %2:2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> (tensor<200x8xf32>, tensor<200x200xf32>) attributes {st.addresses = [#st.address<offset = 6400>, #st.address<offset = 12800>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %i = stablehlo.iota dim = 0 : tensor<200x200xi32>
      %j = stablehlo.iota dim = 1 : tensor<200x200xi32>
      %c = stablehlo.compare GE, %i, %j, SIGNED : (tensor<200x200xi32>, tensor<200x200xi32>) -> tensor<200x200xi1>
      %low = stablehlo.constant dense<-1.0e30> : tensor<200x200xf32>
      %x = stablehlo.select %c, %s, %low : tensor<200x200xi1>, tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %m = stablehlo.reduce(%x init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %x, %w : tensor<200x200xf32>
      %p = stablehlo.exponential %d : tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o, %p : tensor<200x8xf32>, tensor<200x200xf32>
    }
  }
}

// A window before the diagonal: the kernel also skips tiles before the window. Four blocks of rows visit 1 + 2 + 2 + 2
// of 16 tiles.
// CHECK-LABEL: gpu.func @attention_7(
// CHECK-SAME: cuda.product_flops = 5.600000e+05
// CHECK: %[[FIRST:.*]] = arith.maxsi
// CHECK: %[[BEGIN:.*]] = arith.divui %[[FIRST]], %c64{{[_0-9]*}}
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]] step
st.program @group7 stages [7] devices [7] first_rank 7 mesh @mesh {
  st.input @q7 "q7" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.input @r7 "r7" role "batch" global tensor<200xf32> slice #st.sharding<@mesh, [{}]> local tensor<200xf32> micro_dim -1 at <offset = 204800>
  st.task @window forward stage 7 (%mb) {
    %0 = st.read @q7 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1 = st.read @r7 {st.addresses = [#st.address<offset = 204800>]} : tensor<200xf32>
    %2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> tensor<200x8xf32> attributes {st.addresses = [#st.address<offset = 6400>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %i = stablehlo.iota dim = 0 : tensor<200x200xi32>
      %j = stablehlo.iota dim = 1 : tensor<200x200xi32>
      %c = stablehlo.compare GE, %i, %j, SIGNED : (tensor<200x200xi32>, tensor<200x200xi32>) -> tensor<200x200xi1>
      %size = stablehlo.constant dense<32> : tensor<200x200xi32>
      %end = stablehlo.add %j, %size : tensor<200x200xi32>
      %near = stablehlo.compare LT, %i, %end, SIGNED : (tensor<200x200xi32>, tensor<200x200xi32>) -> tensor<200x200xi1>
      %both = stablehlo.and %c, %near : tensor<200x200xi1>
      %zero = stablehlo.constant dense<0.0> : tensor<200x200xf32>
      %low = stablehlo.constant dense<-1.0e30> : tensor<200x200xf32>
      %t = stablehlo.select %both, %zero, %low : tensor<200x200xi1>, tensor<200x200xf32>
      %x = stablehlo.add %s, %t : tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %m = stablehlo.reduce(%x init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %x, %w : tensor<200x200xf32>
      %p = stablehlo.exponential %d : tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o : tensor<200x8xf32>
    }
  }
}

// A window that ends before the diagonal, so a row may have no value above the masked one.
// CHECK-LABEL: gpu.func @attention_8(
// CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %c4{{[_0-9]*}} step
st.program @group8 stages [8] devices [8] first_rank 8 mesh @mesh {
  st.input @q8 "q8" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.input @r8 "r8" role "batch" global tensor<200xf32> slice #st.sharding<@mesh, [{}]> local tensor<200xf32> micro_dim -1 at <offset = 204800>
  st.task @empty forward stage 8 (%mb) {
    %0 = st.read @q8 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1 = st.read @r8 {st.addresses = [#st.address<offset = 204800>]} : tensor<200xf32>
    %2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> tensor<200x8xf32> attributes {st.addresses = [#st.address<offset = 6400>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %i = stablehlo.iota dim = 0 : tensor<200x200xi32>
      %j = stablehlo.iota dim = 1 : tensor<200x200xi32>
      %c = stablehlo.compare GE, %i, %j, SIGNED : (tensor<200x200xi32>, tensor<200x200xi32>) -> tensor<200x200xi1>
      %size = stablehlo.constant dense<0> : tensor<200x200xi32>
      %end = stablehlo.add %j, %size : tensor<200x200xi32>
      %near = stablehlo.compare LT, %i, %end, SIGNED : (tensor<200x200xi32>, tensor<200x200xi32>) -> tensor<200x200xi1>
      %both = stablehlo.and %c, %near : tensor<200x200xi1>
      %zero = stablehlo.constant dense<0.0> : tensor<200x200xf32>
      %low = stablehlo.constant dense<-1.0e30> : tensor<200x200xf32>
      %t = stablehlo.select %both, %zero, %low : tensor<200x200xi1>, tensor<200x200xf32>
      %x = stablehlo.add %s, %t : tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %m = stablehlo.reduce(%x init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %x, %w : tensor<200x200xf32>
      %p = stablehlo.exponential %d : tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o : tensor<200x8xf32>
    }
  }
}

// Scores with a soft cap and a bias by distance; the mask compares the distance.
// CHECK-LABEL: gpu.func @attention_9(
// CHECK-SAME: cuda.product_flops = 8.000000e+05
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %[[END]] step
st.program @group9 stages [9] devices [9] first_rank 9 mesh @mesh {
  st.input @q9 "q9" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.input @r9 "r9" role "batch" global tensor<200xf32> slice #st.sharding<@mesh, [{}]> local tensor<200xf32> micro_dim -1 at <offset = 204800>
  st.task @biased forward stage 9 (%mb) {
    %0 = st.read @q9 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1 = st.read @r9 {st.addresses = [#st.address<offset = 204800>]} : tensor<200xf32>
    %2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> tensor<200x8xf32> attributes {st.addresses = [#st.address<offset = 6400>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %i = stablehlo.iota dim = 0 : tensor<200x200xi32>
      %j = stablehlo.iota dim = 1 : tensor<200x200xi32>
      %far = stablehlo.subtract %i, %j : tensor<200x200xi32>
      %none = stablehlo.constant dense<0> : tensor<200x200xi32>
      %c = stablehlo.compare GE, %far, %none, SIGNED : (tensor<200x200xi32>, tensor<200x200xi32>) -> tensor<200x200xi1>
      %bent = stablehlo.tanh %s : tensor<200x200xf32>
      %cap = stablehlo.constant dense<30.0> : tensor<200x200xf32>
      %capped = stablehlo.multiply %bent, %cap : tensor<200x200xf32>
      %distance = stablehlo.convert %far : (tensor<200x200xi32>) -> tensor<200x200xf32>
      %slope = stablehlo.constant dense<0.25> : tensor<200x200xf32>
      %bias = stablehlo.multiply %distance, %slope : tensor<200x200xf32>
      %y = stablehlo.subtract %capped, %bias : tensor<200x200xf32>
      %low = stablehlo.constant dense<0xFF800000> : tensor<200x200xf32>
      %x = stablehlo.select %c, %y, %low : tensor<200x200xi1>, tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %m = stablehlo.reduce(%x init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %x, %w : tensor<200x200xf32>
      %p = stablehlo.exponential %d : tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o : tensor<200x8xf32>
    }
  }
}
