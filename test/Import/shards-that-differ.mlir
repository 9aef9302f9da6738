// Loops, branches and ops whose operands differ between shards: on one rank per shard, and as one program on global
// tensors.
//
// RUN: st-translate --interpret %s > %t.shards
// RUN: st-opt --import-shardings --canonicalize %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: st-translate --interpret %t.mlir > %t.whole
// RUN: diff %t.shards %t.whole

module attributes {mhlo.num_partitions = 4 : i32} {
  // Two meshes over the same devices become one mesh with finer axes.
  // CHECK: st.mesh @mesh <["axis0"=2, "axis1"=2], micro=1>
  sdy.mesh @m = <["a"=4]>
  sdy.mesh @n = <["a"=2, "b"=2]>

  // All shards compute both branches.
  // CHECK-NOT: stablehlo.case
  // All shards continue until the last one ends.
  // CHECK: stablehlo.while
  // CHECK: stablehlo.reduce({{.*}}) applies stablehlo.or
  // A convolution with one kernel has a larger batch, one with kernels of the shards groups of features.
  // CHECK: stablehlo.convolution{{.*}}feature_group_count = 1
  // CHECK: stablehlo.convolution{{.*}}feature_group_count = 4
  func.func @main() -> (tensor<16xf32>, tensor<16xf32>, tensor<16xui32>, tensor<16xf32>, tensor<16xf32>, tensor<24xf32>, tensor<16xf32>, tensor<16xf32>) {
    %x = stablehlo.iota dim = 0 : tensor<16xf32>
    %0:7 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}]>] out_shardings=[<@m, [{"a"}]>, <@m, [{"a"}]>, <@m, [{"a"}]>, <@m, [{"a"}]>, <@m, [{"a"}]>, <@m, [{"a"}]>, <@m, [{"a"}]>] manual_axes={"a"} (%y: tensor<4xf32>) {
      %first = stablehlo.slice %y [0:1] : (tensor<4xf32>) -> tensor<1xf32>
      %own = stablehlo.reshape %first : (tensor<1xf32>) -> tensor<f32>
      %index = stablehlo.convert %own : (tensor<f32>) -> tensor<i32>
      %four = stablehlo.constant dense<4> : tensor<i32>
      %shard = stablehlo.divide %index, %four : tensor<i32>
      %chosen = "stablehlo.case"(%shard) ({
        stablehlo.return %y : tensor<4xf32>
      }, {
        %p = stablehlo.add %y, %y : tensor<4xf32>
        stablehlo.return %p : tensor<4xf32>
      }, {
        %p = stablehlo.negate %y : tensor<4xf32>
        stablehlo.return %p : tensor<4xf32>
      }) : (tensor<i32>) -> tensor<4xf32>
      %limit = stablehlo.constant dense<100.0> : tensor<f32>
      %doubled = stablehlo.while(%v = %y) : tensor<4xf32>
      cond {
        %s = stablehlo.slice %v [3:4] : (tensor<4xf32>) -> tensor<1xf32>
        %r = stablehlo.reshape %s : (tensor<1xf32>) -> tensor<f32>
        %c = stablehlo.compare LT, %r, %limit, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %w = stablehlo.add %v, %v : tensor<4xf32>
        stablehlo.return %w : tensor<4xf32>
      }
      %bits = stablehlo.bitcast_convert %y : (tensor<4xf32>) -> tensor<4xui32>
      %image = stablehlo.reshape %y : (tensor<4xf32>) -> tensor<1x1x4xf32>
      %kernel = stablehlo.constant dense<[[[1.0, 2.0, 3.0]]]> : tensor<1x1x3xf32>
      %smooth = stablehlo.convolution(%image, %kernel) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x4xf32>, tensor<1x1x3xf32>) -> tensor<1x1x4xf32>
      %flat = stablehlo.reshape %smooth : (tensor<1x1x4xf32>) -> tensor<4xf32>
      %part = stablehlo.slice %image [0:1, 0:1, 0:3] : (tensor<1x1x4xf32>) -> tensor<1x1x3xf32>
      %crossed = stablehlo.convolution(%image, %part) dim_numbers = [b, f, 0]x[o, i, 0]->[b, f, 0], window = {stride = [1], pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x1x4xf32>, tensor<1x1x3xf32>) -> tensor<1x1x4xf32>
      %line = stablehlo.reshape %crossed : (tensor<1x1x4xf32>) -> tensor<4xf32>
      %padded = stablehlo.pad %y, %own, low = [1], high = [1], interior = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<6xf32>
      // The groups are of devices 0 and 3, and of 1 and 2.
      %sum = "stablehlo.all_reduce"(%y) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %s = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      sdy.return %chosen, %doubled, %bits, %flat, %line, %padded, %sum : tensor<4xf32>, tensor<4xf32>, tensor<4xui32>, tensor<4xf32>, tensor<4xf32>, tensor<6xf32>, tensor<4xf32>
    } : (tensor<16xf32>) -> (tensor<16xf32>, tensor<16xf32>, tensor<16xui32>, tensor<16xf32>, tensor<16xf32>, tensor<24xf32>, tensor<16xf32>)
    %1 = sdy.sharding_constraint %x <@n, [{"b"}]> : tensor<16xf32>
    return %0#0, %0#1, %0#2, %0#3, %0#4, %0#5, %0#6, %1 : tensor<16xf32>, tensor<16xf32>, tensor<16xui32>, tensor<16xf32>, tensor<16xf32>, tensor<24xf32>, tensor<16xf32>, tensor<16xf32>
  }
}
