// The two kernels of a gradient of attention with dropout. The factors of a row's elements become one factor. A
// separate kernel computes it, and all other values that depend only on rows, for both kernels.
//
// RUN: sed "s/PLACES//" %s | st-opt --hoist-row-values | FileCheck %s
//
// RUN: sed "s/PLACES/attributes {st.addresses = [#st.address<offset = 0>]}/" %s | not st-opt --hoist-row-values 2>&1 | FileCheck %s --check-prefix=PLANNED
// PLANNED: error: 'st.kernel' op already has an address: run hoist-row-values before plan-memory

!q = tensor<2x8x16xbf16>
!s = tensor<2x8x8xbf16>
!w = tensor<2x8x8xf32>
!r = tensor<2x8xf32>

// CHECK-LABEL: func.func @dropout
// CHECK-SAME: %[[MAX:[^:]*]]: tensor<2x8xf32>, %[[SUM:[^:]*]]: tensor<2x8xf32>, %[[DOT:[^:]*]]: tensor<2x8xf32>,
// Dropout's scale becomes part of the factor of rows, and the kernel that scales %dot becomes part of the kernel of the
// others.
// CHECK-NOT: st.kernel
// CHECK: %[[ROWS:.*]]:2 = st.kernel "loop" (
// CHECK-DAG: %[[SUM]] : tensor<2x8xf32>
// CHECK: stablehlo.multiply
// CHECK: stablehlo.divide
// CHECK: st.yield
// CHECK: st.kernel "attention" ({{.*}}%[[ROWS]]#0 : tensor<2x8xf32>{{.*}}%[[ROWS]]#1 : tensor<2x8xf32>) -> tensor<2x8x16xbf16>
// CHECK-NOT: stablehlo.divide
// CHECK: st.yield
// CHECK: st.kernel "attention" ({{.*}}%[[ROWS]]#0 : tensor<2x8xf32>{{.*}}%[[ROWS]]#1 : tensor<2x8xf32>) -> (tensor<2x8x16xbf16>, tensor<2x8x16xbf16>)
// CHECK-NOT: stablehlo.divide
// CHECK: %[[P:.*]] = stablehlo.exponential
// CHECK: %[[FACTOR:.*]] = stablehlo.broadcast_in_dim
// CHECK: %[[SCALED:.*]] = stablehlo.multiply %[[P]], %[[FACTOR]]
// CHECK-NEXT: stablehlo.constant
// CHECK-NEXT: stablehlo.select %{{.*}}, %[[SCALED]]
func.func @dropout(%max: !r, %sum: !r, %dot: !r, %q: !q, %k: !q, %v: !q, %do: !q, %kept: tensor<2x8x8xi1>) -> (!q, !q, !q) {
  %dots = st.kernel "loop" (%a = %dot : !r, %b = %sum : !r) -> !r {
    %x = stablehlo.multiply %a, %b : !r
    st.yield %x : !r
  }
  %dq = st.kernel "attention" (%a = %q : !q, %b = %k : !q, %c = %v : !q, %d = %do : !q, %e = %kept : tensor<2x8x8xi1>, %m = %max : !r, %z = %sum : !r, %t = %dots : !r) -> !q PLACES {
    %dp = stablehlo.dot_general %d, %c, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (!q, !q) -> !s
    %dpw = stablehlo.convert %dp : (!s) -> !w
    %zero = stablehlo.constant dense<0.0> : !w
    %dropped = stablehlo.select %e, %dpw, %zero : tensor<2x8x8xi1>, !w
    %more = stablehlo.constant dense<1.25> : !w
    %grown = stablehlo.multiply %dropped, %more : !w
    %one = stablehlo.constant dense<1.0> : !r
    %i = stablehlo.divide %one, %z : !r
    %ib = stablehlo.broadcast_in_dim %i, dims = [0, 1] : (!r) -> !w
    %g = stablehlo.multiply %grown, %ib : !w
    %s = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (!q, !q) -> !s
    %sw = stablehlo.convert %s : (!s) -> !w
    %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (!r) -> !w
    %below = stablehlo.subtract %sw, %mb : !w
    %p = stablehlo.exponential %below : !w
    %ti = stablehlo.multiply %t, %i : !r
    %tb = stablehlo.broadcast_in_dim %ti, dims = [0, 1] : (!r) -> !w
    %less = stablehlo.subtract %g, %tb : !w
    %ds = stablehlo.multiply %less, %p : !w
    %dsn = stablehlo.convert %ds : (!w) -> !s
    %o = stablehlo.dot_general %dsn, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (!s, !q) -> !q
    st.yield %o : !q
  }
  %dkv:2 = st.kernel "attention" (%a = %q : !q, %b = %k : !q, %c = %v : !q, %d = %do : !q, %e = %kept : tensor<2x8x8xi1>, %m = %max : !r, %z = %sum : !r, %t = %dots : !r) -> (!q, !q) {
    %dp = stablehlo.dot_general %d, %c, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (!q, !q) -> !s
    %dpw = stablehlo.convert %dp : (!s) -> !w
    %zero = stablehlo.constant dense<0.0> : !w
    %dropped = stablehlo.select %e, %dpw, %zero : tensor<2x8x8xi1>, !w
    %more = stablehlo.constant dense<1.25> : !w
    %grown = stablehlo.multiply %dropped, %more : !w
    %one = stablehlo.constant dense<1.0> : !r
    %i = stablehlo.divide %one, %z : !r
    %ib = stablehlo.broadcast_in_dim %i, dims = [0, 1] : (!r) -> !w
    %g = stablehlo.multiply %grown, %ib : !w
    %s = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (!q, !q) -> !s
    %sw = stablehlo.convert %s : (!s) -> !w
    %mb = stablehlo.broadcast_in_dim %m, dims = [0, 1] : (!r) -> !w
    %below = stablehlo.subtract %sw, %mb : !w
    %ti = stablehlo.multiply %t, %i : !r
    %tb = stablehlo.broadcast_in_dim %ti, dims = [0, 1] : (!r) -> !w
    %p = stablehlo.exponential %below : !w
    %less = stablehlo.subtract %g, %tb : !w
    %ds = stablehlo.multiply %less, %p : !w
    %dsn = stablehlo.convert %ds : (!w) -> !s
    %pi = stablehlo.multiply %p, %ib : !w
    %pg = stablehlo.multiply %pi, %more : !w
    %none = stablehlo.constant dense<0.0> : !w
    %pd = stablehlo.select %e, %pg, %none : tensor<2x8x8xi1>, !w
    %pn = stablehlo.convert %pd : (!w) -> !s
    %dk = stablehlo.dot_general %dsn, %a, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (!s, !q) -> !q
    %dv = stablehlo.dot_general %pn, %d, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (!s, !q) -> !q
    st.yield %dk, %dv : !q, !q
  }
  return %dq, %dkv#0, %dkv#1 : !q, !q, !q
}

// Without dropout cuDNN computes the gradient, which the compiler recognises by the values of the two kernels. In f32
// every rounding shows.
// CHECK-LABEL: func.func @f32
// CHECK: st.kernel "attention"
// CHECK: %[[X:.*]] = stablehlo.multiply %{{.*}}, %{{.*}} : tensor<2x8x8xf32>
// CHECK: stablehlo.multiply %[[X]], %{{.*}} : tensor<2x8x8xf32>
func.func @f32(%q: tensor<2x8x16xf32>, %r: !r) -> tensor<2x8x16xf32> {
  %o = st.kernel "attention" (%a = %q : tensor<2x8x16xf32>, %z = %r : !r) -> tensor<2x8x16xf32> {
    %s = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> !w
    %c = stablehlo.constant dense<1.25> : !w
    %g = stablehlo.multiply %s, %c : !w
    %zb = stablehlo.broadcast_in_dim %z, dims = [0, 1] : (!r) -> !w
    %p = stablehlo.multiply %g, %zb : !w
    %x = stablehlo.dot_general %p, %a, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (!w, tensor<2x8x16xf32>) -> tensor<2x8x16xf32>
    st.yield %x : tensor<2x8x16xf32>
  }
  return %o : tensor<2x8x16xf32>
}

// A mask of positions varies along the columns, so it stays, and the kernels are still recognised as causal. The
// reciprocal of the sum moves.
// CHECK-LABEL: func.func @masked
// CHECK: %[[INVERSE:.*]] = st.kernel "loop" (%{{.*}} = %{{.*}} : tensor<2x8xf32>) -> tensor<2x8xf32>
// CHECK: st.kernel "attention"
// CHECK: stablehlo.iota
// CHECK: st.kernel "attention" ({{.*}} = %[[INVERSE]] : tensor<2x8xf32>)
// CHECK: stablehlo.iota
func.func @masked(%q: !q, %k: !q, %sum: !r) -> (!q, !q) {
  %dq = st.kernel "attention" (%a = %q : !q, %b = %k : !q, %z = %sum : !r) -> !q {
    %s = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (!q, !q) -> !s
    %sw = stablehlo.convert %s : (!s) -> !w
    %row = stablehlo.iota dim = 0 : tensor<8x8xi32>
    %column = stablehlo.iota dim = 1 : tensor<8x8xi32>
    %seen = stablehlo.compare GE, %row, %column : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
    %zero = stablehlo.constant dense<0.0> : tensor<8x8xf32>
    %low = stablehlo.constant dense<-1.0e4> : tensor<8x8xf32>
    %table = stablehlo.select %seen, %zero, %low : tensor<8x8xi1>, tensor<8x8xf32>
    %mask = stablehlo.broadcast_in_dim %table, dims = [1, 2] : (tensor<8x8xf32>) -> !w
    %m = stablehlo.add %sw, %mask : !w
    %p = stablehlo.exponential %m : !w
    %one = stablehlo.constant dense<1.0> : !r
    %i = stablehlo.divide %one, %z : !r
    %ib = stablehlo.broadcast_in_dim %i, dims = [0, 1] : (!r) -> !w
    %g = stablehlo.multiply %p, %ib : !w
    %n = stablehlo.convert %g : (!w) -> !s
    %o = stablehlo.dot_general %n, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (!s, !q) -> !q
    st.yield %o : !q
  }
  %dk = st.kernel "attention" (%a = %q : !q, %b = %k : !q, %z = %sum : !r) -> !q {
    %s = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (!q, !q) -> !s
    %sw = stablehlo.convert %s : (!s) -> !w
    %row = stablehlo.iota dim = 0 : tensor<8x8xi32>
    %column = stablehlo.iota dim = 1 : tensor<8x8xi32>
    %seen = stablehlo.compare GE, %row, %column : (tensor<8x8xi32>, tensor<8x8xi32>) -> tensor<8x8xi1>
    %zero = stablehlo.constant dense<0.0> : tensor<8x8xf32>
    %low = stablehlo.constant dense<-1.0e4> : tensor<8x8xf32>
    %table = stablehlo.select %seen, %zero, %low : tensor<8x8xi1>, tensor<8x8xf32>
    %mask = stablehlo.broadcast_in_dim %table, dims = [1, 2] : (tensor<8x8xf32>) -> !w
    %m = stablehlo.add %sw, %mask : !w
    %p = stablehlo.exponential %m : !w
    %one = stablehlo.constant dense<1.0> : !r
    %i = stablehlo.divide %one, %z : !r
    %ib = stablehlo.broadcast_in_dim %i, dims = [0, 1] : (!r) -> !w
    %g = stablehlo.multiply %p, %ib : !w
    %n = stablehlo.convert %g : (!w) -> !s
    %o = stablehlo.dot_general %n, %a, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (!s, !q) -> !q
    st.yield %o : !q
  }
  return %dq, %dk : !q, !q
}
