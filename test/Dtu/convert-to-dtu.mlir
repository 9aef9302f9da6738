// RUN: st-opt --convert-to-dtu %s | FileCheck %s

// A kernel and a write that moves nothing, then an accumulating write, which needs the result in memory.

// CHECK-LABEL: st.program @group0
// CHECK-SAME: dtu.constants = []
// CHECK-SAME: dtu.rank_table = array<i64: 0, 0, 1, 1, 0, 1>
// CHECK-SAME: dtu.table_size = 3 : i64
// CHECK: st.task @forward0 forward stage 0 (%{{.*}}) {
// CHECK-NEXT: dtu.program "forward0" semaphores {{[0-9]+}} barriers 1 l1 {{[0-9]+}} l2 {{[0-9]+}} l3 4096 table 3 {
// CHECK-NEXT: dtu.stream "dte" first 0 count 8 {

// The core starts after its queue has stored; the slot of the micro-batch is in a register.
// CHECK: dtu.label "loop"
// CHECK-NEXT: dtu.signal {sem = #dtu.affine<1 * r1>}
// CHECK: dtu.index {dst = [[SLOT:[0-9]+]] : i64, modulo = 2 : i64, multiply = 1024 : i64, value = #dtu.affine<1 * r2>}
// CHECK: dtu.copy {{.*}}dst = #dtu.view<L1[{{.*}}] core 1 * r1{{.*}}src = #dtu.view<L3[{{.*}}1 * r[[SLOT]]
// CHECK: dtu.signal {sem = #dtu.affine<8 + 1 * r1>}
// CHECK: dtu.wait {sem = #dtu.affine<16 + 1 * r1>}
// CHECK: dtu.copy {dst = #dtu.view<L3[2048

// The accumulation reads the kernel's result, so all queues synchronise first.
// CHECK: dtu.barrier {participants = 8 : i64}
// CHECK-NEXT: dtu.label "write sum"
// CHECK: dtu.copy {{.*}}src = #dtu.view<L3[3072

// CHECK: dtu.label "all_reduce"
// CHECK: dtu.stream "core" first 0 count 8 {
// CHECK: dtu.wait {sem = #dtu.affine<1 * r1>}
// CHECK: dtu.vector {{.*}}op = "tanh"
// CHECK: dtu.vector {{.*}}op = "add"
// CHECK: dtu.vector {{.*}}op = "col_sum"
// CHECK: dtu.stream "tx" first 0 count 1 {
// CHECK: dtu.table
// CHECK: dtu.send
// CHECK: dtu.stream "rx" first 0 count 1 {
// CHECK: dtu.recv
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
}
