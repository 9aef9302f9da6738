// RUN: split-file %s %t
// RUN: st-opt --apply-parallel-config %t/step.mlir | FileCheck %s --check-prefix=ONE
// RUN: st-opt --apply-parallel-config=config=%t/output.json %t/step.mlir 2>%t/output.err | FileCheck %s --check-prefix=OUTPUT
// RUN: FileCheck %s --check-prefix=NOTE --input-file=%t/output.err
// RUN: st-opt --apply-parallel-config=config=%t/contraction.json %t/step.mlir 2>%t/contraction.err | FileCheck %s --check-prefix=CONTRACTION
// RUN: FileCheck %s --check-prefix=WARN --input-file=%t/contraction.err
// RUN: st-opt --apply-parallel-config="config=%t/contraction.json schedule=gpipe" %t/step.mlir 2>/dev/null | FileCheck %s --check-prefix=GPIPE
// RUN: st-opt --apply-parallel-config=config=%t/shared.json %t/step.mlir 2>/dev/null | FileCheck %s --check-prefix=SHARED
// RUN: st-opt --apply-parallel-config=config=%t/replicas.json %t/step.mlir 2>/dev/null | FileCheck %s --check-prefix=REPLICAS
// RUN: st-opt --apply-parallel-config=config=%t/named.json %t/step.mlir 2>/dev/null | FileCheck %s --check-prefix=NAMED

// Without a file: one device.
// ONE: module attributes {st.devices = [array<i64: 0>], st.micro_batches = 1 : i64, st.schedule = "sequential", st.stages = 1 : i64}
// ONE: st.mesh @mesh <["tensor"=1], micro=1>
// ONE: st.name = "linear.weight"{{.*}}st.sharding = #st.sharding<@mesh, [{}, {}]>

// The output dimension: rows of an [out, in] weight, columns of an [in, out] one, the hidden size of a
// table, vectors. Dimensions with fewer elements than shards stay unsharded; state follows its parameter.
// OUTPUT: st.devices = [array<i64: 0, 1, 2, 3>, array<i64: 5, 6, 7, 8>], st.micro_batches = 2 : i64, st.schedule = "sequential", st.stages = 2 : i64
// OUTPUT: st.mesh @mesh <["tensor"=4], micro=2>
// OUTPUT: st.name = "table"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>
// OUTPUT-SAME: st.name = "linear.weight"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>
// OUTPUT-SAME: st.name = "linear.bias"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"tensor"}]>
// OUTPUT-SAME: st.name = "conv.weight"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>
// OUTPUT-SAME: st.name = "head.weight"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{}, {}]>
// OUTPUT-SAME: st.name = "linear.weight.momentum"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>
// OUTPUT-SAME: st.name = "ids"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"micro"}, {}]>
// OUTPUT-SAME: st.name = "learning_rate"{{[^%]*}}st.sharding = #st.sharding<@mesh, []>
// NOTE: output.json:7:3: remark: 4 shards are more than the elements of the sharded dimension of some parameters, which are replicated: head.weight

// The contracted dimension, and never a vector. GPU names; the mapping wins over the scalars.
// CONTRACTION: st.devices = [array<i64: 0, 0>, array<i64: 1, 1>, array<i64: 2, 2>], st.micro_batches = 4 : i64, st.schedule = "1f1b", st.stages = 3 : i64
// CONTRACTION: st.name = "table"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>
// CONTRACTION-SAME: st.name = "linear.weight"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{}, {"tensor"}]>
// CONTRACTION-SAME: st.name = "linear.bias"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{}]>
// CONTRACTION-SAME: st.name = "conv.weight"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>
// WARN: contraction.json:3:3: warning: sharding_size is 4, but device_mapping has 2 shards a stage; using the mapping
// WARN: contraction.json:5:3: warning: stage_cnt is 1, but device_mapping has 3 stages; using the mapping
// GPIPE: st.schedule = "gpipe"

// Shards of a stage may share a device, a cluster as well as a GPU.
// SHARED: st.devices = [array<i64: 0, 0, 1, 1>, array<i64: 5, 6, 5, 6>]

// Replicas: the batch goes to micro-batches, then to replicas; devices are numbered shards first.
// REPLICAS: st.devices = [array<i64: 0, 1, 2, 3>, array<i64: 5, 6, 7, 8>], st.micro_batches = 2 : i64, st.schedule = "gpipe", st.stages = 2 : i64
// REPLICAS: st.mesh @mesh <["data"=2, "tensor"=2], micro=2>
// REPLICAS: st.name = "linear.weight"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>
// REPLICAS: st.name = "ids"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"micro", "data"}, {}]>

// With "zero": 1 the replicas split the optimizer state, inside the shards' split of the same dimension.
// RUN: st-opt --apply-parallel-config=config=%t/zero.json %t/step.mlir 2>/dev/null | FileCheck %s --check-prefix=ZERO
// ZERO: st.name = "linear.weight", {{[^%]*}}st.sharding = #st.sharding<@mesh, [{"tensor"}, {}]>
// ZERO: st.name = "linear.weight.momentum"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"tensor", "data"}, {}]>

// A shard names its device of each replica.
// NAMED: st.devices = [array<i64: 0, 1, 5, 6>]
// NAMED: st.mesh @mesh <["data"=2, "tensor"=2], micro=1>

//--- replicas.json
{"mode": "hybrid", "data": 2, "sharding_size": 2, "stage_cnt": 2, "accum_degree": 2, "schedule": "gpipe"}

//--- zero.json
{"mode": "sharding", "data": 2, "zero": 1, "sharding_size": 2}

//--- named.json
{"mode": "sharding", "data": 2,
 "device_mapping": {"stage_0": {"shard_0": ["/device:XLA_DTU:0", "/device:XLA_DTU:5"],
                                "shard_1": ["/device:XLA_DTU:1", "/device:XLA_DTU:6"]}}}

//--- step.mlir
func.func @main(
    %table: tensor<8x16xf32> {st.name = "table", st.role = "parameter"},
    %w: tensor<32x16xf32> {st.name = "linear.weight", st.role = "parameter"},
    %b: tensor<32xf32> {st.name = "linear.bias", st.role = "parameter"},
    %c: tensor<32x16xf32> {st.name = "conv.weight", st.role = "parameter"},
    %h: tensor<2x16xf32> {st.name = "head.weight", st.role = "parameter"},
    %m: tensor<32x16xf32> {st.name = "linear.weight.momentum", st.role = "optimizer_state", st.of = "linear.weight"},
    %ids: tensor<4x6xi32> {st.name = "ids", st.role = "batch"},
    %lr: tensor<f32> {st.name = "learning_rate", st.role = "scalar"}) -> tensor<4x6x2xf32> {
  %i = stablehlo.reshape %ids : (tensor<4x6xi32>) -> tensor<4x6x1xi32>
  %0 = "stablehlo.gather"(%table, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 16>}>
       : (tensor<8x16xf32>, tensor<4x6x1xi32>) -> tensor<4x6x16xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [2] x [1] : (tensor<4x6x16xf32>, tensor<32x16xf32>) -> tensor<4x6x32xf32>
  %2 = stablehlo.broadcast_in_dim %b, dims = [2] : (tensor<32xf32>) -> tensor<4x6x32xf32>
  %3 = stablehlo.add %1, %2 : tensor<4x6x32xf32>
  // A weight is followed through ops that reorder it.
  %t = stablehlo.transpose %c, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
  %4 = stablehlo.dot_general %3, %t, contracting_dims = [2] x [1] : (tensor<4x6x32xf32>, tensor<16x32xf32>) -> tensor<4x6x16xf32>
  %5 = stablehlo.dot_general %4, %h, contracting_dims = [2] x [1] : (tensor<4x6x16xf32>, tensor<2x16xf32>) -> tensor<4x6x2xf32>
  return %5 : tensor<4x6x2xf32>
}

//--- output.json
{
  "mode": "sharding",
  "sharding_size": 4,
  "sharding_dim": -1,
  "stage_cnt": 2,
  "accum_degree": 2,
  "device_mapping": {
    "stage_0": {"shard_0": "/device:XLA_DTU:0", "shard_1": "/device:XLA_DTU:1", "shard_2": "/device:XLA_DTU:2", "shard_3": "/device:XLA_DTU:3"},
    "stage_1": {"shard_0": "/device:XLA_DTU:5", "shard_1": "/device:XLA_DTU:6", "shard_2": "/device:XLA_DTU:7", "shard_3": "/device:XLA_DTU:8"}
  }
}

//--- contraction.json
{
  "mode": "hybrid",
  "sharding_size": 4,
  "sharding_dim": 0,
  "stage_cnt": 1,
  "accum_degree": 4,
  "device_mapping": {
    "stage_0": {"shard_0": "GPU:0", "shard_1": "GPU:0"},
    "stage_1": {"shard_0": "GPU:1", "shard_1": "GPU:1"},
    "stage_2": {"shard_0": "GPU:2", "shard_1": "GPU:2"}
  }
}
//--- shared.json
{"mode": "sharding", "device_mapping": {
  "stage_0": {"shard_0": "/device:XLA_DTU:0", "shard_1": "/device:XLA_DTU:0",
              "shard_2": "/device:XLA_DTU:1", "shard_3": "/device:XLA_DTU:1"},
  "stage_1": {"shard_0": "/device:XLA_DTU:5", "shard_1": "/device:XLA_DTU:6",
              "shard_2": "/device:XLA_DTU:5", "shard_3": "/device:XLA_DTU:6"}}}
