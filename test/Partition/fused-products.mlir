// If one product computes several values that later ops slice, its weight is split within each of these values. The
// weight's state has the same layout. If shards do not divide a block, the weight is in contiguous parts.
//
// RUN: split-file %s %t
// RUN: st-opt --apply-parallel-config=config=%t/four.json %t/halves.mlir | FileCheck %s --check-prefix=HALVES
// RUN: st-opt --apply-parallel-config=config=%t/four.json %t/thirds.mlir | FileCheck %s --check-prefix=THIRDS
// RUN: st-opt --apply-parallel-config=config=%t/four.json %t/heads.mlir | FileCheck %s --check-prefix=HEADS
// RUN: st-opt --apply-parallel-config=config=%t/five.json %t/halves.mlir | FileCheck %s --check-prefix=FIVE

// The two halves of a gated perceptron, with a bias, and the following weight.
// HALVES: st.name = "in"{{[^%]*}}#st.sharding<@mesh, [{}, {2, "tensor"}]>
// HALVES-SAME: st.name = "bias"{{[^%]*}}#st.sharding<@mesh, [{2, "tensor"}]>
// HALVES-SAME: st.name = "out"{{[^%]*}}#st.sharding<@mesh, [{"tensor"}, {}]>

// Five shards do not divide a half of 8: contiguous parts, with padding.
// FIVE: st.name = "in"{{[^%]*}}#st.sharding<@mesh, [{}, {"tensor"}]>

// A separate dimension for queries, keys and values, each of which is one index.
// THIRDS: st.name = "qkv"{{[^%]*}}#st.sharding<@mesh, [{}, {3, "tensor"}]>

// Queries, keys and values of one head are adjacent: heads are contiguous.
// HEADS: st.name = "qkv"{{[^%]*}}#st.sharding<@mesh, [{}, {"tensor"}]>

//--- four.json
{"mode": "sharding", "data": 1, "sharding_size": 4, "sharding_dim": "megatron"}
//--- five.json
{"mode": "sharding", "data": 1, "sharding_size": 5, "sharding_dim": "megatron"}
//--- halves.mlir
func.func @main(%x: tensor<2x4xf32> {st.name = "x", st.role = "batch"},
                %in: tensor<4x16xf32> {st.name = "in", st.role = "parameter"},
                %bias: tensor<16xf32> {st.name = "bias", st.role = "parameter"},
                %out: tensor<8x4xf32> {st.name = "out", st.role = "parameter"})
    -> (tensor<2x4xf32> {st.name = "y", st.role = "metric"}) {
  %0 = stablehlo.dot_general %x, %in, contracting_dims = [1] x [0] : (tensor<2x4xf32>, tensor<4x16xf32>) -> tensor<2x16xf32>
  %1 = stablehlo.broadcast_in_dim %bias, dims = [1] : (tensor<16xf32>) -> tensor<2x16xf32>
  %2 = stablehlo.add %0, %1 : tensor<2x16xf32>
  %3 = stablehlo.slice %2 [0:2, 0:8] : (tensor<2x16xf32>) -> tensor<2x8xf32>
  %4 = stablehlo.slice %2 [0:2, 8:16] : (tensor<2x16xf32>) -> tensor<2x8xf32>
  %5 = stablehlo.logistic %3 : tensor<2x8xf32>
  %6 = stablehlo.multiply %5, %4 : tensor<2x8xf32>
  %7 = stablehlo.dot_general %6, %out, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %7 : tensor<2x4xf32>
}
//--- thirds.mlir
func.func @main(%x: tensor<2x8xf32> {st.name = "x", st.role = "batch"},
                %qkv: tensor<8x24xf32> {st.name = "qkv", st.role = "parameter"})
    -> (tensor<2x4x2xf32> {st.name = "y", st.role = "metric"}) {
  %0 = stablehlo.dot_general %x, %qkv, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x24xf32>) -> tensor<2x24xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x24xf32>) -> tensor<2x3x4x2xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0, 2, 3] : (tensor<2x3x4x2xf32>) -> tensor<3x2x4x2xf32>
  %3 = stablehlo.slice %2 [0:1, 0:2, 0:4, 0:2] : (tensor<3x2x4x2xf32>) -> tensor<1x2x4x2xf32>
  %4 = stablehlo.slice %2 [2:3, 0:2, 0:4, 0:2] : (tensor<3x2x4x2xf32>) -> tensor<1x2x4x2xf32>
  %5 = stablehlo.multiply %3, %4 : tensor<1x2x4x2xf32>
  %6 = stablehlo.reshape %5 : (tensor<1x2x4x2xf32>) -> tensor<2x4x2xf32>
  return %6 : tensor<2x4x2xf32>
}
//--- heads.mlir
func.func @main(%x: tensor<2x8xf32> {st.name = "x", st.role = "batch"},
                %qkv: tensor<8x24xf32> {st.name = "qkv", st.role = "parameter"})
    -> (tensor<2x4x1x2xf32> {st.name = "y", st.role = "metric"}) {
  %0 = stablehlo.dot_general %x, %qkv, contracting_dims = [1] x [0] : (tensor<2x8xf32>, tensor<8x24xf32>) -> tensor<2x24xf32>
  %1 = stablehlo.reshape %0 : (tensor<2x24xf32>) -> tensor<2x4x3x2xf32>
  %2 = stablehlo.slice %1 [0:2, 0:4, 0:1, 0:2] : (tensor<2x4x3x2xf32>) -> tensor<2x4x1x2xf32>
  %3 = stablehlo.slice %1 [0:2, 0:4, 1:2, 0:2] : (tensor<2x4x3x2xf32>) -> tensor<2x4x1x2xf32>
  %4 = stablehlo.multiply %2, %3 : tensor<2x4x1x2xf32>
  return %4 : tensor<2x4x1x2xf32>
}
