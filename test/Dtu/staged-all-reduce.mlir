// Reductions over twelve clusters of three chips as rings within rings, compared with the reference interpreter:
// tensors with empty chunks, several at once, and maxima over axes whose ranks are not adjacent.
//
// REQUIRES: jax
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t.in x=f32:12x5001 y=f32:12x37
// RUN: st-translate --interpret --inputs=%t.in --outputs=%t.ref %s
// RUN: st-dtu-run --shuffles=3 --inputs=%t.in --outputs=%t.dtu %s
// RUN: %python %S/../Reference/Inputs/compare.py %t.ref %t.dtu 1e-5 | FileCheck %s
// CHECK: 4 tensors agree
//
// Before the second stage the sends of both tensors wait for the first stage's results.
// RUN: st-opt --plan-memory --convert-to-dtu %s | FileCheck %s --check-prefix=STAGES
// STAGES: dtu.stream "tx"
// STAGES: dtu.send
// STAGES: dtu.wait {count = 2 : i64, sem
// STAGES: dtu.send
// STAGES: dtu.stream "rx"

st.mesh @mesh <["a"=3, "b"=4], micro=1>

st.program @group0 stages [0] devices [0, 1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<12x5001xf32> slice #st.sharding<@mesh, [{"a", "b"}, {}]> local tensor<1x5001xf32> micro_dim -1
  st.input @y "y" role "batch" global tensor<12x37xf32> slice #st.sharding<@mesh, [{"a", "b"}, {}]> local tensor<1x37xf32> micro_dim -1
  st.output @sum_x "sum_x" role "metric" global tensor<1x5001xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<1x5001xf32>
  st.output @sum_y "sum_y" role "metric" global tensor<1x37xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<1x37xf32>
  st.output @max_a "max_a" role "metric" global tensor<4x5001xf32> slice #st.sharding<@mesh, [{"b"}, {}]> local tensor<1x5001xf32>
  st.output @max_b "max_b" role "metric" global tensor<3x5001xf32> slice #st.sharding<@mesh, [{"a"}, {}]> local tensor<1x5001xf32>
  st.task @forward0 forward stage 0 (%mb) {
    %x = st.read @x : tensor<1x5001xf32>
    %y = st.read @y : tensor<1x37xf32>
    %sum:2 = st.all_reduce %x, %y sum over ["b", "a"] of @mesh : tensor<1x5001xf32>, tensor<1x37xf32>
    %max_a = st.all_reduce %x max over ["a"] of @mesh : tensor<1x5001xf32>
    %max_b = st.all_reduce %x max over ["b"] of @mesh : tensor<1x5001xf32>
    st.write %sum#0 to @sum_x : tensor<1x5001xf32>
    st.write %sum#1 to @sum_y : tensor<1x37xf32>
    st.write %max_a to @max_a : tensor<1x5001xf32>
    st.write %max_b to @max_b : tensor<1x5001xf32>
  }
  st.schedule "sequential" [@forward0 0]
}
