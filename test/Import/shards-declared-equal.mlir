// Shards that a computation declares equal, and that may differ: each device keeps its own, and nothing is sent. On one
// device the first shard is the value. A collective takes each device's own value.
//
// RUN: st-opt --import-shardings %s | FileCheck %s --check-prefix=IMPORT
// RUN: st-opt --import-shardings --propagate-shardings --insert-reshards --global-to-local %s | FileCheck %s --check-prefix=LOCAL

sdy.mesh @m = <["a"=4, "b"=2]>

// IMPORT-LABEL: func.func @main(
// IMPORT: %[[BODY:.+]] = stablehlo.tanh {{.*}} tensor<4x2x8xf32>
// IMPORT: %[[OWN:.+]] = st.constrain %[[BODY]] to <@mesh, [{"a"}, {}, {}]>
// IMPORT: stablehlo.slice %[[OWN]] [0:1, 0:2, 0:8] {st.copies = array<i64: 0>} : (tensor<4x2x8xf32>) -> tensor<1x2x8xf32>
// LOCAL-LABEL: func.func @main(%arg0: tensor<2x8xf32>
// LOCAL-NOT: st.all_gather
// LOCAL: stablehlo.slice {{.*}} : (tensor<1x2x8xf32>) -> tensor<1x2x8xf32>
// LOCAL-NOT: st.all_gather
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}, {}]>}) -> tensor<2x8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}, {}]>] out_shardings=[<@m, [{}, {}]>] manual_axes={"a", "b"} (%y: tensor<2x8xf32>) {
    %1 = stablehlo.tanh %y : tensor<2x8xf32>
    sdy.return %1 : tensor<2x8xf32>
  } : (tensor<8x8xf32>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}

// LOCAL-LABEL: func.func @sum(
// LOCAL: st.all_reduce {{.*}} sum over ["a"]
func.func @sum(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{}]>] out_shardings=[<@m, [{}]>] manual_axes={"a", "b"} (%y: tensor<8xf32>) {
    %1 = "stablehlo.all_reduce"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %2 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<8xf32>) -> tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
