// RUN: st-opt %s --import-shardings --canonicalize | FileCheck %s

// Computations on shards: one dimension for each axis along which shards differ.
module attributes {mhlo.num_partitions = 4 : i32} {
  sdy.mesh @m = <["a"=2, "b"=2]>

  // CHECK-LABEL: func.func @product
  // CHECK: %[[X:.*]] = stablehlo.transpose %{{.*}}, dims = [1, 0, 2] : (tensor<8x2x4xf32>) -> tensor<2x8x4xf32>
  // CHECK: %[[XS:.*]] = st.constrain %[[X]] to <@mesh, [{"b"}, {}, {}]>
  // CHECK: %[[W:.*]] = stablehlo.reshape %arg1 : (tensor<8x4xf32>) -> tensor<2x4x4xf32>
  // CHECK: %[[WS:.*]] = st.constrain %[[W]] to <@mesh, [{"b"}, {}, {}]>
  // CHECK: %[[P:.*]] = stablehlo.dot_general %[[XS]], %[[WS]], batching_dims = [0] x [0], contracting_dims = [2] x [1]
  // CHECK: stablehlo.reduce(%[[P]] init: %{{.*}}) applies stablehlo.add across dimensions = [0] : (tensor<2x8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
  // CHECK-NOT: slice
  // CHECK: st.constrain %{{.*}} to <@mesh, [{}, {}]> : tensor<8x4xf32>
  func.func @product(%x: tensor<8x8xf32>, %w: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.manual_computation(%x, %w) in_shardings=[<@m, [{}, {"b"}]>, <@m, [{"b"}, {}]>] out_shardings=[<@m, [{}, {}]>] manual_axes={"a", "b"} (%l: tensor<8x4xf32>, %r: tensor<4x4xf32>) {
      %1 = stablehlo.dot_general %l, %r, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %s = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<8x4xf32>) -> tensor<8x4xf32>
      sdy.return %2 : tensor<8x4xf32>
    } : (tensor<8x8xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }

  // A ring along "a" is a permutation of its parts.
  // CHECK-LABEL: func.func @ring
  // CHECK: %[[ORDER:.*]] = stablehlo.constant dense<[1, 0]> : tensor<2xi32>
  // CHECK: "stablehlo.gather"(%{{.*}}, %[[ORDER]]) {{.*}} : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
  // CHECK: st.constrain %{{.*}} to <@mesh, [{"a"}]> : tensor<8xf32>
  func.func @ring(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>] manual_axes={"a", "b"} (%l: tensor<4xf32>) {
      %1 = "stablehlo.collective_permute"(%l) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3], [2, 0], [3, 1]]> : tensor<4x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
      sdy.return %1 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }

  // The position along "b" as JAX writes it, and a slice at it.
  // CHECK-LABEL: func.func @position
  // CHECK: stablehlo.iota dim = 0 : tensor<2xui32>
  // CHECK: "stablehlo.gather"{{.*}}operand_batching_dims = [0], start_indices_batching_dims = [0]
  func.func @position(%x: tensor<8xf32>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{}]>] out_shardings=[<@m, [{"b"}]>] manual_axes={"a", "b"} (%l: tensor<8xf32>) {
      %one = stablehlo.constant dense<1> : tensor<ui32>
      %two = stablehlo.constant dense<2> : tensor<ui32>
      %id = stablehlo.partition_id : tensor<ui32>
      %1 = stablehlo.divide %id, %one : tensor<ui32>
      %2 = stablehlo.remainder %1, %two : tensor<ui32>
      %3 = stablehlo.dynamic_slice %l, %2, sizes = [4] : (tensor<8xf32>, tensor<ui32>) -> tensor<4xf32>
      sdy.return %3 : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }

  // Only the second shard along "a" calls.
  // CHECK-LABEL: func.func @some_call
  // CHECK: %[[TAKES:.*]] = stablehlo.reshape %{{.*}} : (tensor<1xi1>) -> tensor<i1>
  // CHECK: "stablehlo.if"(%[[TAKES]])
  // CHECK-NEXT: stablehlo.custom_call @call
  // CHECK-COUNT-3: stablehlo.custom_call @call
  func.func @some_call(%x: tensor<8xf32>) {
    sdy.manual_computation(%x) in_shardings=[<@m, [{"a", "b"}]>] out_shardings=[] manual_axes={"a", "b"} (%l: tensor<2xf32>) {
      %two = stablehlo.constant dense<2> : tensor<ui32>
      %id = stablehlo.partition_id : tensor<ui32>
      %1 = stablehlo.divide %id, %two : tensor<ui32>
      %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
      "stablehlo.case"(%2) ({
        stablehlo.return
      }, {
        stablehlo.custom_call @call(%l) {has_side_effect = true} : (tensor<2xf32>) -> ()
        stablehlo.return
      }) : (tensor<i32>) -> ()
      sdy.return
    } : (tensor<8xf32>) -> ()
    return
  }

  // The free axis "b" may shard the dimensions that are open.
  // CHECK-LABEL: func.func @half
  // CHECK: st.constrain %{{.*}} to <@mesh, [{"a"}, {?}, {?}]> : tensor<2x4x4xf32>
  // CHECK: st.constrain %{{.*}} to <@mesh, [{"a", ?}, {?}]> : tensor<8x4xf32>
  func.func @half(%x: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a", ?}, {?}]>] out_shardings=[<@m, [{"a", ?}, {?}]>] manual_axes={"a"} (%l: tensor<4x4xf32>) {
      %1 = stablehlo.multiply %l, %l : tensor<4x4xf32>
      sdy.return %1 : tensor<4x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
