// If only products read a softmax, up to constant factors and selects, one pass over tiles suffices: a later maximum
// rescales the sums. Everything else takes a pass for maxima and sums, and one for the products.
//
// RUN: st-opt --convert-kernels-to-gpu %s | FileCheck %s

st.mesh @mesh <["tensor"=1], micro=1>

// A quotient, with some elements dropped.
// CHECK-LABEL: gpu.func @attention_0(
// CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %c4{{[_0-9]*}} step
// CHECK-NOT: scf.for %{{.*}} = %c0{{[_0-9]*}} to %c4{{[_0-9]*}} step
// CHECK: gpu.return
st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @q0 "q0" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.task @t0 forward stage 0 (%mb) {
    %0 = st.read @q0 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1:2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> (tensor<200x8xf32>, tensor<200xf32>) attributes {st.addresses = [#st.address<offset = 6400>, #st.address<offset = 409600>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.reduce(%s init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %s, %w : tensor<200x200xf32>
      %e = stablehlo.exponential %d : tensor<200x200xf32>
      %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %y = stablehlo.broadcast_in_dim %z, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %h = stablehlo.divide %e, %y : tensor<200x200xf32>
      %i = stablehlo.iota dim = 0 : tensor<200x200xi32>
      %j = stablehlo.iota dim = 1 : tensor<200x200xi32>
      %c = stablehlo.compare NE, %i, %j, SIGNED : (tensor<200x200xi32>, tensor<200x200xi32>) -> tensor<200x200xi1>
      %none = stablehlo.constant dense<0.0> : tensor<200x200xf32>
      %p = stablehlo.select %c, %h, %none : tensor<200x200xi1>, tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o, %z : tensor<200x8xf32>, tensor<200xf32>
    }
  }
}

// Without the division.
// CHECK-LABEL: gpu.func @attention_1(
// CHECK: scf.for %{{.*}} = %c0{{[_0-9]*}} to %c4{{[_0-9]*}} step
// CHECK-NOT: scf.for %{{.*}} = %c0{{[_0-9]*}} to %c4{{[_0-9]*}} step
// CHECK: gpu.return
st.program @group1 stages [1] devices [1] first_rank 1 mesh @mesh {
  st.input @q1 "q1" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.task @t1 forward stage 1 (%mb) {
    %0 = st.read @q1 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1:2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> (tensor<200x8xf32>, tensor<200xf32>) attributes {st.addresses = [#st.address<offset = 6400>, #st.address<offset = 409600>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.reduce(%s init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %s, %w : tensor<200x200xf32>
      %e = stablehlo.exponential %d : tensor<200x200xf32>
      %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %y = stablehlo.broadcast_in_dim %z, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %g = stablehlo.constant dense<2.0> : tensor<200x200xf32>
      %p = stablehlo.multiply %g, %e : tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o, %z : tensor<200x8xf32>, tensor<200xf32>
    }
  }
}

// The square of an exponential.
// CHECK-LABEL: gpu.func @attention_2(
// CHECK-COUNT-2: scf.for %{{.*}} = %c0{{[_0-9]*}} to %c4{{[_0-9]*}} step
// CHECK: gpu.return
st.program @group2 stages [2] devices [2] first_rank 2 mesh @mesh {
  st.input @q2 "q2" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.task @t2 forward stage 2 (%mb) {
    %0 = st.read @q2 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1:2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> (tensor<200x8xf32>, tensor<200xf32>) attributes {st.addresses = [#st.address<offset = 6400>, #st.address<offset = 409600>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.reduce(%s init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %s, %w : tensor<200x200xf32>
      %e = stablehlo.exponential %d : tensor<200x200xf32>
      %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %y = stablehlo.broadcast_in_dim %z, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %h = stablehlo.divide %e, %y : tensor<200x200xf32>
      %p = stablehlo.multiply %h, %e : tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o, %z : tensor<200x8xf32>, tensor<200xf32>
    }
  }
}

// The added value is not rescaled.
// CHECK-LABEL: gpu.func @attention_3(
// CHECK-COUNT-2: scf.for %{{.*}} = %c0{{[_0-9]*}} to %c4{{[_0-9]*}} step
// CHECK: gpu.return
st.program @group3 stages [3] devices [3] first_rank 3 mesh @mesh {
  st.input @q3 "q3" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.task @t3 forward stage 3 (%mb) {
    %0 = st.read @q3 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1:2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> (tensor<200x8xf32>, tensor<200xf32>) attributes {st.addresses = [#st.address<offset = 6400>, #st.address<offset = 409600>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.reduce(%s init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %s, %w : tensor<200x200xf32>
      %e = stablehlo.exponential %d : tensor<200x200xf32>
      %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %y = stablehlo.broadcast_in_dim %z, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %h = stablehlo.divide %e, %y : tensor<200x200xf32>
      %p = stablehlo.add %h, %s : tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o, %z : tensor<200x8xf32>, tensor<200xf32>
    }
  }
}

// The predicate of the select is an exponential.
// CHECK-LABEL: gpu.func @attention_4(
// CHECK-COUNT-2: scf.for %{{.*}} = %c0{{[_0-9]*}} to %c4{{[_0-9]*}} step
// CHECK: gpu.return
st.program @group4 stages [4] devices [4] first_rank 4 mesh @mesh {
  st.input @q4 "q4" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.task @t4 forward stage 4 (%mb) {
    %0 = st.read @q4 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1:2 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> (tensor<200x8xf32>, tensor<200xf32>) attributes {st.addresses = [#st.address<offset = 6400>, #st.address<offset = 409600>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.reduce(%s init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %s, %w : tensor<200x200xf32>
      %e = stablehlo.exponential %d : tensor<200x200xf32>
      %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %y = stablehlo.broadcast_in_dim %z, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %c = stablehlo.compare GT, %e, %s, FLOAT : (tensor<200x200xf32>, tensor<200x200xf32>) -> tensor<200x200xi1>
      %none = stablehlo.constant dense<0.0> : tensor<200x200xf32>
      %p = stablehlo.select %c, %e, %none : tensor<200x200xi1>, tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o, %z : tensor<200x8xf32>, tensor<200xf32>
    }
  }
}

// Probabilities are a result.
// CHECK-LABEL: gpu.func @attention_5(
// CHECK-COUNT-2: scf.for %{{.*}} = %c0{{[_0-9]*}} to %c4{{[_0-9]*}} step
// CHECK: gpu.return
st.program @group5 stages [5] devices [5] first_rank 5 mesh @mesh {
  st.input @q5 "q5" role "batch" global tensor<200x8xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<200x8xf32> micro_dim -1 at <offset = 0>
  st.task @t5 forward stage 5 (%mb) {
    %0 = st.read @q5 {st.addresses = [#st.address<offset = 0>]} : tensor<200x8xf32>
    %1:3 = st.kernel "attention" (%q = %0 : tensor<200x8xf32>) -> (tensor<200x8xf32>, tensor<200x200xf32>, tensor<200xf32>) attributes {st.addresses = [#st.address<offset = 6400>, #st.address<offset = 12800>, #st.address<offset = 409600>]} {
      %s = stablehlo.dot_general %q, %q, contracting_dims = [1] x [1] : (tensor<200x8xf32>, tensor<200x8xf32>) -> tensor<200x200xf32>
      %n = stablehlo.constant dense<0xFF800000> : tensor<f32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %m = stablehlo.reduce(%s init: %n) applies stablehlo.maximum across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %w = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %d = stablehlo.subtract %s, %w : tensor<200x200xf32>
      %e = stablehlo.exponential %d : tensor<200x200xf32>
      %z = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<200x200xf32>, tensor<f32>) -> tensor<200xf32>
      %y = stablehlo.broadcast_in_dim %z, dims = [0] : (tensor<200xf32>) -> tensor<200x200xf32>
      %p = stablehlo.divide %e, %y : tensor<200x200xf32>
      %o = stablehlo.dot_general %p, %q, contracting_dims = [1] x [0] : (tensor<200x200xf32>, tensor<200x8xf32>) -> tensor<200x8xf32>
      st.yield %o, %p, %z : tensor<200x8xf32>, tensor<200x200xf32>, tensor<200xf32>
    }
  }
}
