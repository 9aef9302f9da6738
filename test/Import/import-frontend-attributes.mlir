// RUN: st-opt %s --split-input-file --import-shardings | FileCheck %s

// Shardy's annotations in HLO: meshes and shardings as attributes, its ops as custom calls.
// CHECK-LABEL: module {
// CHECK: st.mesh @mesh <["a"=2, "b"=4], micro=1>
// CHECK: func.func @main(%arg0: tensor<8x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>}
// CHECK: st.constrain %{{.*}} to <@mesh, [{}, {"b"}]>
// CHECK: st.constrain %{{.*}} to <@mesh, [{?}, {?}]> group 0
// CHECK: st.constrain %{{.*}} to <@mesh, [{?}, {?}]> direction{{ +}}none
// CHECK: st.constrain %{{.*}} to <@mesh, [{"b"}, {}]>
// CHECK-NOT: custom_call
module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22a\22=2, \22b\22=4]>}"}} {
  func.func @main(%x: tensor<8x8xf32> {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\22a\22}, {}]>"}, mhlo.sharding = "{devices=[2,1,4]<=[8] last_tile_dim_replicate}"}) -> (tensor<8x8xf32> {mhlo.sharding = "{replicated}"}) {
    %0 = stablehlo.custom_call @Sharding(%x) {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{}, {\22b\22}]>]>"}, mhlo.sharding = "{devices=[1,4,2]<=[2,4]T(1,0) last_tile_dim_replicate}"} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    stablehlo.custom_call @xla.sdy.ShardingGroup(%0) {has_side_effect = true, mhlo.frontend_attributes = {xla.sdy.sharding_group_id = "0 : i64"}} : (tensor<8x8xf32>) -> ()
    %1 = stablehlo.custom_call @xla.sdy.PropagationBarrier(%0) {mhlo.frontend_attributes = {xla.sdy.allowed_direction = "0 : i32"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %2 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%1) {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding_per_value<[<@mesh, [{\22b\22}, {}]>]>"}} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %2 : tensor<8x8xf32>
  }
}

// -----

// A computation on shards: a call of its body, between calls that convert global tensors to shards and back.
// CHECK-LABEL: module {
// CHECK: %[[X:.*]] = stablehlo.reshape %arg0 : (tensor<8x8xf32>) -> tensor<2x4x8xf32>
// CHECK: %[[S:.*]] = st.constrain %[[X]] to <@mesh, [{"a"}, {}, {}]>
// CHECK: stablehlo.reduce(%[[S]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
// CHECK-NOT: custom_call
module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22a\22=2]>}"}} {
  func.func private @xla.sdy.manual_computation_body(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = "stablehlo.all_reduce"(%x) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @main(%x: tensor<8x8xf32>) -> tensor<4x8xf32> {
    %0 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%x) {mhlo.frontend_attributes = {xla.sdy.in_shardings = "#sdy.sharding_per_value<[<@mesh, [{\22a\22}, {}]>]>", xla.sdy.manual_axes = "#sdy<manual_axes{\22a\22}>"}} : (tensor<8x8xf32>) -> tensor<4x8xf32>
    %1 = call @xla.sdy.manual_computation_body(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.custom_call @xla.sdy.LocalToGlobalShape(%1) {mhlo.frontend_attributes = {xla.sdy.manual_axes = "#sdy<manual_axes{\22a\22}>", xla.sdy.out_shardings = "#sdy.sharding_per_value<[<@mesh, [{}, {}]>]>"}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %2 : tensor<4x8xf32>
  }
}
