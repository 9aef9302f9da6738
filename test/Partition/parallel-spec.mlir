// Seeds from the parallel file's other keys: splits as in Megatron-LM, rules, sequences, ZeRO.
//
// RUN: split-file %s %t
// RUN: st-opt --apply-parallel-config=config=%t/megatron.json %t/step.mlir | FileCheck %s --check-prefix=MEGATRON
// RUN: st-opt --apply-parallel-config=config=%t/sequence.json %t/step.mlir | FileCheck %s --check-prefix=SEQUENCE
// RUN: st-opt --apply-parallel-config=config=%t/rules.json %t/step.mlir | FileCheck %s --check-prefix=RULES
// RUN: st-opt --apply-parallel-config=config=%t/zero2.json %t/step.mlir | FileCheck %s --check-prefix=ZERO2
// RUN: st-opt --apply-parallel-config=config=%t/zero3.json %t/step.mlir | FileCheck %s --check-prefix=ZERO3

// Rows of the table; the first weight's output with its bias, the second's contracted dimension.
// MEGATRON: st.name = "table"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>
// MEGATRON-SAME: st.name = "up.weight"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>
// MEGATRON-SAME: st.name = "up.bias"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"tensor"}]>
// MEGATRON-SAME: st.name = "down.weight"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>
// MEGATRON-SAME: st.name = "down.bias"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{}]>
// MEGATRON-SAME: st.name = "up.weight.momentum"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>
// MEGATRON-NOT: st.constrain

// The sums of the lookup and the second product are scattered along the sequence, and nothing else.
// SEQUENCE: %[[ROWS:.*]] = "stablehlo.gather"
// SEQUENCE-NEXT: st.constrain %[[ROWS]] to <@mesh, [{"data"}, {"tensor"}, {}]> {st.block = 0 : i64}
// SEQUENCE-NOT: st.constrain
// SEQUENCE: %[[DOWN:.*]] = stablehlo.dot_general {{.*}} -> tensor<4x6x16xf32>
// SEQUENCE-NEXT: st.constrain %[[DOWN]] to <@mesh, [{"data"}, {"tensor"}, {}]>
// SEQUENCE-NOT: st.constrain

// A rule precedes the split, and the other weights follow it.
// RULES: st.name = "table"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{}, {}]>
// RULES-SAME: st.name = "up.weight"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>
// RULES-SAME: st.name = "up.bias"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{}]>
// RULES-SAME: st.name = "down.weight"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>
// RULES-SAME: st.name = "up.weight.momentum"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>

// A later pass reads the size of buckets; without the key it uses its default.
// ZERO2: module attributes {st.bucket_bytes = 1048576 : i64,
// ZERO3-NOT: st.bucket_bytes

// Level 2: the gradient is sharded, and its sum over micro-batches stays unreduced.
// ZERO2: st.name = "up.weight", {{[^%]*}}st.sharding = #st.sharding<@mesh, [{}, {}]>
// ZERO2-SAME: st.name = "up.weight.momentum"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"data"}, {}]>
// ZERO2: %[[G:.*]] = stablehlo.dot_general {{.*}} -> tensor<32x16xf32>
// ZERO2-NEXT: %[[SCATTERED:.*]] = st.constrain %[[G]] to <@mesh, [{"data"}, {}], unreduced = sum ["micro"]>
// ZERO2: stablehlo.add %arg5, %[[SCATTERED]]

// Level 3: so is the parameter. It is gathered before its use, and the update uses the shards.
// ZERO3: st.name = "up.weight", {{[^%]*}}st.sharding = #st.sharding<@mesh, [{"data"}, {}]>
// ZERO3: %[[WHOLE:.*]] = st.constrain %arg1 to <@mesh, [{}, {}]>
// ZERO3-NEXT: stablehlo.dot_general %{{.*}}, %[[WHOLE]]
// ZERO3: stablehlo.subtract %arg1

//--- step.mlir
func.func @main(
    %table: tensor<8x16xf32> {st.name = "table", st.role = "parameter"},
    %up: tensor<32x16xf32> {st.name = "up.weight", st.role = "parameter", tf.aliasing_output = 1 : i32},
    %up_bias: tensor<32xf32> {st.name = "up.bias", st.role = "parameter"},
    %down: tensor<16x32xf32> {st.name = "down.weight", st.role = "parameter"},
    %down_bias: tensor<16xf32> {st.name = "down.bias", st.role = "parameter"},
    %m: tensor<32x16xf32> {st.name = "up.weight.momentum", st.role = "optimizer_state", st.of = "up.weight", tf.aliasing_output = 2 : i32},
    %ids: tensor<4x6xi32> {st.name = "ids", st.role = "batch"})
    -> (tensor<f32> {st.role = "loss"}, tensor<32x16xf32> {st.name = "up.weight", st.role = "parameter"},
        tensor<32x16xf32> {st.name = "up.weight.momentum", st.role = "optimizer_state"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %i = stablehlo.reshape %ids : (tensor<4x6xi32>) -> tensor<4x6x1xi32>
  %0 = "stablehlo.gather"(%table, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 16>}> {st.block = 0 : i64}
       : (tensor<8x16xf32>, tensor<4x6x1xi32>) -> tensor<4x6x16xf32>
  %1 = stablehlo.dot_general %0, %up, contracting_dims = [2] x [1] : (tensor<4x6x16xf32>, tensor<32x16xf32>) -> tensor<4x6x32xf32>
  %2 = stablehlo.broadcast_in_dim %up_bias, dims = [2] : (tensor<32xf32>) -> tensor<4x6x32xf32>
  %3 = stablehlo.add %1, %2 : tensor<4x6x32xf32>
  %4 = stablehlo.tanh %3 : tensor<4x6x32xf32>
  %5 = stablehlo.dot_general %4, %down, contracting_dims = [2] x [1] : (tensor<4x6x32xf32>, tensor<16x32xf32>) -> tensor<4x6x16xf32>
  %6 = stablehlo.broadcast_in_dim %down_bias, dims = [2] : (tensor<16xf32>) -> tensor<4x6x16xf32>
  %7 = stablehlo.add %5, %6 : tensor<4x6x16xf32>
  %8 = stablehlo.add %0, %7 : tensor<4x6x16xf32>
  %loss = stablehlo.reduce(%8 init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<4x6x16xf32>, tensor<f32>) -> tensor<f32>
  %g = stablehlo.dot_general %4, %0, contracting_dims = [0, 1] x [0, 1] : (tensor<4x6x32xf32>, tensor<4x6x16xf32>) -> tensor<32x16xf32>
  %new_m = stablehlo.add %m, %g : tensor<32x16xf32>
  %new_up = stablehlo.subtract %up, %new_m : tensor<32x16xf32>
  return %loss, %new_up, %new_m : tensor<f32>, tensor<32x16xf32>, tensor<32x16xf32>
}
//--- megatron.json
{"mode": "sharding", "data": 1, "sharding_size": 2, "sharding_dim": "megatron"}
//--- sequence.json
{"mode": "sharding", "data": 2, "sharding_size": 2, "sharding_dim": "megatron", "sequence_parallel": true}
//--- rules.json
{"mode": "sharding", "data": 1, "sharding_size": 2, "sharding_dim": "megatron",
 "parameters": {"up.weight": [null, "tensor"], "tab*": []}}
//--- zero2.json
{"mode": "sharding", "data": 2, "accum_degree": 2, "zero": 2, "bucket_bytes": 1048576}
//--- zero3.json
{"mode": "sharding", "data": 2, "zero": 3}
