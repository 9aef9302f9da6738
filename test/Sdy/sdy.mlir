// RUN: st-opt %s | FileCheck %s
// RUN: st-opt %s --mlir-print-op-generic | st-opt | FileCheck %s

// CHECK: sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = []}}
sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = []}}
// CHECK: sdy.mesh @other = <["a"=2], device_ids=[1, 0]>
sdy.mesh @other = <["a"=2], device_ids=[1, 0]>

// CHECK: %arg0: tensor<8x4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {?}, {}], replicated={"x"}>}
func.func @main(%x: tensor<8x4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {?}, {}p1], replicated={"x"}>})
    -> (tensor<8x4x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", ?}p0, {}, {}], unreduced={"model"}>}) {
  // CHECK: sdy.sharding_constraint %arg0 <@mesh, [{"data", ?}, {}, {"model"}]> : tensor<8x4x2xf32>
  %0 = sdy.sharding_constraint %x <@mesh, [{"data", ?}, {}, {"model"}]> : tensor<8x4x2xf32>
  return %0 : tensor<8x4x2xf32>
}
