// Messages between shards, for any number of devices: on one rank per shard, as one program on global tensors, and
// partitioned again. No bit of the data changes.
//
// RUN: st-translate --interpret %s > %t.shards
// RUN: FileCheck %s --check-prefix=VALUES --input-file=%t.shards
// RUN: st-opt --import-shardings --canonicalize %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.whole
// RUN: diff %t.shards %t.whole
// RUN: st-opt --propagate-shardings --insert-reshards --global-to-local %t.mlir -o %t.local.mlir
// RUN: st-translate --interpret %t.local.mlir > %t.parts
// RUN: diff %t.shards %t.parts
// RUN: FileCheck %s --check-prefix=LOCAL --input-file=%t.local.mlir

module attributes {mhlo.num_partitions = 8 : i32} {
  sdy.mesh @m = <["a"=2, "b"=2, "c"=2]>

  // To all along a and c, from another member of each group: one slice, without a dimension for them.
  // CHECK: %[[X:.*]] = st.constrain %{{.*}} to <@mesh, [{"a"}, {"b"}, {"c"}, {}]>
  // CHECK: %[[B:.*]] = stablehlo.transpose %[[X]], dims = [0, 2, 1, 3] : (tensor<2x2x2x2xi32>) -> tensor<2x2x2x2xi32>
  // CHECK: %[[ROWS:.*]] = stablehlo.reshape %[[B]] : (tensor<2x2x2x2xi32>) -> tensor<4x2x2xi32>
  // CHECK: stablehlo.slice %[[ROWS]] [2:3, 0:2, 0:2]
  // CHECK: st.constrain %{{.*}} to <@mesh, [{"b"}, {}]>
  // VALUES: result0 = dense<[8, 9, 8, 9, 12, 13, 12, 13, 8, 9, 8, 9, 12, 13, 12, 13]>
  //
  // Groups along no axes: a piece for each device.
  // CHECK: %[[ALL:.*]] = stablehlo.reshape %[[X]] : (tensor<2x2x2x2xi32>) -> tensor<8x2xi32>
  // CHECK: stablehlo.slice %[[ALL]] [7:8, 0:2]
  // CHECK: stablehlo.slice %[[ALL]] [5:6, 0:2]
  // VALUES: result1 = dense<[14, 15, 10, 11, 14, 15, 0, 0, 10, 11, 10, 11, 10, 11, 14, 15]>
  //
  // The value is equal at both positions of a, and keeps a's dimension. Devices send each other their parts.
  // LOCAL: st.collective_permute %{{.*}} [1, 0, 2, 1, 3, 2, 0, 3] over ["b", "c"] of @mesh : tensor<1x1x2xi32>
  // CHECK: %[[PAIRS:.*]] = stablehlo.reshape %[[X]] : (tensor<2x2x2x2xi32>) -> tensor<2x4x2xi32>
  // CHECK: %[[TURNED:.*]] = "stablehlo.gather"(%[[PAIRS]], %{{.*}})
  // CHECK: stablehlo.select %{{.*}}, %[[TURNED]], %{{.*}} : tensor<2x4x2xi1>, tensor<2x4x2xi32>
  // VALUES: result2 = dense<[2, 3, 0, 0, 6, 7, 0, 1, 10, 11, 0, 0, 14, 15, 8, 9]>
  //
  // Nothing moves, and nothing is sent.
  // CHECK-NOT: slice
  // VALUES: result3 = dense<[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]>
  // VALUES: result4 = dense<0>
  func.func @main() -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>) {
    %x = stablehlo.iota dim = 0 : tensor<16xi32>
    %0:5 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a", "b", "c"}]>] out_shardings=[<@m, [{"a", "b", "c"}]>, <@m, [{"a", "b", "c"}]>, <@m, [{"a", "b", "c"}]>, <@m, [{"a", "b", "c"}]>, <@m, [{"a", "b", "c"}]>] manual_axes={"a", "b", "c"} (%l: tensor<2xi32>) {
      %aligned = "stablehlo.collective_broadcast"(%l) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[4, 0, 1, 5], [6, 2, 3, 7]]> : tensor<2x4xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
      // Groups along no axes, of two sizes; device 3 is in none.
      %crossed = "stablehlo.collective_broadcast"(%l) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[7, 0, 2, -1], [5, 1, 4, 6]]> : tensor<2x4xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
      // Along b and c, to the others with the same a; 1 and 5 receive nothing.
      %turned = "stablehlo.collective_permute"(%l) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 3], [3, 2], [1, 0], [4, 7], [7, 6], [5, 4]]> : tensor<6x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
      %stayed = "stablehlo.collective_permute"(%l) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 0], [1, 1], [2, 2], [3, 3], [4, 4], [5, 5], [6, 6], [7, 7]]> : tensor<8x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
      %none = "stablehlo.collective_permute"(%l) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<2xi32>) -> tensor<2xi32>
      sdy.return %aligned, %crossed, %turned, %stayed, %none : tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>
    } : (tensor<16xi32>) -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>)
    return %0#0, %0#1, %0#2, %0#3, %0#4 : tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, tensor<16xi32>
  }
}
