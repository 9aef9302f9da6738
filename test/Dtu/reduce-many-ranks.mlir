// Slots for messages between 64 ranks would not fit into a core's L1, so small tensors use rings too.
// RUN: st-opt --plan-memory --convert-to-dtu %s | FileCheck %s
// CHECK: dtu.program
// CHECK-NOT: op = "col_sum"
// CHECK: dtu.stream "tx"

st.mesh @mesh <["a"=64], micro=1>

st.program @group0 stages [0] devices [0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 15, 16, 17, 18, 20, 21, 22, 23, 25, 26, 27, 28, 30, 31, 32, 33, 35, 36, 37, 38, 40, 41, 42, 43, 45, 46, 47, 48, 50, 51, 52, 53, 55, 56, 57, 58, 60, 61, 62, 63, 65, 66, 67, 68, 70, 71, 72, 73, 75, 76, 77, 78] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<64x1024xf32> slice #st.sharding<@mesh, [{"a"}, {}]> local tensor<1x1024xf32> micro_dim -1
  st.output @sum "sum" role "metric" global tensor<1x1024xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<1x1024xf32>
  st.task @forward0 forward stage 0 (%mb) {
    %x = st.read @x : tensor<1x1024xf32>
    %sum = st.all_reduce %x sum over ["a"] of @mesh : tensor<1x1024xf32>
    st.write %sum to @sum : tensor<1x1024xf32>
  }
  st.schedule "sequential" [@forward0 0]
}
