// A sum over devices reuses the accumulator if nothing else needs its old value.
//
// RUN: st-opt --reuse-accumulators %s | FileCheck %s
// RUN: st-opt --reuse-accumulators --form-kernels --plan-memory --verify-memory-plan %s | FileCheck %s --check-prefix=PLACED

st.mesh @mesh <["d"=2], micro=1>
st.program @group0 stages [0] devices [0, 1] first_rank 0 mesh @mesh {
  st.state @w "w" role "parameter" of "" global tensor<64xf32> slice #st.sharding<@mesh, [{}]> local tensor<64xf32>
  st.input @x "x" role "batch" global tensor<128xf32> slice #st.sharding<@mesh, [{"d"}]> local tensor<64xf32> micro_dim -1
  // PLACED: st.buffer @a "accumulator" slots 1 : tensor<64xf32> at <offset = [[A:[0-9]+]]>
  // PLACED: st.buffer @b "accumulator" slots 1 : tensor<64xf32> at <offset = [[B:[0-9]+]]>
  st.buffer @a "accumulator" slots 1 : tensor<64xf32>
  st.buffer @b "accumulator" slots 1 : tensor<64xf32>
  st.buffer @c "step" slots 1 : tensor<64xf32>
  st.buffer @used "accumulator" slots 1 : tensor<64xf32>
  st.buffer @late "step" slots 1 : tensor<64xf32>
  st.task @forward0 forward stage 0 (%mb) {
    %x = st.read @x : tensor<64xf32>
    st.write %x to @a : tensor<64xf32>
    st.write %x to @b : tensor<64xf32>
    st.write %x to @c : tensor<64xf32>
    st.write %x to @used : tensor<64xf32>
    st.write %x to @late : tensor<64xf32>
  }
  st.task @backward0 backward stage 0 (%mb) {
    // Another task's sums stay where they are.
    // CHECK: st.all_reduce
    // CHECK-NEXT: }
    %late = st.read @late : tensor<64xf32>
    %0 = st.all_reduce %late sum over ["d"] of @mesh : tensor<64xf32>
  }
  // CHECK-LABEL: st.task @update
  st.task @update update stage 0 (%mb) {
    %w = st.read @w : tensor<64xf32>
    %a = st.read @a : tensor<64xf32>
    %b = st.read @b : tensor<64xf32>
    %c = st.read @c : tensor<64xf32>
    %used = st.read @used : tensor<64xf32>
    // States are not reused, nor values with later uses.
    // CHECK: %[[R:.*]]:4 = st.all_reduce
    // CHECK-NEXT: st.write %[[R]]#0 to @a
    // CHECK-NEXT: st.write %[[R]]#2 to @b
    // CHECK-NEXT: stablehlo.add
    // CHECK-NOT: st.write %{{.*}} to @used
    // PLACED: st.all_reduce {{.*}}st.addresses = [#st.address<offset = [[A]]>, #st.address<offset = {{.*}}>, #st.address<offset = [[B]]>, #st.address<offset = {{.*}}>]
    %r:4 = st.all_reduce %a, %w, %b, %used sum over ["d"] of @mesh : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
    %0 = stablehlo.add %r#0, %r#1 : tensor<64xf32>
    %1 = stablehlo.add %0, %r#2 : tensor<64xf32>
    %2 = stablehlo.add %1, %r#3 : tensor<64xf32>
    %3 = stablehlo.add %2, %used : tensor<64xf32>
    // CHECK: st.reduce_scatter
    // CHECK-NOT: to @c
    %part = st.reduce_scatter %c sum dim 0 over ["d"] of @mesh : tensor<64xf32> -> tensor<32xf32>
    %gathered = st.all_gather %part dim 0 over ["d"] of @mesh : tensor<32xf32> -> tensor<64xf32>
    %4 = stablehlo.add %3, %gathered : tensor<64xf32>
    st.write %4 to @w : tensor<64xf32>
  }
  st.schedule "sequential" [@forward0 0, @backward0 0, @update 0]
}
