// Arguments and results that are unreduced have a dimension of terms. A program over one device has no collectives.
// RUN: st-opt --import-shardings --split-input-file %s | FileCheck %s

// CHECK: st.mesh @mesh <["a"=2, "b"=4]
sdy.mesh @m = <["a"=2, "b"=4]>
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32> {st.sharding = #st.sharding<@mesh, [{"b"}, {"a"}]>})
// CHECK-SAME: -> (tensor<2x8xf32> {st.sharding = #st.sharding<@mesh, [{"a"}, {}]>})
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}], unreduced={"b"}>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{}], unreduced={"a"}>}) {
  // CHECK: %[[SUM:.*]] = stablehlo.reduce(%[[X]] init: %{{.*}}) applies stablehlo.add across dimensions = [0]
  // CHECK: %[[Y:.*]] = stablehlo.negate %[[SUM]]
  // CHECK: stablehlo.pad {{.*}}, low = [0, 0], high = [1, 0]
  %0 = stablehlo.negate %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// A computation on shards takes the terms of an argument, and returns those of a result.
sdy.mesh @m = <["a"=2, "b"=4]>
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32> {{.*}}) -> (tensor<4x8xf32>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}], unreduced={"b"}>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@m, [{"a"}], unreduced={"b"}>}) {
  // CHECK: %[[SPLIT:.*]] = stablehlo.reshape %[[X]] : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
  // CHECK: %[[SHARDS:.*]] = stablehlo.transpose %[[SPLIT]], dims = [1, 0, 2] : (tensor<4x2x4xf32>) -> tensor<2x4x4xf32>
  // CHECK: stablehlo.negate %{{.*}} : tensor<2x4x4xf32>
  // CHECK-NOT: stablehlo.pad
  // CHECK: %[[TERMS:.*]] = stablehlo.reshape %{{.*}} : (tensor<4x2x4xf32>) -> tensor<4x8xf32>
  // CHECK: return %[[TERMS]]
  %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}], unreduced={"b"}>] out_shardings=[<@m, [{"a"}], unreduced={"b"}>] manual_axes={"a", "b"} (%y: tensor<4xf32>) {
    %1 = stablehlo.negate %y : tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<ui32>) {
  // CHECK: %[[C:.*]] = stablehlo.constant dense<0> : tensor<ui32>
  // CHECK: return %[[X]], %[[C]]
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = stablehlo.partition_id : tensor<ui32>
  return %0, %1 : tensor<4xf32>, tensor<ui32>
}
