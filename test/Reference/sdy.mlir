// Shardy's output for a program that it has partitioned computes the same as the program.
// RUN: st-translate --interpret %s

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @main() {
  %x = sdy.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %0 = sdy.all_slice [{"x"}, {"y"}] %x out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<2x2xf32>
  %1 = sdy.all_gather [{}, {"y"}] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<2x2xf32>
  %2 = sdy.all_to_all [{"x"}: 0->1] %1 out_sharding=<@mesh, [{}, {"x"}]> : tensor<2x2xf32>
  %3 = sdy.collective_permute %2 out_sharding=<@mesh, [{}, {"y"}]> : tensor<2x2xf32>
  %4 = stablehlo.dot_general %3, %3, contracting_dims = [1] x [0] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %5 = sdy.all_reduce {"y"} %4 out_sharding=<@mesh, [{}, {}]> : tensor<2x2xf32>
  %6 = sdy.reduce_scatter [{"x"}, {}] %5 out_sharding=<@mesh, [{"x"}, {}]> : tensor<2x2xf32>
  %expected = stablehlo.constant dense<[[7.0, 10.0], [15.0, 22.0]]> : tensor<2x2xf32>
  %7 = sdy.sharded_to_unreduced [{"x"}, {}] %6 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<2x2xf32>
  %8 = sdy.all_reduce {"x"} %7 out_sharding=<@mesh, [{}, {}]> : tensor<2x2xf32>
  %9 = sdy.replicated_to_unreduced {"y"} %8 out_sharding=<@mesh, [{}, {}], unreduced={"y"}> : tensor<2x2xf32>
  stablehlo.custom_call @check.expect_eq(%9, %expected) : (tensor<2x2xf32>, tensor<2x2xf32>) -> ()
  return
}
