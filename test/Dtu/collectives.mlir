// Every collective on eight clusters of two chips, as link programs, compared with the reference
// interpreter: along one axis and two, small and large tensors, and messages between two groups.
//
// REQUIRES: jax
// RUN: %python %S/../Reference/Inputs/random_inputs.py %t.in x=f32:8x48x64 y=f32:8x3
// RUN: st-translate --interpret --inputs=%t.in --outputs=%t.ref %s
// RUN: st-dtu-run --shuffles=3 --inputs=%t.in --outputs=%t.dtu %s
// RUN: %python %S/../Reference/Inputs/compare.py %t.ref %t.dtu 1e-5 | FileCheck %s
// CHECK: 13 tensors agree

st.mesh @mesh <["a"=2, "b"=4], micro=1>

st.program @group0 stages [0] devices [0, 1, 2, 3, 5, 6, 7, 8] first_rank 0 mesh @mesh {
  st.input @x "x" role "batch" global tensor<8x48x64xf32> slice #st.sharding<@mesh, [{"a", "b"}, {}, {}]> local tensor<1x48x64xf32> micro_dim -1
  st.input @y "y" role "batch" global tensor<8x3xf32> slice #st.sharding<@mesh, [{"a", "b"}, {}]> local tensor<1x3xf32> micro_dim -1
  st.output @sum "sum" role "metric" global tensor<48x64xf32> slice #st.sharding<@mesh, [{}, {}]> local tensor<48x64xf32>
  st.output @sum_b "sum_b" role "metric" global tensor<2x48x64xf32> slice #st.sharding<@mesh, [{"a"}, {}, {}]> local tensor<1x48x64xf32>
  st.output @small "small" role "metric" global tensor<3xf32> slice #st.sharding<@mesh, [{}]> local tensor<3xf32>
  st.output @max "max" role "metric" global tensor<4x3xf32> slice #st.sharding<@mesh, [{"b"}, {}]> local tensor<1x3xf32>
  st.output @gathered "gathered" role "metric" global tensor<8x48x64xf32> slice #st.sharding<@mesh, [{}, {}, {}]> local tensor<8x48x64xf32>
  st.output @inner "inner" role "metric" global tensor<2x48x256xf32> slice #st.sharding<@mesh, [{"a"}, {}, {}]> local tensor<1x48x256xf32>
  st.output @scattered "scattered" role "metric" global tensor<2x48x64xf32> slice #st.sharding<@mesh, [{"a"}, {}, {"b"}]> local tensor<1x48x16xf32>
  st.output @exchanged "exchanged" role "metric" global tensor<2x48x256xf32> slice #st.sharding<@mesh, [{"a"}, {"b"}, {}]> local tensor<1x12x256xf32>
  st.output @sliced "sliced" role "metric" global tensor<2x48x64xf32> slice #st.sharding<@mesh, [{"a"}, {"b"}, {}]> local tensor<1x12x64xf32>
  st.output @moved "moved" role "metric" global tensor<8x3xf32> slice #st.sharding<@mesh, [{"a", "b"}, {}]> local tensor<1x3xf32>
  st.output @turned "turned" role "metric" global tensor<8x48x64xf32> slice #st.sharding<@mesh, [{"a", "b"}, {}, {}]> local tensor<1x48x64xf32>
  st.output @places "places" role "metric" global tensor<8xi32> slice #st.sharding<@mesh, [{"a", "b"}]> local tensor<1xi32>
  st.task @forward0 forward stage 0 (%mb) {
    %x = st.read @x : tensor<1x48x64xf32>
    %y = st.read @y : tensor<1x3xf32>
    %flat = stablehlo.reshape %x : (tensor<1x48x64xf32>) -> tensor<48x64xf32>
    %sum = st.all_reduce %flat sum over ["a", "b"] of @mesh : tensor<48x64xf32>
    %sum_b = st.all_reduce %x sum over ["b"] of @mesh : tensor<1x48x64xf32>
    %thin = stablehlo.reshape %y : (tensor<1x3xf32>) -> tensor<3xf32>
    %small = st.all_reduce %thin sum over ["a", "b"] of @mesh : tensor<3xf32>
    %max = st.all_reduce %y max over ["a"] of @mesh : tensor<1x3xf32>
    %gathered = st.all_gather %x dim 0 over ["a", "b"] of @mesh : tensor<1x48x64xf32> -> tensor<8x48x64xf32>
    %inner = st.all_gather %x dim 2 over ["b"] of @mesh : tensor<1x48x64xf32> -> tensor<1x48x256xf32>
    %scattered = st.reduce_scatter %x sum dim 2 over ["b"] of @mesh : tensor<1x48x64xf32> -> tensor<1x48x16xf32>
    %exchanged = st.all_to_all %x split 1 concat 2 over ["b"] of @mesh : tensor<1x48x64xf32> -> tensor<1x12x256xf32>
    %sliced = st.all_slice %sum_b dim 1 over ["b"] of @mesh : tensor<1x48x64xf32> -> tensor<1x12x64xf32>
    %moved = st.collective_permute %y [0, 1, 1, 2, 3, 0] over ["b"] of @mesh : tensor<1x3xf32>
    %turned = st.collective_permute %x [0, 0, 1, 2, 2, 4, 3, 6, 4, 1, 5, 3, 6, 5, 7, 7] over ["a", "b"] of @mesh : tensor<1x48x64xf32>
    %a = st.axis_index "a" of @mesh : tensor<i32>
    %b = st.axis_index "b" of @mesh : tensor<i32>
    %places = st.kernel "loop" (%i = %a : tensor<i32>, %j = %b : tensor<i32>) -> tensor<1xi32> {
      %ten = stablehlo.constant dense<10> : tensor<i32>
      %0 = stablehlo.multiply %i, %ten : tensor<i32>
      %1 = stablehlo.add %0, %j : tensor<i32>
      %2 = stablehlo.reshape %1 : (tensor<i32>) -> tensor<1xi32>
      st.yield %2 : tensor<1xi32>
    }
    st.send %x to @group1 channel 3 : tensor<1x48x64xf32>
    st.write %sum to @sum : tensor<48x64xf32>
    st.write %sum_b to @sum_b : tensor<1x48x64xf32>
    st.write %small to @small : tensor<3xf32>
    st.write %max to @max : tensor<1x3xf32>
    st.write %gathered to @gathered : tensor<8x48x64xf32>
    st.write %inner to @inner : tensor<1x48x256xf32>
    st.write %scattered to @scattered : tensor<1x48x16xf32>
    st.write %exchanged to @exchanged : tensor<1x12x256xf32>
    st.write %sliced to @sliced : tensor<1x12x64xf32>
    st.write %moved to @moved : tensor<1x3xf32>
    st.write %turned to @turned : tensor<1x48x64xf32>
    st.write %places to @places : tensor<1xi32>
  }
}

st.program @group1 stages [1] devices [10, 11, 12, 13, 15, 16, 17, 18] first_rank 8 mesh @mesh {
  st.output @received "received" role "metric" global tensor<8x48x64xf32> slice #st.sharding<@mesh, [{"a", "b"}, {}, {}]> local tensor<1x48x64xf32>
  st.task @forward1 forward stage 1 (%mb) {
    %x = st.recv from @group0 channel 3 : tensor<1x48x64xf32>
    %y = st.kernel "loop" (%a = %x : tensor<1x48x64xf32>) -> tensor<1x48x64xf32> {
      %0 = stablehlo.negate %a : tensor<1x48x64xf32>
      st.yield %0 : tensor<1x48x64xf32>
    }
    st.write %y to @received : tensor<1x48x64xf32>
  }
}
