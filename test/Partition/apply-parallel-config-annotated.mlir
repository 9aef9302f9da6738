// A program with its own mesh keeps its shardings; the file adds micro-batches and devices.
// RUN: split-file %s %t
// RUN: st-opt --apply-parallel-config=config=%t/four.json %t/step.mlir | FileCheck %s
// RUN: st-opt --apply-parallel-config=config=%t/numbered.json %t/step.mlir | FileCheck %s
// RUN: st-opt --apply-parallel-config %t/step.mlir | FileCheck %s --check-prefix=NO-FILE
// RUN: not st-opt --apply-parallel-config=config=%t/two.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=COUNT
// RUN: not st-opt --apply-parallel-config=config=%t/pipeline.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=PIPELINE
// RUN: not st-opt --apply-parallel-config=config=%t/large.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=LARGE

// CHECK: st.devices = [array<i64: 0, 1, 2, 3>], st.micro_batches = 2 : i64
// CHECK: st.mesh @mesh <["data"=2, "model"=2], micro=2>
// CHECK: st.name = "w"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{}, {"model"}]>
// CHECK-SAME: st.name = "b"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{}]>
// CHECK-SAME: st.name = "w.momentum"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{}, {"model"}]>
// CHECK-SAME: st.name = "x"{{[^%]*}}st.sharding = #st.sharding<@mesh, [{"micro", "data"}, {}]>
// CHECK-SAME: -> (tensor<4x8xf32>, tensor<f32> {st.sharding = #st.sharding<@mesh, []>})
// NO-FILE: st.devices = [array<i64: 0, 1, 2, 3>], st.micro_batches = 1 : i64
// PIPELINE: pipeline.json:1:2: error: mode is "pipeline", but the program's mesh has 4 devices; pipelined layers with shards are mode "hybrid"
// LARGE: large.json:1:22: error: the program's mesh has 4 devices and stage_cnt is 1048576; expected at most 1048576 devices in all
// COUNT: two.json:1:20: error: sharding_size is 2, but the program's mesh has 4 devices

//--- step.mlir
st.mesh @mesh <["data"=2, "model"=2], micro=1>
func.func @main(
    %w: tensor<4x8xf32> {st.name = "w", st.role = "parameter", st.sharding = #st.sharding<@mesh, [{}, {"model"}]>, tf.aliasing_output = 0 : i32},
    %b: tensor<8xf32> {st.name = "b", st.role = "parameter"},
    %m: tensor<4x8xf32> {st.name = "w.momentum", st.role = "optimizer_state", st.of = "w"},
    %x: tensor<8x4xf32> {st.name = "x", st.role = "batch", st.sharding = #st.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4x8xf32> {st.sharding = #st.sharding<@mesh, [{"data"}, {}]>}, tensor<f32> {st.sharding = #st.sharding<@mesh, []>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  return %w, %zero : tensor<4x8xf32>, tensor<f32>
}

//--- four.json
{"mode": "hybrid", "sharding_size": 4, "sharding_dim": -1, "stage_cnt": 1, "accum_degree": 2,
 "device_mapping": {"stage_0": {"shard_0": "/device:XLA_DTU:0", "shard_1": "/device:XLA_DTU:1",
                                "shard_2": "/device:XLA_DTU:2", "shard_3": "/device:XLA_DTU:3"}}}

//--- numbered.json
{"mode": "hybrid", "accum_degree": 2}

//--- two.json
{"mode": "hybrid", "sharding_size": 2}

//--- pipeline.json
{"mode": "pipeline", "accum_degree": 2}

//--- large.json
{"mode": "sharding", "stage_cnt": 1048576}
