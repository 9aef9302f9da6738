// Emitted streams are proven; with one wait, signal or receive less they are not. test/e2e/dtu/test_order.py shows that
// undetected mutations are harmless.
//
// RUN: split-file %s %t
// RUN: st-opt --convert-to-dtu %t/step.mlir -o %t.dtu.mlir
// RUN: st-opt --verify-dtu-order %t.dtu.mlir | diff - %t.dtu.mlir
// RUN: not st-opt --verify-dtu-order %t/step.mlir 2>&1 | FileCheck %s --check-prefix=EARLY
// RUN: sed '0,/dtu.wait/{/dtu.wait/d}' %t.dtu.mlir | not st-opt --verify-dtu-order 2>&1 | FileCheck %s --check-prefix=WAIT
// RUN: sed '0,/dtu.signal/{/dtu.signal/d}' %t.dtu.mlir | not st-opt --verify-dtu-order 2>&1 | FileCheck %s --check-prefix=SIGNAL
// RUN: sed '0,/dtu.recv/{/dtu.recv/d}' %t.dtu.mlir | not st-opt --verify-dtu-order 2>&1 | FileCheck %s --check-prefix=RECEIVE
// RUN: st-opt --verify-dtu-order=work=10 %t.dtu.mlir 2>&1 >/dev/null | FileCheck %s --check-prefix=WORK

// EARLY: verify-dtu-order: {{.*}}expected
// WAIT: error: group "group0", rank 0, micro-batch 0: program 'forward0', {{.*}} no synchronisation orders them
// SIGNAL: error: group "group0", rank 0, micro-batch 0: waits forever: program 'forward0', {{.*}} on
// RECEIVE: error: {{.*}}
// WORK: remark: proved 0 of {{[0-9]+}} different program runs free of races, and none of them free of deadlock; verify-dtu-order with more work proves the others

//--- step.mlir
st.mesh @mesh <["tensor"=2], micro=2>
st.program @group0 stages [0] devices [0, 1] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<32x16xf32> slice #st.sharding<@mesh, [{"micro"}, {}]> local tensor<16x16xf32> micro_dim 0 at <offset = 0, stride = 1024, slots = 2>
  st.buffer @sum "accumulator" slots 1 : tensor<16x16xf32> at <offset = 3072>
  st.task @forward0 forward stage 0 (%mb) {
    %0 = st.read @x[%mb] {st.addresses = [#st.address<offset = 0, stride = 1024, slots = 2>]} : tensor<16x16xf32>
    %1 = st.kernel "loop" (%a = %0 : tensor<16x16xf32>) -> tensor<16x16xf32> attributes {st.addresses = [#st.address<offset = 2048>]} {
      %2 = stablehlo.tanh %a : tensor<16x16xf32>
      st.yield %2 : tensor<16x16xf32>
    }
    st.write %1 to @sum accumulate sum : tensor<16x16xf32>
    %3 = st.all_reduce %1 sum over ["tensor"] of @mesh {st.addresses = [#st.address<offset = 2048>]} : tensor<16x16xf32>
  }
  st.schedule "sequential" [@forward0 0, @forward0 1]
}
