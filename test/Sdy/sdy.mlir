// RUN: st-opt %s | FileCheck %s
// RUN: st-opt %s --mlir-print-op-generic | st-opt | FileCheck %s

// CHECK: sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = []}}
sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = []}}
// CHECK: sdy.mesh @other = <["a"=2], device_ids=[1, 0]>
sdy.mesh @other = <["a"=2], device_ids=[1, 0]>

// CHECK: %arg0: tensor<8x4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {?}, {}p1], replicated={"x"}>}
func.func @main(%x: tensor<8x4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {?}, {}p1], replicated={"x"}>})
    -> (tensor<8x4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", ?}p0, {}, {}], unreduced={"model"}>}) {
  // CHECK: sdy.sharding_constraint %arg0 <@mesh, [{"data", ?}, {}, {"model":(2)2}]> : tensor<8x4x2xf32>
  %0 = sdy.sharding_constraint %x <@mesh, [{"data", ?}, {}, {"model":(2)2}]> : tensor<8x4x2xf32>
  return %0 : tensor<8x4x2xf32>
}

// CHECK-LABEL: func.func @manual
func.func @manual(%x: tensor<8x4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: sdy.reshard %arg0 <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  %0 = sdy.reshard %x <@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  // CHECK: sdy.propagation_barrier %{{.*}} allowed_direction=NONE : tensor<8x4xf32>
  %1 = sdy.propagation_barrier %0 allowed_direction=NONE : tensor<8x4xf32>
  // CHECK: sdy.sharding_group %{{.*}} group_id=2 : tensor<8x4xf32>
  sdy.sharding_group %1 group_id=2 : tensor<8x4xf32>
  // CHECK: stablehlo.custom_call @f(%{{.*}}) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} need_replication={j}, custom>}
  %f = stablehlo.custom_call @f(%1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=4} need_replication={j}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: sdy.manual_computation(%{{.*}}, %arg1) in_shardings=[<@mesh, [{"data"}, {}]>, <@mesh, [{}], replicated={"data"}>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data"} (%arg2: tensor<4x4xf32>, %arg3: tensor<4xf32>) {
  %2 = sdy.manual_computation(%1, %y) in_shardings=[<@mesh, [{"data"}, {}]>, <@mesh, [{}], replicated={"data"}>] out_shardings=[<@mesh, [{"data"}]>] manual_axes={"data"} (%a: tensor<4x4xf32>, %b: tensor<4xf32>) {
    %3 = stablehlo.slice %b [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    // CHECK: sdy.return %{{.*}} : tensor<2xf32>
    sdy.return %3 : tensor<2xf32>
  // CHECK: } : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  } : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Shardy's output for programs that it has partitioned.
// CHECK-LABEL: func.func @partitioned
func.func @partitioned(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: stablehlo.tanh %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}]>]>}
  %t = stablehlo.tanh %x {sdy.sharding = #sdy.sharding_per_value<[#sdy.sharding<@mesh, [{"data"}, {}]>]>} : tensor<8x4xf32>
  // CHECK: sdy.all_gather [{"data"}, {}] %{{.*}} out_sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
  %0 = sdy.all_gather [{"data"}, {}] %t out_sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
  // CHECK: sdy.all_slice [{}, {"model":(1)2}] %{{.*}} out_sharding=<@mesh, [{}, {"model":(1)2}]> : tensor<8x4xf32>
  %1 = sdy.all_slice [{}, {"model":(1)2}] %0 out_sharding=<@mesh, [{}, {"model":(1)2}]> : tensor<8x4xf32>
  // CHECK: sdy.all_to_all [{"model":(1)2}: 1->0] %{{.*}} out_sharding=<@mesh, [{"model":(1)2}, {}]> : tensor<8x4xf32>
  %2 = sdy.all_to_all [{"model":(1)2}: 1->0] %1 out_sharding=<@mesh, [{"model":(1)2}, {}]> : tensor<8x4xf32>
  // CHECK: sdy.collective_permute %{{.*}} out_sharding=<@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  %3 = sdy.collective_permute %2 out_sharding=<@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  // CHECK: sdy.all_reduce {"model"} %{{.*}} out_sharding=<@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  %4 = sdy.all_reduce {"model"} %3 out_sharding=<@mesh, [{"data"}, {}]> : tensor<8x4xf32>
  // CHECK: sdy.reduce_scatter [{}, {"model"}] %{{.*}} out_sharding=<@mesh, [{"data"}, {"model"}]> : tensor<8x4xf32>
  %5 = sdy.reduce_scatter [{}, {"model"}] %4 out_sharding=<@mesh, [{"data"}, {"model"}]> : tensor<8x4xf32>
  // CHECK: sdy.replicated_to_unreduced {"model":(1)2} %{{.*}} out_sharding=<@mesh, [{"data"}, {}], unreduced={"model":(1)2}> : tensor<8x4xf32>
  %r = sdy.replicated_to_unreduced {"model":(1)2} %4 out_sharding=<@mesh, [{"data"}, {}], unreduced={"model":(1)2}> : tensor<8x4xf32>
  // CHECK: sdy.sharded_to_unreduced [{}, {"model"}] %{{.*}} out_sharding=<@mesh, [{"data"}, {}], unreduced={"model"}> : tensor<8x4xf32>
  %s = sdy.sharded_to_unreduced [{}, {"model"}] %5 out_sharding=<@mesh, [{"data"}, {}], unreduced={"model"}> : tensor<8x4xf32>
  // CHECK: sdy.constant dense<1.000000e+00> : tensor<8x4xf32>
  %c = sdy.constant dense<1.0> : tensor<8x4xf32>
  %6 = stablehlo.add %5, %c : tensor<8x4xf32>
  return %6 : tensor<8x4xf32>
}

// The generic form as Shardy prints it: axes are attributes.
// CHECK-LABEL: func.func @generic
func.func @generic(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK: sdy.all_gather [{"data", "model":(2)2}, {}] %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
  %0 = "sdy.all_gather"(%x) <{gathering_axes = #sdy<list_of_axis_ref_lists[{"data", "model":(2)2}, {}]>, out_sharding = #sdy.sharding<@mesh, [{}, {}]>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: sdy.all_reduce {"model"} %{{.*}} out_sharding=<@mesh, [{}, {}]> : tensor<8x4xf32>
  %1 = "sdy.all_reduce"(%0) <{out_sharding = #sdy.sharding<@mesh, [{}, {}]>, reduction_axes = #sdy<axis_ref_list{"model"}>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: sdy.all_to_all [{"data"}: 0->1, {"model"}: 1->0] %{{.*}} out_sharding=<@mesh, [{"model"}, {"data"}]> : tensor<8x4xf32>
  %2 = "sdy.all_to_all"(%1) <{out_sharding = #sdy.sharding<@mesh, [{"model"}, {"data"}]>, params = #sdy<all_to_all_param_list[{"data"}: 0->1, {"model"}: 1->0]>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: sdy.propagation_barrier %{{.*}} allowed_direction=BACKWARD : tensor<8x4xf32>
  %3 = "sdy.propagation_barrier"(%2) <{allowed_direction = 2 : i32}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %3 : tensor<8x4xf32>
}
