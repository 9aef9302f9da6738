// RUN: st-opt --fuse-epilogues %s | FileCheck %s

// GELU with its ops in another order, of a product with a converted bias that the loop adds. The loop also writes GELU's
// square, and continues to compute it, from the product's second result.
// CHECK-LABEL: func.func @gelu
// CHECK: %[[V:.*]] = st.kernel "loop" (%[[F:.*]] = %arg2 : tensor<8xf32>) -> tensor<8xbf16>
// CHECK-NEXT: stablehlo.convert %[[F]]
// CHECK: %[[Y:.*]]:2 = st.kernel "matmul" (%{{.*}} = %arg0 : {{.*}}, %{{.*}} = %arg1 : {{.*}}, %[[B:.*]] = %[[V]] : tensor<8xbf16>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>)
// CHECK: %[[W:.*]] = stablehlo.broadcast_in_dim %[[B]], dims = [1] : (tensor<8xbf16>) -> tensor<4x8xbf16>
// CHECK: %[[X:.*]] = stablehlo.add %{{.*}}, %[[W]]
// CHECK: stablehlo.tanh
// CHECK: %[[G:.*]] = stablehlo.convert {{.*}} -> tensor<4x8xbf16>
// CHECK: st.yield %[[G]], %[[X]]
// CHECK: %[[Q:.*]] = st.kernel "loop" (%[[A:.*]] = %[[Y]]#1 : tensor<4x8xbf16>) -> tensor<4x8xbf16>
// CHECK-NEXT: stablehlo.multiply %[[A]], %[[A]]
// CHECK: return %[[Y]]#0, %[[Q]]
func.func @gelu(%0: tensor<4x8xbf16>, %1: tensor<8x8xbf16>, %2: tensor<8xf32>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>) {
  %p = st.kernel "matmul" (%a = %0 : tensor<4x8xbf16>, %b = %1 : tensor<8x8xbf16>) -> tensor<4x8xbf16> {
    %3 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x8xbf16>) -> tensor<4x8xbf16>
    st.yield %3 : tensor<4x8xbf16>
  }
  %k:2 = st.kernel "loop" (%d = %p : tensor<4x8xbf16>, %v = %2 : tensor<8xf32>) -> (tensor<4x8xbf16>, tensor<4x8xbf16>) {
    %3 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<8xf32>) -> tensor<4x8xf32>
    %4 = stablehlo.convert %3 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %x = stablehlo.add %d, %4 : tensor<4x8xbf16>
    %f = stablehlo.convert %x : (tensor<4x8xbf16>) -> tensor<4x8xf32>
    %three = stablehlo.constant dense<3.0> : tensor<4x8xf32>
    %c = stablehlo.constant dense<-0.071354814> : tensor<4x8xf32>
    %l = stablehlo.constant dense<-1.595769122> : tensor<4x8xf32>
    %5 = stablehlo.power %f, %three : tensor<4x8xf32>
    %6 = stablehlo.multiply %5, %c : tensor<4x8xf32>
    %7 = stablehlo.multiply %f, %l : tensor<4x8xf32>
    %8 = stablehlo.add %6, %7 : tensor<4x8xf32>
    %e = stablehlo.exponential %8 : tensor<4x8xf32>
    %one = stablehlo.constant dense<1.0> : tensor<f32>
    %ones = stablehlo.broadcast_in_dim %one, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %9 = stablehlo.add %ones, %e : tensor<4x8xf32>
    %10 = stablehlo.divide %f, %9 : tensor<4x8xf32>
    %y = stablehlo.convert %10 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %q = stablehlo.multiply %x, %x : tensor<4x8xbf16>
    st.yield %y, %q : tensor<4x8xbf16>, tensor<4x8xbf16>
  }
  return %k#0, %k#1 : tensor<4x8xbf16>, tensor<4x8xbf16>
}

// x / (1 + exp(-1.702 x)) is another function, and so is GELU by erf.
// CHECK-LABEL: func.func @sigmoid
// CHECK: st.kernel "matmul"
// CHECK-NEXT: stablehlo.dot_general
// CHECK-NEXT: st.yield
// CHECK: st.kernel "loop"
// CHECK: stablehlo.logistic
func.func @sigmoid(%0: tensor<4x8xf32>, %1: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %p = st.kernel "matmul" (%a = %0 : tensor<4x8xf32>, %b = %1 : tensor<8x8xf32>) -> tensor<4x8xf32> {
    %3 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    st.yield %3 : tensor<4x8xf32>
  }
  %k = st.kernel "loop" (%x = %p : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %c = stablehlo.constant dense<1.702> : tensor<4x8xf32>
    %3 = stablehlo.multiply %x, %c : tensor<4x8xf32>
    %4 = stablehlo.logistic %3 : tensor<4x8xf32>
    %y = stablehlo.multiply %x, %4 : tensor<4x8xf32>
    st.yield %y : tensor<4x8xf32>
  }
  return %k : tensor<4x8xf32>
}

// Rows of 12 elements: cuBLASLt could not store the argument of GELU.
// CHECK-LABEL: func.func @twelve
// CHECK: st.kernel "matmul"
// CHECK-NEXT: stablehlo.dot_general
// CHECK-NEXT: st.yield
// CHECK: st.kernel "loop"
func.func @twelve(%0: tensor<4x8xf32>, %1: tensor<8x12xf32>) -> tensor<4x12xf32> {
  %p = st.kernel "matmul" (%a = %0 : tensor<4x8xf32>, %b = %1 : tensor<8x12xf32>) -> tensor<4x12xf32> {
    %3 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x12xf32>) -> tensor<4x12xf32>
    st.yield %3 : tensor<4x12xf32>
  }
  %k = st.kernel "loop" (%x = %p : tensor<4x12xf32>) -> tensor<4x12xf32> {
    %c = stablehlo.constant dense<0.044715> : tensor<4x12xf32>
    %l = stablehlo.constant dense<1.595769122> : tensor<4x12xf32>
    %one = stablehlo.constant dense<1.0> : tensor<4x12xf32>
    %3 = stablehlo.multiply %x, %x : tensor<4x12xf32>
    %4 = stablehlo.multiply %3, %c : tensor<4x12xf32>
    %5 = stablehlo.add %4, %one : tensor<4x12xf32>
    %6 = stablehlo.multiply %5, %x : tensor<4x12xf32>
    %7 = stablehlo.multiply %6, %l : tensor<4x12xf32>
    %8 = stablehlo.logistic %7 : tensor<4x12xf32>
    %y = stablehlo.multiply %x, %8 : tensor<4x12xf32>
    st.yield %y : tensor<4x12xf32>
  }
  return %k : tensor<4x12xf32>
}

st.mesh @mesh <["x"=1], micro=2>
// The forward task stashes the argument of GELU and its tanh. The gradient needs only the argument, so the tanh is no
// longer computed and kept.
// CHECK-LABEL: st.program @steps
// CHECK: st.buffer @x
// CHECK-NOT: st.buffer @t
// CHECK: st.task @forward
// CHECK: %[[Y:.*]]:2 = st.kernel "matmul" {{.*}} -> (tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK-NOT: st.kernel
// CHECK: st.write %[[Y]]#1 to @x
// CHECK: st.write %[[Y]]#0 to @y
// CHECK: st.task @backward
// CHECK: %[[A:.*]] = st.read @x
// CHECK-NOT: st.read @t
// CHECK: %[[D:.*]] = st.kernel "matmul" (%{{.*}}, %{{.*}}, %{{.*}} = %[[A]] : tensor<4x8xf32>) -> tensor<4x8xf32> attributes {st.no_alias}
// CHECK-NOT: st.kernel
// CHECK: st.write %[[D]] to @d
st.program @steps stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @w "w" role "batch" global tensor<8x8xf32> slice <@mesh, [{}, {}]> local tensor<8x8xf32> micro_dim -1
  st.input @i "i" role "batch" global tensor<4x8xf32> slice <@mesh, [{}, {}]> local tensor<4x8xf32> micro_dim -1
  st.buffer @x "stash" slots 2 : tensor<4x8xf32>
  st.buffer @t "stash" slots 2 : tensor<4x8xf32>
  st.buffer @y "step" slots 1 : tensor<4x8xf32>
  st.buffer @d "step" slots 1 : tensor<4x8xf32>
  st.task @forward forward stage 0 (%mb) {
    %0 = st.read @i : tensor<4x8xf32>
    %1 = st.read @w : tensor<8x8xf32>
    %p = st.kernel "matmul" (%a = %0 : tensor<4x8xf32>, %b = %1 : tensor<8x8xf32>) -> tensor<4x8xf32> {
      %3 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      st.yield %3 : tensor<4x8xf32>
    }
    %k:3 = st.kernel "loop" (%x = %p : tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
      %c = stablehlo.constant dense<0.044715> : tensor<4x8xf32>
      %l = stablehlo.constant dense<0.797884561> : tensor<4x8xf32>
      %half = stablehlo.constant dense<0.5> : tensor<4x8xf32>
      %one = stablehlo.constant dense<1.0> : tensor<4x8xf32>
      %3 = stablehlo.multiply %x, %x : tensor<4x8xf32>
      %4 = stablehlo.multiply %3, %c : tensor<4x8xf32>
      %5 = stablehlo.add %4, %one : tensor<4x8xf32>
      %6 = stablehlo.multiply %5, %x : tensor<4x8xf32>
      %7 = stablehlo.multiply %6, %l : tensor<4x8xf32>
      %8 = stablehlo.tanh %7 : tensor<4x8xf32>
      %9 = stablehlo.add %8, %one : tensor<4x8xf32>
      %10 = stablehlo.multiply %x, %9 : tensor<4x8xf32>
      %y = stablehlo.multiply %10, %half : tensor<4x8xf32>
      st.yield %y, %8, %x : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
    }
    st.write %k#2 to @x[%mb] : tensor<4x8xf32>
    st.write %k#1 to @t[%mb] : tensor<4x8xf32>
    st.write %k#0 to @y : tensor<4x8xf32>
  }
  st.task @backward backward stage 0 (%mb) {
    %0 = st.read @i : tensor<4x8xf32>
    %1 = st.read @w : tensor<8x8xf32>
    %2 = st.read @x[%mb] : tensor<4x8xf32>
    %t = st.read @t[%mb] : tensor<4x8xf32>
    %p = st.kernel "matmul" (%a = %0 : tensor<4x8xf32>, %b = %1 : tensor<8x8xf32>) -> tensor<4x8xf32> {
      %3 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
      st.yield %3 : tensor<4x8xf32>
    }
    %k = st.kernel "loop" (%g = %p : tensor<4x8xf32>, %x = %2 : tensor<4x8xf32>, %u = %t : tensor<4x8xf32>) -> tensor<4x8xf32> {
      %c = stablehlo.constant dense<0.134145> : tensor<4x8xf32>
      %l = stablehlo.constant dense<0.797884561> : tensor<4x8xf32>
      %half = stablehlo.constant dense<0.5> : tensor<4x8xf32>
      %one = stablehlo.constant dense<1.0> : tensor<4x8xf32>
      %3 = stablehlo.multiply %u, %u : tensor<4x8xf32>
      %4 = stablehlo.subtract %one, %3 : tensor<4x8xf32>
      %5 = stablehlo.multiply %x, %x : tensor<4x8xf32>
      %6 = stablehlo.multiply %5, %c : tensor<4x8xf32>
      %7 = stablehlo.add %6, %one : tensor<4x8xf32>
      %8 = stablehlo.multiply %7, %4 : tensor<4x8xf32>
      %9 = stablehlo.multiply %8, %l : tensor<4x8xf32>
      %10 = stablehlo.multiply %9, %x : tensor<4x8xf32>
      %11 = stablehlo.add %10, %u : tensor<4x8xf32>
      %12 = stablehlo.add %11, %one : tensor<4x8xf32>
      %13 = stablehlo.multiply %12, %g : tensor<4x8xf32>
      %y = stablehlo.multiply %13, %half : tensor<4x8xf32>
      st.yield %y : tensor<4x8xf32>
    }
    st.write %k to @d : tensor<4x8xf32>
  }
}

// The product for the gradient of the weights also sums the rows for the bias' gradient; the write of the sums moves
// after it.
// CHECK-LABEL: st.program @sums
// CHECK: st.task @backward
// CHECK: %[[W:.*]]:2 = st.kernel "matmul" (%[[X:.*]] = {{.*}}, %[[G:.*]] = {{.*}}) -> (tensor<8x8xf32>, tensor<8xf32>)
// CHECK: %[[F:.*]] = stablehlo.convert %[[G]]
// CHECK: stablehlo.reduce(%[[F]] init
// CHECK: st.write %[[W]]#1 to @db
// CHECK: st.write %[[W]]#0 to @dw
// CHECK-NOT: st.kernel
st.program @sums stages [0] devices [0] first_rank 0 mesh @mesh {
  st.input @i "i" role "batch" global tensor<4x8xbf16> slice <@mesh, [{}, {}]> local tensor<4x8xbf16> micro_dim -1
  st.buffer @db "step" slots 1 : tensor<8xf32>
  st.buffer @dw "step" slots 1 : tensor<8x8xf32>
  st.task @backward backward stage 0 (%mb) {
    %0 = st.read @i : tensor<4x8xbf16>
    %1 = st.read @i : tensor<4x8xbf16>
    %s = st.kernel "reduce" (%a = %1 : tensor<4x8xbf16>) -> tensor<8xf32> {
      %2 = stablehlo.convert %a : (tensor<4x8xbf16>) -> tensor<4x8xf32>
      %zero = stablehlo.constant dense<0.0> : tensor<f32>
      %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4x8xf32>, tensor<f32>) -> tensor<8xf32>
      st.yield %3 : tensor<8xf32>
    }
    st.write %s to @db : tensor<8xf32>
    %p = st.kernel "matmul" (%a = %0 : tensor<4x8xbf16>, %b = %1 : tensor<4x8xbf16>) -> tensor<8x8xf32> {
      %3 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<8x8xf32>
      st.yield %3 : tensor<8x8xf32>
    }
    st.write %p to @dw : tensor<8x8xf32>
  }
}

// A sum along a dimension that the product does not contract, a maximum, and a sum in a type other than the product's do
// not change.
// CHECK-LABEL: func.func @not_summed
// CHECK-COUNT-3: st.kernel "reduce"
// CHECK: st.kernel "matmul"
// CHECK-NEXT: stablehlo.dot_general
// CHECK-NEXT: st.yield
func.func @not_summed(%0: tensor<8x8xbf16>, %1: tensor<8x8xbf16>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>, tensor<8x8xf32>) {
  %s = st.kernel "reduce" (%a = %1 : tensor<8x8xbf16>) -> tensor<8xf32> {
    %2 = stablehlo.convert %a : (tensor<8x8xbf16>) -> tensor<8x8xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
    st.yield %3 : tensor<8xf32>
  }
  %t = st.kernel "reduce" (%a = %1 : tensor<8x8xbf16>) -> tensor<8xf32> {
    %2 = stablehlo.convert %a : (tensor<8x8xbf16>) -> tensor<8x8xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
    st.yield %3 : tensor<8xf32>
  }
  %u = st.kernel "reduce" (%a = %1 : tensor<8x8xbf16>) -> tensor<8xbf16> {
    %zero = stablehlo.constant dense<0.0> : tensor<bf16>
    %3 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x8xbf16>, tensor<bf16>) -> tensor<8xbf16>
    st.yield %3 : tensor<8xbf16>
  }
  %p = st.kernel "matmul" (%a = %0 : tensor<8x8xbf16>, %b = %1 : tensor<8x8xbf16>) -> tensor<8x8xf32> {
    %3 = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<8x8xbf16>, tensor<8x8xbf16>) -> tensor<8x8xf32>
    st.yield %3 : tensor<8x8xf32>
  }
  return %s, %t, %u, %p : tensor<8xf32>, tensor<8xf32>, tensor<8xbf16>, tensor<8x8xf32>
}
