// Values that attention keeps in fewer bits lead to no product, but are recomputed with the rest. The backward task
// converts them where they are first read, not at its beginning.
//
// RUN: st-opt --rematerialise=policy=selective %s | FileCheck %s
// RUN: st-opt --rematerialise=otherwise=selective %s | FileCheck %s
// RUN: not st-opt --rematerialise=otherwise=some %s 2>&1 | FileCheck --check-prefix=UNKNOWN %s
// UNKNOWN: error: unknown policy "some", expected none, selective, full, fit or a number of bytes

module {
  st.mesh @mesh <[], micro=2>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.state @w "w" role "parameter" of "" global tensor<8x8xf32> slice <@mesh, [{}, {}]> local tensor<8x8xf32>
    st.input @x "x" role "batch" global tensor<4x4x8xf32> slice <@mesh, [{"micro"}, {}, {}]> local tensor<2x4x8xf32> micro_dim 0
    st.buffer @g "accumulator" slots 1 : tensor<8x8xf32>
    // CHECK: "stash"
    // CHECK-NOT: "stash"
    st.buffer @input "stash" slots 1 : tensor<2x4x8xf32>
    st.buffer @exp "stash" slots 1 : tensor<2x4x4xbf16>

    // CHECK: st.task @forward0
    st.task @forward0 forward stage 0 (%mb) {
      %w = st.read @w : tensor<8x8xf32>
      %x = st.read @x[%mb] : tensor<2x4x8xf32>
      %e = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] {st.block = 0 : i64} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
      st.write %e to @input[%mb] : tensor<2x4x8xf32>
      %scores = stablehlo.dot_general %e, %e, batching_dims = [0] x [0], contracting_dims = [2] x [2] {st.block = 1 : i64} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4xf32>
      %exp = stablehlo.exponential %scores {st.block = 1 : i64} : tensor<2x4x4xf32>
      // CHECK-NOT: stablehlo.convert
      %narrow = stablehlo.convert %exp {st.block = 1 : i64} : (tensor<2x4x4xf32>) -> tensor<2x4x4xbf16>
      st.write %narrow to @exp[%mb] : tensor<2x4x4xbf16>
      %context = stablehlo.dot_general %exp, %e, batching_dims = [0] x [0], contracting_dims = [2] x [1] {st.block = 1 : i64} : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
      %out = stablehlo.dot_general %context, %w, contracting_dims = [2] x [0] {st.block = 2 : i64} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
    }
    // CHECK: st.task @backward0
    st.task @backward0 backward stage 0 (%mb) {
      %narrow = st.read @exp[%mb] : tensor<2x4x4xbf16>
      %wide = stablehlo.convert %narrow {st.block = 1 : i64} : (tensor<2x4x4xbf16>) -> tensor<2x4x4xf32>
      %one = stablehlo.constant dense<1.0> : tensor<2x4x4xf32>
      %more = stablehlo.add %wide, %one : tensor<2x4x4xf32>
      // CHECK: %[[E:.*]] = st.read @input
      // CHECK-NEXT: %[[D:.*]] = stablehlo.multiply %[[E]], %[[E]]
      // CHECK-NEXT: %[[AGAIN:.*]] = st.read @input
      // CHECK-NEXT: %[[SCORES:.*]] = stablehlo.dot_general %[[AGAIN]], %[[AGAIN]], batching_dims
      // CHECK-NEXT: %[[EXP:.*]] = stablehlo.exponential %[[SCORES]]
      // CHECK-NEXT: %[[NARROW:.*]] = stablehlo.convert %[[EXP]]
      // CHECK-NEXT: %[[WIDE:.*]] = stablehlo.convert %[[NARROW]]
      // CHECK-NEXT: %[[MORE:.*]] = stablehlo.add %[[WIDE]]
      // CHECK-NEXT: stablehlo.dot_general %[[MORE]], %[[D]]
      %e = st.read @input[%mb] : tensor<2x4x8xf32>
      %d = stablehlo.multiply %e, %e : tensor<2x4x8xf32>
      %de = stablehlo.dot_general %more, %d, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
      %dq = stablehlo.dot_general %de, %e, contracting_dims = [0, 1] x [0, 1] : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<8x8xf32>
      st.write %dq to @g accumulate sum : tensor<8x8xf32>
    }
  }
}
