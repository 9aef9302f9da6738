// With o = p v the sum over j of p_j (do v^T)_j is that over d of do_d o_d. In the forward pass p is exp of the scores
// over their sum, and zero where dropout's mask is false. The backward pass recomputes all of this except the sum.
//
// RUN: sed "s/THRESHOLD/3/; s/PLACES//" %s | st-opt --derive-row-sums | FileCheck %s
// RUN: sed "s/THRESHOLD/3/; s/PLACES//" %s | st-opt --derive-row-sums --fuse-transposes | FileCheck %s --check-prefix=TURNED
//
// With another mask, p differs.
// RUN: sed "s/THRESHOLD/4/; s/PLACES//" %s | st-opt --derive-row-sums | FileCheck %s --check-prefix=OTHER
//
// RUN: sed "s/THRESHOLD/3/; s/PLACES/attributes {st.addresses = [#st.address<offset = 0>, #st.address<offset = 1024>]}/" %s | not st-opt --derive-row-sums 2>&1 | FileCheck %s --check-prefix=PLANNED
// PLANNED: error: 'st.kernel' op already has an address: run derive-row-sums before plan-memory

module {
  st.mesh @mesh <[], micro=2>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.input @q "q" role "batch" global tensor<4x8x4x16xbf16> slice <@mesh, [{"micro"}, {}, {}, {}]> local tensor<2x8x4x16xbf16> micro_dim 0
    st.buffer @o "stash" slots 2 : tensor<2x8x4x16xbf16>
    st.buffer @s "stash" slots 2 : tensor<2x4x8xf32>
    st.buffer @g "accumulator" slots 1 : tensor<2x4x8x16xbf16>
    st.buffer @r "accumulator" slots 1 : tensor<2x4x8xf32>

    // CHECK-LABEL: st.task @forward0
    // TURNED-LABEL: st.task @forward0
    // TURNED: st.kernel "attention" {{.*}} -> (tensor<2x8x4x16xbf16>, tensor<2x4x8xf32>)
    st.task @forward0 forward stage 0 (%mb) {
      %q = st.read @q[%mb] : tensor<2x8x4x16xbf16>
      %k:2 = st.kernel "attention" (%a = %q : tensor<2x8x4x16xbf16>, %b = %q : tensor<2x8x4x16xbf16>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x8xf32>) {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %zeros = stablehlo.constant dense<0.0> : tensor<2x4x8x8xf32>
        %more = stablehlo.constant dense<1.25> : tensor<2x4x8x8xf32>
        %ones = stablehlo.constant dense<1.0> : tensor<2x4x8xf32>
        %least = stablehlo.constant dense<3> : tensor<2x4x8x8xui32>
        %i = stablehlo.iota dim = 3 : tensor<2x4x8x8xui32>
        %mask = stablehlo.compare GE, %i, %least : (tensor<2x4x8x8xui32>, tensor<2x4x8x8xui32>) -> tensor<2x4x8x8xi1>
        %scores = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>) -> tensor<2x4x8x8xbf16>
        %wide = stablehlo.convert %scores : (tensor<2x4x8x8xbf16>) -> tensor<2x4x8x8xf32>
        %exp = stablehlo.exponential %wide : tensor<2x4x8x8xf32>
        %sum = stablehlo.reduce(%exp init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
        %inverse = stablehlo.divide %ones, %sum : tensor<2x4x8xf32>
        %spread = stablehlo.broadcast_in_dim %inverse, dims = [0, 1, 2] : (tensor<2x4x8xf32>) -> tensor<2x4x8x8xf32>
        %p = stablehlo.multiply %exp, %spread : tensor<2x4x8x8xf32>
        %scaled = stablehlo.multiply %p, %more : tensor<2x4x8x8xf32>
        %dropped = stablehlo.select %mask, %scaled, %zeros : tensor<2x4x8x8xi1>, tensor<2x4x8x8xf32>
        %narrow = stablehlo.convert %dropped : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xbf16>
        %o = stablehlo.dot_general %narrow, %b, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x4x8x8xbf16>, tensor<2x8x4x16xbf16>) -> tensor<2x4x8x16xbf16>
        st.yield %o, %sum : tensor<2x4x8x16xbf16>, tensor<2x4x8xf32>
      }
      %t = st.kernel "copy" (%a = %k#0 : tensor<2x4x8x16xbf16>) -> tensor<2x8x4x16xbf16> {
        %x = stablehlo.transpose %a, dims = [0, 2, 1, 3] : (tensor<2x4x8x16xbf16>) -> tensor<2x8x4x16xbf16>
        st.yield %x : tensor<2x8x4x16xbf16>
      }
      st.write %t to @o[%mb] : tensor<2x8x4x16xbf16>
      st.write %k#1 to @s[%mb] : tensor<2x4x8xf32>
    }

    // CHECK-LABEL: st.task @backward0
    // CHECK-DAG: %[[Q:.*]] = st.read @q
    // CHECK-DAG: %[[O:.*]] = st.read @o
    // CHECK-DAG: %[[S:.*]] = st.read @s
    // CHECK: %[[DO:.*]] = st.kernel "loop"
    // CHECK: %[[ROWS:.*]] = st.kernel "loop" (%[[A:.*]] = %[[DO]] : tensor<2x8x4x16xbf16>, %[[B:.*]] = %[[O]] : tensor<2x8x4x16xbf16>) -> tensor<2x8x4xf32>
    // CHECK-DAG: %[[WA:.*]] = stablehlo.convert %[[A]]
    // CHECK-DAG: %[[WB:.*]] = stablehlo.convert %[[B]]
    // CHECK: %[[M:.*]] = stablehlo.multiply %[[WA]], %[[WB]]
    // CHECK: stablehlo.reduce(%[[M]] {{.*}}) applies stablehlo.add across dimensions = [3]
    // CHECK: %[[BYHEAD:.*]] = st.kernel "copy" (%{{.*}} = %[[ROWS]] : tensor<2x8x4xf32>) -> tensor<2x4x8xf32>
    // CHECK: stablehlo.transpose %{{.*}}, dims = [0, 2, 1]
    // CHECK: %[[R:.*]] = st.kernel "loop" (%[[A:.*]] = %[[BYHEAD]] : tensor<2x4x8xf32>, %[[B:.*]] = %[[S]] : tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    // CHECK: stablehlo.multiply %[[A]], %[[B]]
    // CHECK: %[[DQ:.*]] = st.kernel "attention" {{.*}}, %[[SUM:.*]] = %[[R]] : tensor<2x4x8xf32>) -> tensor<2x4x8x16xbf16>
    // CHECK-NOT: stablehlo.reduce
    // CHECK: stablehlo.broadcast_in_dim %[[SUM]]
    // CHECK: st.write %[[DQ]] to @g
    // CHECK: st.write %[[R]] to @r
    // OTHER-LABEL: st.task @backward0
    // OTHER: st.kernel "attention" {{.*}} -> (tensor<2x4x8x16xbf16>, tensor<2x4x8xf32>)
    // OTHER: stablehlo.reduce
    st.task @backward0 backward stage 0 (%mb) {
      %q = st.read @q[%mb] : tensor<2x8x4x16xbf16>
      %o = st.read @o[%mb] : tensor<2x8x4x16xbf16>
      %s = st.read @s[%mb] : tensor<2x4x8xf32>
      %do = st.kernel "loop" (%a = %o : tensor<2x8x4x16xbf16>) -> tensor<2x8x4x16xbf16> {
        %x = stablehlo.tanh %a : tensor<2x8x4x16xbf16>
        st.yield %x : tensor<2x8x4x16xbf16>
      }
      %k:2 = st.kernel "attention" (%a = %q : tensor<2x8x4x16xbf16>, %b = %q : tensor<2x8x4x16xbf16>, %c = %do : tensor<2x8x4x16xbf16>, %d = %s : tensor<2x4x8xf32>) -> (tensor<2x4x8x16xbf16>, tensor<2x4x8xf32>) PLACES {
        %zero = stablehlo.constant dense<0.0> : tensor<f32>
        %zeros = stablehlo.constant dense<0.0> : tensor<2x4x8x8xf32>
        %more = stablehlo.constant dense<1.25> : tensor<2x4x8x8xf32>
        %least = stablehlo.constant dense<THRESHOLD> : tensor<2x4x8x8xui32>
        %i = stablehlo.iota dim = 3 : tensor<2x4x8x8xui32>
        %mask = stablehlo.compare GE, %i, %least : (tensor<2x4x8x8xui32>, tensor<2x4x8x8xui32>) -> tensor<2x4x8x8xi1>
        %dp = stablehlo.dot_general %c, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>) -> tensor<2x4x8x8xbf16>
        %dpw = stablehlo.convert %dp : (tensor<2x4x8x8xbf16>) -> tensor<2x4x8x8xf32>
        %kept = stablehlo.select %mask, %dpw, %zeros : tensor<2x4x8x8xi1>, tensor<2x4x8x8xf32>
        %dropped = stablehlo.multiply %kept, %more : tensor<2x4x8x8xf32>
        %scores = stablehlo.dot_general %a, %b, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3] : (tensor<2x8x4x16xbf16>, tensor<2x8x4x16xbf16>) -> tensor<2x4x8x8xbf16>
        %wide = stablehlo.convert %scores : (tensor<2x4x8x8xbf16>) -> tensor<2x4x8x8xf32>
        %exp = stablehlo.exponential %wide : tensor<2x4x8x8xf32>
        %both = stablehlo.multiply %dropped, %exp : tensor<2x4x8x8xf32>
        %r = stablehlo.reduce(%both init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x4x8x8xf32>, tensor<f32>) -> tensor<2x4x8xf32>
        %rs = stablehlo.broadcast_in_dim %r, dims = [0, 1, 2] : (tensor<2x4x8xf32>) -> tensor<2x4x8x8xf32>
        %ss = stablehlo.broadcast_in_dim %d, dims = [0, 1, 2] : (tensor<2x4x8xf32>) -> tensor<2x4x8x8xf32>
        %mean = stablehlo.divide %rs, %ss : tensor<2x4x8x8xf32>
        %less = stablehlo.subtract %dropped, %mean : tensor<2x4x8x8xf32>
        %ds = stablehlo.multiply %less, %exp : tensor<2x4x8x8xf32>
        %dsn = stablehlo.convert %ds : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xbf16>
        %dq = stablehlo.dot_general %dsn, %b, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1] : (tensor<2x4x8x8xbf16>, tensor<2x8x4x16xbf16>) -> tensor<2x4x8x16xbf16>
        st.yield %dq, %r : tensor<2x4x8x16xbf16>, tensor<2x4x8xf32>
      }
      st.write %k#0 to @g : tensor<2x4x8x16xbf16>
      st.write %k#1 to @r : tensor<2x4x8xf32>
    }
  }
}
