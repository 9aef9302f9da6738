// Every error of a parallel config is one line with the file, the place, the key and the value.
//
// RUN: split-file %s %t
// RUN: not st-opt --apply-parallel-config=config=%t/truncated.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=TRUNCATED
// RUN: not st-opt --apply-parallel-config=config=%t/not-an-object.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NOT-AN-OBJECT
// RUN: not st-opt --apply-parallel-config=config=%t/unknown-key.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=UNKNOWN-KEY
// RUN: not st-opt --apply-parallel-config=config=%t/no-mode.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NO-MODE
// RUN: not st-opt --apply-parallel-config=config=%t/unknown-mode.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=UNKNOWN-MODE
// RUN: not st-opt --apply-parallel-config=config=%t/sharding-dim.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=SHARDING-DIM
// RUN: not st-opt --apply-parallel-config=config=%t/accum-degree.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=ACCUM-DEGREE
// RUN: not st-opt --apply-parallel-config=config=%t/sharding-size.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=SHARDING-SIZE
// RUN: not st-opt --apply-parallel-config=config=%t/stage-cnt.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=STAGE-CNT
// RUN: not st-opt --apply-parallel-config=config=%t/no-mapping.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NO-MAPPING
// RUN: not st-opt --apply-parallel-config=config=%t/empty-mapping.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=EMPTY-MAPPING
// RUN: not st-opt --apply-parallel-config=config=%t/unknown-stage.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=UNKNOWN-STAGE
// RUN: not st-opt --apply-parallel-config=config=%t/missing-stage.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=MISSING-STAGE
// RUN: not st-opt --apply-parallel-config=config=%t/empty-stage.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=EMPTY-STAGE
// RUN: not st-opt --apply-parallel-config=config=%t/unknown-shard.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=UNKNOWN-SHARD
// RUN: not st-opt --apply-parallel-config=config=%t/missing-shard.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=MISSING-SHARD
// RUN: not st-opt --apply-parallel-config=config=%t/ragged.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=RAGGED
// RUN: not st-opt --apply-parallel-config=config=%t/device-name.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=DEVICE-NAME
// RUN: not st-opt --apply-parallel-config=config=%t/device-number.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=DEVICE-NUMBER
// RUN: not st-opt --apply-parallel-config=config=%t/no-cluster.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NO-CLUSTER
// RUN: not st-opt --apply-parallel-config=config=%t/mixed.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=MIXED
// RUN: not st-opt --apply-parallel-config=config=%t/duplicate.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=DUPLICATE
// RUN: not st-opt --apply-parallel-config=config=%t/duplicate-cluster.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=DUPLICATE-CLUSTER
// RUN: not st-opt --apply-parallel-config=config=%t/repeated.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=REPEATED
// RUN: not st-opt --apply-parallel-config=config=%t/huge-degree.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=HUGE-DEGREE
// RUN: not st-opt --apply-parallel-config=config=%t/huge-id.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=HUGE-ID
// RUN: not st-opt --apply-parallel-config=config=%t/no-id.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NO-ID
// RUN: not st-opt --apply-parallel-config=config=%t/pipeline.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=PIPELINE
// RUN: not st-opt --apply-parallel-config=config=%t/batch.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: st-opt --apply-parallel-config=config=%t/heads.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=HEADS
// RUN: not st-opt --apply-parallel-config=config=%t/none.json %t/step.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not st-opt --apply-parallel-config=schedule=zigzag %t/step.mlir 2>&1 | FileCheck %s --check-prefix=SCHEDULE
// RUN: not st-opt --apply-parallel-config="config=%t/one.json schedule=gpipe" %t/step.mlir 2>&1 | FileCheck %s --check-prefix=SEQUENTIAL
// RUN: not st-opt --apply-parallel-config --apply-parallel-config %t/step.mlir 2>&1 | FileCheck %s --check-prefix=TWICE

// TRUNCATED: truncated.json:1:{{[0-9]+}}: error: malformed JSON: 
// NOT-AN-OBJECT: not-an-object.json:1:{{[0-9]+}}: error: expected a JSON object, found [1]
// UNKNOWN-KEY: unknown-key.json:1:{{[0-9]+}}: error: unknown key "shards" (value 4); known are mode, sharding_size, sharding_dim, sequence_parallel, parameters, stage_cnt, accum_degree, data, expert, zero, bucket_bytes, schedule, {{.*}}device_mapping
// NO-MODE: no-mode.json:1:{{[0-9]+}}: error: mode is missing; expected "sharding", "pipeline" or "hybrid"
// UNKNOWN-MODE: unknown-mode.json:1:{{[0-9]+}}: error: mode is "data"; expected "sharding", "pipeline" or "hybrid"
// SHARDING-DIM: sharding-dim.json:1:{{[0-9]+}}: error: sharding_dim is 1; expected 0, -1 or "megatron"
// ACCUM-DEGREE: accum-degree.json:1:{{[0-9]+}}: error: accum_degree is 0; expected an integer from 1 to 1048576
// SHARDING-SIZE: sharding-size.json:1:{{[0-9]+}}: error: sharding_size is "4"; expected an integer from 1 to 1048576
// STAGE-CNT: stage-cnt.json:1:{{[0-9]+}}: error: stage_cnt is 1.5; expected an integer from 1 to 1048576
// NO-MAPPING: no-mapping.json:1:{{[0-9]+}}: error: device_mapping is missing; expected an object with stage_0, stage_1, ...
// EMPTY-MAPPING: empty-mapping.json:1:{{[0-9]+}}: error: device_mapping is {}; expected an object with stage_0, stage_1, ...
// UNKNOWN-STAGE: unknown-stage.json:1:{{[0-9]+}}: error: device_mapping has an unknown key "stage_a" (value {"shard_0":"GPU:0"}); expected stage_<i>
// MISSING-STAGE: missing-stage.json:1:{{[0-9]+}}: error: device_mapping.stage_1 is missing, though device_mapping has 2 stages
// EMPTY-STAGE: empty-stage.json:1:{{[0-9]+}}: error: device_mapping.stage_0 is {}; expected an object with shard_0, shard_1, ...
// UNKNOWN-SHARD: unknown-shard.json:1:{{[0-9]+}}: error: device_mapping.stage_0 has an unknown key "shard_00" (value "GPU:0"); expected shard_<j>
// MISSING-SHARD: missing-shard.json:1:{{[0-9]+}}: error: device_mapping.stage_0.shard_0 is missing, though device_mapping.stage_0 has 1 shards
// RAGGED: ragged.json:1:{{[0-9]+}}: error: device_mapping.stage_1 has 1 shards, but device_mapping.stage_0 has 2; expected the same number in every stage
// DEVICE-NAME: device-name.json:1:{{[0-9]+}}: error: device_mapping.stage_0.shard_0 is "TPU:0"; expected a device name, /device:XLA_DTU:<id> or GPU:<id>
// DEVICE-NUMBER: device-number.json:1:{{[0-9]+}}: error: device_mapping.stage_0.shard_0 is "GPU:-1"; expected a number from 0 to 16777216 after the last colon
// NO-CLUSTER: no-cluster.json:1:{{[0-9]+}}: error: device_mapping.stage_0.shard_0 is "/device:XLA_DTU:9", which names no cluster: chip 1 has ids 5 to 8
// MIXED: mixed.json:1:{{[0-9]+}}: error: device_mapping.stage_0.shard_1 is "/device:XLA_DTU:1", but the devices before it are of the other kind
// DUPLICATE: duplicate.json:1:{{[0-9]+}}: error: device_mapping.stage_1.shard_0 is "GPU:0", which device_mapping.stage_0.shard_0 already names
// DUPLICATE-CLUSTER: duplicate-cluster.json:1:{{[0-9]+}}: error: device_mapping.stage_1.shard_0 is "/device:XLA_DTU:0", which device_mapping.stage_0.shard_0 already names; expected a device in one stage
// REPEATED: repeated.json:2:{{[0-9]+}}: error: key "device_mapping.stage_0.shard_0" appears twice
// HUGE-DEGREE: huge-degree.json:1:{{[0-9]+}}: error: accum_degree is 99999999999999; expected an integer from 1 to 1048576
// HUGE-ID: huge-id.json:1:{{[0-9]+}}: error: device_mapping.stage_0.shard_0 is "/device:XLA_DTU:2147483648"; expected a number from 0 to 16777216 after the last colon
// NO-ID: no-id.json:1:{{[0-9]+}}: error: device_mapping.stage_0.shard_0 is "GPU:"; expected a number from 0 to 16777216 after the last colon
// PIPELINE: pipeline.json:1:{{[0-9]+}}: error: mode is "pipeline", but device_mapping has 2 shards a stage (sharding_size); pipelined layers with shards are mode "hybrid"
// BATCH: batch.json:1:{{[0-9]+}}: error: accum_degree is 8, more than the batch 4
// HEADS: heads.json:1:{{[0-9]+}}: remark: 4 shards do not divide num_attention_heads 2 of the model, so attention gathers heads
// NONE: none.json:1:1: error: cannot read the parallel config: No such file or directory
// SCHEDULE: error: schedule is "zigzag"; expected sequential, gpipe, 1f1b, interleaved, zb-h1, zb-h2 or zb-v
// SEQUENTIAL: one.json:1:2: error: schedule is "gpipe", but mode is "sharding", whose stages run one after the other
// TWICE: error: apply-parallel-config: found st.stages on the module, which apply-parallel-config leaves; expected a module from before that

//--- step.mlir
module attributes {st.model_config = "{\22hidden_size\22: 16, \22num_attention_heads\22: 2}"} {
  func.func @main(%x: tensor<4xf32> {st.name = "x", st.role = "batch"}) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

//--- one.json
{"mode": "sharding", "device_mapping": {"stage_0": {"shard_0": "GPU:0"}}}

//--- truncated.json
{"mode": "sharding", "device_mapping": {"stage_0": {
//--- not-an-object.json
[1]
//--- unknown-key.json
{"mode": "sharding", "shards": 4}
//--- no-mode.json
{"device_mapping": {"stage_0": {"shard_0": "GPU:0"}}}
//--- unknown-mode.json
{"mode": "data"}
//--- sharding-dim.json
{"mode": "sharding", "sharding_dim": 1}
//--- accum-degree.json
{"mode": "sharding", "accum_degree": 0}
//--- sharding-size.json
{"mode": "sharding", "sharding_size": "4", "device_mapping": {"stage_0": {"shard_0": "GPU:0"}}}
//--- stage-cnt.json
{"mode": "sharding", "stage_cnt": 1.5, "device_mapping": {"stage_0": {"shard_0": "GPU:0"}}}
//--- no-mapping.json
{"mode": "sharding"}
//--- empty-mapping.json
{"mode": "sharding", "device_mapping": {}}
//--- unknown-stage.json
{"mode": "sharding", "device_mapping": {"stage_a": {"shard_0": "GPU:0"}}}
//--- missing-stage.json
{"mode": "sharding", "device_mapping": {"stage_0": {"shard_0": "GPU:0"}, "stage_2": {"shard_0": "GPU:1"}}}
//--- empty-stage.json
{"mode": "sharding", "device_mapping": {"stage_0": {}}}
//--- unknown-shard.json
{"mode": "sharding", "device_mapping": {"stage_0": {"shard_00": "GPU:0"}}}
//--- missing-shard.json
{"mode": "sharding", "device_mapping": {"stage_0": {"shard_1": "GPU:0"}}}
//--- ragged.json
{"mode": "sharding", "device_mapping": {"stage_0": {"shard_0": "GPU:0", "shard_1": "GPU:1"}, "stage_1": {"shard_0": "GPU:2"}}}
//--- device-name.json
{"mode": "sharding", "device_mapping": {"stage_0": {"shard_0": "TPU:0"}}}
//--- device-number.json
{"mode": "sharding", "device_mapping": {"stage_0": {"shard_0": "GPU:-1"}}}
//--- no-cluster.json
{"mode": "sharding", "device_mapping": {"stage_0": {"shard_0": "/device:XLA_DTU:9"}}}
//--- mixed.json
{"mode": "sharding", "device_mapping": {"stage_0": {"shard_0": "GPU:0", "shard_1": "/device:XLA_DTU:1"}}}
//--- duplicate.json
{"mode": "sharding", "device_mapping": {"stage_0": {"shard_0": "GPU:0"}, "stage_1": {"shard_0": "GPU:0"}}}
//--- duplicate-cluster.json
{"mode": "sharding", "device_mapping": {"stage_0": {"shard_0": "/device:XLA_DTU:0"}, "stage_1": {"shard_0": "/device:XLA_DTU:0"}}}
//--- repeated.json
{"mode": "sharding",
 "device_mapping": {"stage_0": {"shard_0": "GPU:0", "sh\u0061rd_0": "GPU:1"}}}
//--- huge-degree.json
{"mode": "sharding", "accum_degree": 99999999999999, "device_mapping": {"stage_0": {"shard_0": "GPU:0"}}}
//--- huge-id.json
{"mode": "sharding", "device_mapping": {"stage_0": {"shard_0": "/device:XLA_DTU:2147483648"}}}
//--- no-id.json
{"mode": "sharding", "device_mapping": {"stage_0": {"shard_0": "GPU:"}}}
//--- pipeline.json
{"mode": "pipeline", "device_mapping": {"stage_0": {"shard_0": "GPU:0", "shard_1": "GPU:1"}}}
//--- batch.json
{"mode": "sharding", "accum_degree": 8, "device_mapping": {"stage_0": {"shard_0": "GPU:0"}}}
//--- heads.json
{"mode": "sharding", "device_mapping": {"stage_0": {"shard_0": "GPU:0", "shard_1": "GPU:1", "shard_2": "GPU:2", "shard_3": "GPU:3"}}}
