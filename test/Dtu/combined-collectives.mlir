// Collectives of several tensors on eight clusters of two chips, compared with the reference interpreter: large and
// small, with one row and with a part of each row, along one axis and two; with slots and without.
//
// REQUIRES: jax
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t.in x=f32:8x48x64 y=f32:8x3 z=f32:8x40 w=f32:8x32
// RUN: st-translate --interpret --inputs=%t.in --outputs=%t.ref %s
// RUN: st-dtu-run --shuffles=3 --inputs=%t.in --outputs=%t.dtu %s
// RUN: %python %S/../Reference/Inputs/compare.py %t.ref %t.dtu 1e-5 | FileCheck %s
// CHECK: 11 tensors agree
//
// A chunk of w ends where w does.
// RUN: st-opt --plan-memory --convert-to-dtu %s | FileCheck %s --check-prefix=CHUNK
// CHUNK: dtu.send {{.*}}sizes = [#dtu.extent<16, 40 - r{{[0-9]+}}>]
// CHUNK-NEXT: dtu.index
// CHUNK-NEXT: dtu.send {{.*}}sizes = [#dtu.extent<16, 32 - r{{[0-9]+}}>]

st.mesh @mesh <["a"=2, "b"=4], micro=1>

st.program @group0 stages [0] devices [0, 1, 2, 3, 5, 6, 7, 8] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<8x48x64xf32> slice #st.sharding<@mesh, [{"a", "b"}, {}, {}]> local tensor<1x48x64xf32> micro_dim -1
  st.input @y "y" role "batch" global tensor<8x3xf32> slice #st.sharding<@mesh, [{"a", "b"}, {}]> local tensor<1x3xf32> micro_dim -1
  st.input @z "z" role "batch" global tensor<8x40xf32> slice #st.sharding<@mesh, [{"a", "b"}, {}]> local tensor<1x40xf32> micro_dim -1
  st.input @w "w" role "batch" global tensor<8x32xf32> slice #st.sharding<@mesh, [{"a", "b"}, {}]> local tensor<1x32xf32> micro_dim -1
  st.output @sum_w "sum_w" role "metric" global tensor<1x32xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<1x32xf32>
  st.output @sum_x "sum_x" role "metric" global tensor<1x48x64xf32> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<1x48x64xf32>
  st.output @sum_y "sum_y" role "metric" global tensor<1x3xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<1x3xf32>
  st.output @sum_z "sum_z" role "metric" global tensor<1x40xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<1x40xf32>
  st.output @max_y "max_y" role "metric" global tensor<2x3xf32> slice #st.sharding<@mesh, [{"a"}, {}]> local tensor<1x3xf32>
  st.output @max_z "max_z" role "metric" global tensor<2x40xf32> slice #st.sharding<@mesh, [{"a"}, {}]> local tensor<1x40xf32>
  st.output @all_y "all_y" role "metric" global tensor<1x24xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<1x24xf32>
  st.output @all_z "all_z" role "metric" global tensor<1x320xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<1x320xf32>
  st.output @all_x "all_x" role "metric" global tensor<1x384x64xf32> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<1x384x64xf32>
  st.output @part_x "part_x" role "metric" global tensor<2x48x64xf32> slice #st.sharding<@mesh, [{"a"}, {"b"}, {}]> local tensor<1x12x64xf32>
  st.output @part_z "part_z" role "metric" global tensor<2x40xf32> slice #st.sharding<@mesh, [{"a"}, {"b"}]> local tensor<1x10xf32>
  st.task @forward0 forward stage 0 (%mb) {
    %x = st.read @x : tensor<1x48x64xf32>
    %y = st.read @y : tensor<1x3xf32>
    %z = st.read @z : tensor<1x40xf32>
    %w = st.read @w : tensor<1x32xf32>
    // Of eight chunks of w, six are empty.
    %sum:4 = st.all_reduce %y, %x, %z, %w sum over ["a", "b"] of @mesh : tensor<1x3xf32>, tensor<1x48x64xf32>, tensor<1x40xf32>, tensor<1x32xf32>
    %max:2 = st.all_reduce %y, %z max over ["b"] of @mesh : tensor<1x3xf32>, tensor<1x40xf32>
    %all:3 = st.all_gather %y, %z, %x dim 1 over ["a", "b"] of @mesh : tensor<1x3xf32>, tensor<1x40xf32>, tensor<1x48x64xf32> -> tensor<1x24xf32>, tensor<1x320xf32>, tensor<1x384x64xf32>
    %part:2 = st.reduce_scatter %x, %z sum dim 1 over ["b"] of @mesh : tensor<1x48x64xf32>, tensor<1x40xf32> -> tensor<1x12x64xf32>, tensor<1x10xf32>
    st.write %sum#0 to @sum_y : tensor<1x3xf32>
    st.write %sum#1 to @sum_x : tensor<1x48x64xf32>
    st.write %sum#2 to @sum_z : tensor<1x40xf32>
    st.write %sum#3 to @sum_w : tensor<1x32xf32>
    st.write %max#0 to @max_y : tensor<1x3xf32>
    st.write %max#1 to @max_z : tensor<1x40xf32>
    st.write %all#0 to @all_y : tensor<1x24xf32>
    st.write %all#1 to @all_z : tensor<1x320xf32>
    st.write %all#2 to @all_x : tensor<1x384x64xf32>
    st.write %part#0 to @part_x : tensor<1x12x64xf32>
    st.write %part#1 to @part_z : tensor<1x10xf32>
  }
  st.schedule "sequential" [@forward0 0]
}
