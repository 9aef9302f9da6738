// Messages between two devices: parts, sums and neighbours.
module attributes {mhlo.num_partitions = 2 : i32} {
  sdy.mesh @m = <["a"=2]>
  func.func @main(%x: tensor<6x4xf32>) -> (tensor<3x4xf32>, tensor<6x4xf32>, tensor<12x2xf32>) {
    %0:3 = sdy.manual_computation(%x) in_shardings=[<@m, [{"a"}, {}]>] out_shardings=[<@m, [{}, {}]>, <@m, [{"a"}, {}]>, <@m, [{"a"}, {}]>] manual_axes={"a"} (%l: tensor<3x4xf32>) {
      %sum = "stablehlo.all_reduce"(%l) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %s = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
      %moved = "stablehlo.collective_permute"(%l) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
      %parts = "stablehlo.all_to_all"(%l) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<3x4xf32>) -> tensor<6x2xf32>
      sdy.return %sum, %moved, %parts : tensor<3x4xf32>, tensor<3x4xf32>, tensor<6x2xf32>
    } : (tensor<6x4xf32>) -> (tensor<3x4xf32>, tensor<6x4xf32>, tensor<12x2xf32>)
    return %0#0, %0#1, %0#2 : tensor<3x4xf32>, tensor<6x4xf32>, tensor<12x2xf32>
  }
}
