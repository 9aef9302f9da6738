// Rings with parts larger than one message, between two chips and within them, compared with the reference interpreter:
// pieces that do not divide a part, parts of several rows, several tensors of which only some are split.
//
// REQUIRES: jax
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t.in x=f32:4x7x20004 y=f32:4x40003 z=f32:4x5
// RUN: st-translate --interpret --inputs=%t.in --outputs=%t.ref %s
// RUN: st-dtu-run --shuffles=3 --inputs=%t.in --outputs=%t.dtu %s
// RUN: %python %S/../Reference/Inputs/compare.py %t.ref %t.dtu 1e-5 | FileCheck %s
// CHECK: 9 tensors agree
//
// A part of z and y is one message, a part of x is several.
// RUN: st-opt --plan-memory --convert-to-dtu %s | FileCheck %s --check-prefix=PIECES
// PIECES: dtu.stream "tx"
// PIECES: dtu.send {{.*}}sizes = [#dtu.extent<10016, 40003 -
// PIECES: dtu.send {{.*}}sizes = [#dtu.extent<16, 5 -
// PIECES: dtu.loop {limit = #dtu.affine<{{[0-9]+}}>, reg = [[PIECE:[0-9]+]] : i64} do {
// PIECES-NEXT: dtu.index {{.*}} * r[[PIECE]]>}
// PIECES-NEXT: dtu.send {{.*}}, 140028 - {{.*}}}
// PIECES-NEXT: }

st.mesh @mesh <["a"=2, "b"=2], micro=1>

st.program @group0 stages [0] devices [0, 1, 5, 6] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<4x7x20004xf32> slice #st.sharding<@mesh, [{"a", "b"}, {}, {}]> local tensor<1x7x20004xf32> micro_dim -1
  st.input @y "y" role "batch" global tensor<4x40003xf32> slice #st.sharding<@mesh, [{"a", "b"}, {}]> local tensor<1x40003xf32> micro_dim -1
  st.input @z "z" role "batch" global tensor<4x5xf32> slice #st.sharding<@mesh, [{"a", "b"}, {}]> local tensor<1x5xf32> micro_dim -1
  st.output @sum_y "sum_y" role "metric" global tensor<1x40003xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<1x40003xf32>
  st.output @sum_z "sum_z" role "metric" global tensor<1x5xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<1x5xf32>
  st.output @sum_x "sum_x" role "metric" global tensor<1x7x20004xf32> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<1x7x20004xf32>
  st.output @max_y "max_y" role "metric" global tensor<2x40003xf32> slice #st.sharding<@mesh, [{"a"}, {}]> local tensor<1x40003xf32>
  st.output @all_y "all_y" role "metric" global tensor<1x160012xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<1x160012xf32>
  st.output @all_z "all_z" role "metric" global tensor<1x20xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<1x20xf32>
  st.output @all_x "all_x" role "metric" global tensor<2x14x20004xf32> slice #st.sharding<@mesh, [{"b"}, {}, {}]> local tensor<1x14x20004xf32>
  st.output @part_x "part_x" role "metric" global tensor<1x7x20004xf32> slice #st.sharding<@mesh, [{}, {}, {"a", "b"}]> local tensor<1x7x5001xf32>
  st.output @rows_x "rows_x" role "metric" global tensor<2x7x20004xf32> slice #st.sharding<@mesh, [{"b"}, {}, {"a"}]> local tensor<1x7x10002xf32>
  st.task @forward0 forward stage 0 (%mb) {
    %x = st.read @x : tensor<1x7x20004xf32>
    %y = st.read @y : tensor<1x40003xf32>
    %z = st.read @z : tensor<1x5xf32>
    %sum:3 = st.all_reduce %y, %z, %x sum over ["a", "b"] of @mesh : tensor<1x40003xf32>, tensor<1x5xf32>, tensor<1x7x20004xf32>
    %max = st.all_reduce %y max over ["b"] of @mesh : tensor<1x40003xf32>
    %all:2 = st.all_gather %y, %z dim 1 over ["a", "b"] of @mesh : tensor<1x40003xf32>, tensor<1x5xf32> -> tensor<1x160012xf32>, tensor<1x20xf32>
    %all_x = st.all_gather %x dim 1 over ["a"] of @mesh : tensor<1x7x20004xf32> -> tensor<1x14x20004xf32>
    %part = st.reduce_scatter %x sum dim 2 over ["a", "b"] of @mesh : tensor<1x7x20004xf32> -> tensor<1x7x5001xf32>
    %rows = st.reduce_scatter %x sum dim 2 over ["a"] of @mesh : tensor<1x7x20004xf32> -> tensor<1x7x10002xf32>
    st.write %sum#0 to @sum_y : tensor<1x40003xf32>
    st.write %sum#1 to @sum_z : tensor<1x5xf32>
    st.write %sum#2 to @sum_x : tensor<1x7x20004xf32>
    st.write %max to @max_y : tensor<1x40003xf32>
    st.write %all#0 to @all_y : tensor<1x160012xf32>
    st.write %all#1 to @all_z : tensor<1x20xf32>
    st.write %all_x to @all_x : tensor<1x14x20004xf32>
    st.write %part to @part_x : tensor<1x7x5001xf32>
    st.write %rows to @rows_x : tensor<1x7x10002xf32>
  }
  st.schedule "sequential" [@forward0 0]
}
