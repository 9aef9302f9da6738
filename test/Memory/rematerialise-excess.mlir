// A step that saves much can make earlier, cheaper steps unnecessary: they are undone.
//
// The stash of a micro-batch takes 3 x 256 + 1024 bytes. Recomputing the first layer's cheap exponential saves 256; the
// second layer's product, which is next, saves 1024: then the exponential can stay.
// RUN: st-opt --rematerialise=policy=1792 %s | FileCheck --check-prefixes=ALL,EXP,PRODUCT %s
// RUN: st-opt --rematerialise=policy=1536 %s | FileCheck --check-prefixes=ALL,NOEXP,PRODUCT %s
// RUN: st-opt --rematerialise=policy=1535 %s | FileCheck --check-prefixes=ALL,EXP,NOPRODUCT %s
// RUN: st-opt --rematerialise=policy=768 %s | FileCheck --check-prefixes=ALL,EXP,NOPRODUCT %s
// RUN: st-opt --rematerialise=policy=767 %s | FileCheck --check-prefixes=ALL,NOEXP,NOPRODUCT %s

// ALL: st.buffer @input "stash"
// EXP-NEXT: st.buffer @exp "stash"
// NOEXP-NOT: @exp
// ALL-NEXT: st.buffer @between "stash"
// PRODUCT-NEXT: st.buffer @product "stash"
// NOPRODUCT-NOT: @product
module {
  st.mesh @mesh <[], micro=2>
  st.program @group0 stages [0] devices [0] first_rank 0 mesh @mesh {
    st.state @w "w" role "parameter" of "" global tensor<8x8xf32> slice <@mesh, [{}, {}]> local tensor<8x8xf32>
    st.state @v "v" role "parameter" of "" global tensor<8x32xf32> slice <@mesh, [{}, {}]> local tensor<8x32xf32>
    st.input @x "x" role "batch" global tensor<4x4x8xf32> slice <@mesh, [{"micro"}, {}, {}]> local tensor<2x4x8xf32> micro_dim 0
    st.buffer @g "accumulator" slots 1 : tensor<8x32xf32>
    st.buffer @loss "accumulator" slots 1 : tensor<2x4x32xf32>
    st.buffer @input "stash" slots 1 : tensor<2x4x8xf32>
    st.buffer @exp "stash" slots 1 : tensor<2x4x8xf32>
    st.buffer @between "stash" slots 1 : tensor<2x4x8xf32>
    st.buffer @product "stash" slots 1 : tensor<2x4x32xf32>
    st.task @forward0 forward stage 0 (%mb) {
      %w = st.read @w : tensor<8x8xf32>
      %v = st.read @v : tensor<8x32xf32>
      %x = st.read @x[%mb] : tensor<2x4x8xf32>
      %e = stablehlo.dot_general %x, %w, contracting_dims = [2] x [0] {st.block = 0 : i64} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
      st.write %e to @input[%mb] : tensor<2x4x8xf32>
      %exp = stablehlo.exponential %e {st.block = 1 : i64} : tensor<2x4x8xf32>
      st.write %exp to @exp[%mb] : tensor<2x4x8xf32>
      %between = stablehlo.dot_general %exp, %w, contracting_dims = [2] x [0] {st.block = 1 : i64} : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
      st.write %between to @between[%mb] : tensor<2x4x8xf32>
      %product = stablehlo.dot_general %between, %v, contracting_dims = [2] x [0] {st.block = 2 : i64} : (tensor<2x4x8xf32>, tensor<8x32xf32>) -> tensor<2x4x32xf32>
      st.write %product to @product[%mb] : tensor<2x4x32xf32>
      %y = stablehlo.tanh %product {st.block = 2 : i64} : tensor<2x4x32xf32>
      st.write %y to @loss accumulate sum : tensor<2x4x32xf32>
    }
    st.task @backward0 backward stage 0 (%mb) {
      %product = st.read @product[%mb] : tensor<2x4x32xf32>
      %dy = stablehlo.negate %product : tensor<2x4x32xf32>
      %between = st.read @between[%mb] : tensor<2x4x8xf32>
      %dv = stablehlo.dot_general %between, %dy, contracting_dims = [0, 1] x [0, 1] : (tensor<2x4x8xf32>, tensor<2x4x32xf32>) -> tensor<8x32xf32>
      %exp = st.read @exp[%mb] : tensor<2x4x8xf32>
      %e = st.read @input[%mb] : tensor<2x4x8xf32>
      %de = stablehlo.multiply %exp, %e : tensor<2x4x8xf32>
      %dw = stablehlo.dot_general %de, %dy, contracting_dims = [0, 1] x [0, 1] : (tensor<2x4x8xf32>, tensor<2x4x32xf32>) -> tensor<8x32xf32>
      %both = stablehlo.add %dv, %dw : tensor<8x32xf32>
      st.write %both to @g accumulate sum : tensor<8x32xf32>
    }
  }
}
